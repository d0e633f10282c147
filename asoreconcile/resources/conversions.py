"""Conversion between the versions of a kind, with functions from class to class.

websites = Conversions(Website, WebsiteV2)

@websites.add
def newer(old: Website) -> WebsiteV2: ...

@websites.add
def older(new: WebsiteV2) -> Website: ...

server.convert("/convert", websites.convert)
"""

import threading
from collections.abc import Callable
from typing import Any, TypeVar, get_type_hints

from asoreconcile.base.objects import AnyObject, JsonObject, copy_json, document_of
from asoreconcile.base.signatures import check_takes
from asoreconcile.kube.patch import merge_patch
from asoreconcile.resources.class_fields import ResourceError
from asoreconcile.resources.typed_kind import TypedKind, kind_of
from asoreconcile.webhooks.conversion import ConversionError, Convert

F = TypeVar("F", bound=Callable[..., Any])

# The server refuses a conversion that changes anything else of the metadata.
_CONVERTED_METADATA = ("labels", "annotations")


class Conversions:
    """The versions of one kind and the functions between them. Safe from any thread.

    Without a direct function between two versions, several are chained: for each other
    version, one function to the stored version and one back are enough.
    """

    def __init__(self, *classes: type) -> None:
        """classes: one per version, all of one kind: state it in `@resource(...,
        kind="Website")` where the class has another name. Raises ResourceError for
        classes of different kinds, and for fewer than two.
        """
        self.classes = classes
        if len(classes) < 2:
            raise ResourceError("conversions are between two or more classes")
        kinds: list[TypedKind[Any]] = [kind_of(cls) for cls in classes]
        self._kinds = {kind.resource.api_version: kind for kind in kinds}
        if len({kind.resource.group_kind for kind in kinds}) != 1:
            shown = ", ".join(
                f"{kind.cls.__name__} is {kind.resource.group_kind}" for kind in kinds
            )
            stated = f'@resource(..., kind="{kinds[0].resource.kind}")'
            raise ResourceError(
                f"these are not versions of one kind: {shown}. Without kind= a class's "
                f"name is its kind: write {stated} above {kinds[-1].cls.__name__}"
            )
        if len(self._kinds) != len(kinds):
            raise ResourceError(f"{kinds[0].resource.kind}: a version is there twice")
        self.kind = kinds[0].resource.kind
        """The name of the kind."""
        self._steps: dict[str, dict[str, Callable[[Any], Any]]] = {}
        self._lock = threading.Lock()

    def add(self, function: F) -> F:
        """Register a function from one version to another, according to its
        annotations.

        Raises ResourceError if it lacks the annotations or is a duplicate, TypeError if
        it does not take one object.
        """
        check_takes(function, "object", what="conversion")
        name = getattr(function, "__qualname__", repr(function)[:80])
        hints = get_type_hints(function)
        target = self._version_of(hints.pop("return", None))
        source = self._version_of(next(iter(hints.values()), None))
        if source is None or target is None or source == target:
            shown = ", ".join(cls.__name__ for cls in self.classes)
            raise ResourceError(
                f"{name}: annotate its parameter and its answer with two of {shown}"
            )
        with self._lock:
            steps = self._steps.setdefault(source, {})
            if target in steps:
                raise ResourceError(f"{name}: {source} to {target} is there already")
            steps[target] = function
        return function

    def missing(self) -> list[str]:
        """Return the pairs of versions without a conversion path."""
        versions = list(self._kinds)
        return [
            f"{source} to {target}"
            for source in versions
            for target in versions
            if source != target and self._path(source, target) is None
        ]

    def convert(self, obj: JsonObject, api_version: str) -> JsonObject:
        """Convert an object to another version; a `webhooks.Convert`.

        The metadata stays. Fields that the functions do not copy are lost: `lost` finds
        them.
        Raises ConversionError without a conversion path, ObjectDecodeError for an
        object that does not fit its class.
        """
        source = str(obj.get("apiVersion"))
        path = self._path(source, api_version)
        if path is None:
            raise ConversionError(f"nothing converts {source} to {api_version}")
        before = obj.get("metadata") or {}
        typed = self._kinds[source].decode(copy_json(obj))
        here = source
        for step in path:
            typed = self._steps[here][step](typed)
            here = step
        expected = self._kinds[api_version]
        if not isinstance(typed, expected.cls):
            raise ConversionError(f"{typed!r:.60} is no {expected.cls.__name__}")
        made = expected.encode(typed)
        converted = made.get("metadata") or {}
        metadata = {k: v for k, v in before.items() if k not in _CONVERTED_METADATA}
        for name in _CONVERTED_METADATA:
            if converted.get(name):
                metadata[name] = converted[name]
        return {**made, "metadata": metadata}

    def lost(self, obj: AnyObject, through: str | type) -> JsonObject:
        """Return the loss of an object in a round trip through another version, as a
        merge patch that restores it; {} if nothing. For tests of the functions.

        obj: a dict or an instance of one of the classes. through: the other
        `group/version`, or its class. Raises as `convert`.
        """
        document = document_of(obj)
        if isinstance(through, type):
            through = kind_of(through).resource.api_version
        source = str(document.get("apiVersion"))
        back = self.convert(self.convert(document, through), source)
        return merge_patch(back, document) or {}

    def _version_of(self, hint: Any) -> str | None:
        if hint not in self.classes:
            return None
        kind: TypedKind[Any] = kind_of(hint)
        return kind.resource.api_version

    def _path(self, source: str, target: str) -> list[str] | None:
        """Return the versions on the shortest path, without the first; None if there is
        no path.
        """
        ways: dict[str, list[str]] = {source: []}
        todo = [source]
        for here in todo:  # grows while iterating: the nearest first
            for step in self._steps.get(here, ()):
                if step not in ways:
                    ways[step] = [*ways[here], step]
                    todo.append(step)
        return ways.get(target) if target in self._kinds else None


def convert_kinds(*kinds: Conversions) -> Convert:
    """Combine the conversions of several kinds into one function, for one webhook path.

    Raises ResourceError if a version of one of them cannot be reached.
    """
    by_kind: dict[str, Conversions] = {}
    for one in kinds:
        if missing := one.missing():
            raise ResourceError(f"{one.kind}: nothing converts {'; '.join(missing)}")
        by_kind[one.kind] = one

    def convert(obj: JsonObject, api_version: str) -> JsonObject:
        found = by_kind.get(str(obj.get("kind")))
        if found is None:
            raise ConversionError(f"nothing converts {obj.get('kind')}")
        return found.convert(obj, api_version)

    return convert
