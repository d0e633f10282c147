"""Objects as their authors wrote them, wherever the cluster keeps them.

A kind of several versions is watched and written in its stored form, which the API
server gives and takes without asking anybody to convert. Everything else here speaks
the version that the user wrote: its tables, its api-version, its names.
"""

from functools import lru_cache
from typing import Protocol

import attrs

from asoreconcile.azure.catalogue.conversion import (
    authored_version,
    convert,
    stored_name,
)
from asoreconcile.azure.catalogue.kinds import Kind, KindVersion
from asoreconcile.base.objects import GroupKind, JsonObject, gvk_of, metadata, status


class StorageCodec(Protocol):
    """How objects of a kind are kept. Pure; from any thread."""

    @property
    def group_kind(self) -> GroupKind:
        """The kind, whichever version it is kept in."""

    def read(self, obj: JsonObject) -> JsonObject:
        """A kept object in the version of its author. May raise ConversionError."""

    def version(self, obj: JsonObject) -> KindVersion:
        """The version of an object that was read."""

    def status(self, obj: JsonObject) -> JsonObject:
        """The status of such an object as it is to be kept."""


@attrs.frozen
class SingleVersionCodec:
    """Kept in one version, which is the author's."""

    only: KindVersion

    @property
    def group_kind(self) -> GroupKind:
        """The kind without its version."""
        return self.only.group_kind

    def read(self, obj: JsonObject) -> JsonObject:
        """The object itself: it is kept as its author wrote it."""
        return obj

    def version(self, obj: JsonObject) -> KindVersion:  # noqa: ARG002 - a Form's
        """The one version there is."""
        return self.only

    def status(self, obj: JsonObject) -> JsonObject:
        """The object's own status, not a copy."""
        return status(obj)


@attrs.frozen
class HubVersionCodec:
    """Kept in a stored form of a kind with several versions, `kept_as` by its name."""

    kind: Kind
    kept_as: str

    @property
    def group_kind(self) -> GroupKind:
        """The kind, over all its versions."""
        return self.kind.group_kind

    def read(self, obj: JsonObject) -> JsonObject:
        """The object at its author's version. Raises what `convert` does."""
        return convert(self.kind, obj, authored_version(self.kind, obj))

    def version(self, obj: JsonObject) -> KindVersion:
        """The version in the object's `apiVersion`.

        Raises for one the kind does not have.
        """
        return self.kind.version(gvk_of(obj).version)

    def status(self, obj: JsonObject) -> JsonObject:
        """What other versions once said of it, and this one does not, is forgotten."""
        names = {
            name: value
            for name, value in metadata(obj).items()
            if name in ("name", "namespace")
        }
        # Without the spec and the annotations: only the status is converted, and what
        # they carry is not to get into it.
        bare = {**obj, "metadata": names, "spec": {}, "status": status(obj)}
        return status(convert(self.kind, bare, self.kept_as))


def codec_of(version: KindVersion, kind: Kind) -> StorageCodec:
    """How a kind is kept that the cluster serves as `version`."""
    if not version.kept_as:
        return SingleVersionCodec(version)
    return HubVersionCodec(kind, version.kept_as)


@lru_cache(maxsize=1024)
def kept_stored(kind: Kind, kept_as: str = "") -> KindVersion:
    """The kind's version for a cluster that keeps it in a stored form.

    kept_as: of another version, as an older release leaves it; "" is the kind's own.
    Always the same object for the same arguments, as `Catalogue.version` has it.
    """
    return attrs.evolve(kind.version(), kept_as=kept_as or stored_name(kind))
