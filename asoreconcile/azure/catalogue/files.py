"""Read catalogue files: a folder of kinds.

    index.json             every group, kind, plural and version: a list costs one read
    <group>.json           kind-versions, mapping tables, status shapes: read for a
                           reconcile
    schemas/<group>.json   spec shapes: also read for CRDs and validation

A group's file is named after the group without `.azure.com`. All files are JSON; the
writer puts one kind-version, table or shape on a line, so that a change is a small
diff. `controllers/README.md` describes the members.
"""

from importlib.resources.abc import Traversable

import orjson

from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import JsonObject

INDEX_FORMAT = "asoreconcile.kinds-index/1"
GROUP_FORMAT = "asoreconcile.kinds/1"
SCHEMAS_FORMAT = "asoreconcile.schemas/1"


class CatalogueFileError(AsoreconcileError):
    """A catalogue file is absent, is not JSON, or has another format."""


class KindFolder:
    """One folder of catalogue files. Each call reads the file; nothing is kept.
    Thread-safe.
    """

    def __init__(self, root: Traversable) -> None:
        self._root = root

    def __repr__(self) -> str:
        return f"KindFolder({str(self._root)!r})"

    def index(self) -> JsonObject:
        """Return `{group: {kind: {plural, storage, scope, versions, categories?}}}`."""
        groups: JsonObject = self._read("index.json", INDEX_FORMAT)["groups"]
        return groups

    def group(self, group: str) -> JsonObject:
        """Return `{kinds, tables, status}` of one group. Raises CatalogueFileError."""
        return self._read(f"{file_stem(group)}.json", GROUP_FORMAT)

    def schemas(self, group: str) -> JsonObject:
        """Return `{name: shape}` for the specs of one group. Raises
        CatalogueFileError.
        """
        name = f"schemas/{file_stem(group)}.json"
        shapes: JsonObject = self._read(name, SCHEMAS_FORMAT)["spec"]
        return shapes

    def _read(self, name: str, expected: str) -> JsonObject:
        try:
            content: JsonObject = orjson.loads(self._root.joinpath(name).read_bytes())
        except (OSError, ValueError) as error:
            raise CatalogueFileError(
                f"cannot read the kinds in {self._root}/{name}: {error}"
            ) from error
        # A folder from another source may have been made by another release.
        found = content.get("format")
        if found != expected:
            raise CatalogueFileError(
                f"{self._root}/{name} has format {found!r}, not {expected!r}:"
                " make it anew with hack/kinds of this version"
            )
        return content


def file_stem(group: str) -> str:
    """Return a group's file name without `.json`: `cache` for `cache.azure.com`."""
    return group.removesuffix(".azure.com")
