"""Facts from Azure's published types: names, api-versions and bodies of resources.

`types/<provider>.json` is made by `hack/kinds`. A provider's file is read with the
first request for one of its types. A type without facts is not checked.
"""

import re
from collections.abc import Iterator
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

import attrs

from asoreconcile.base import jsontext
from asoreconcile.base.objects import JsonObject

TypeShape = str | JsonObject
_KINDS: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


@attrs.frozen
class BrokenRule:
    """A rule that a value breaks, or a reference that has to be looked up.

    rule: `required`, `readOnly`, `enum`, `type`, `limit`, `immutable`, `reference`; of
    a reference that was looked up `idForm`, `idType` or `exists`.
    path: place in the body, such as `properties.rules[].name`.
    value: the value; None if it is missing.
    expected: the right values, limits or type; ARM types for a reference.
    """

    rule: str
    path: str
    value: Any = None
    expected: tuple[Any, ...] = ()

    @property
    def key(self) -> str:
        """Return the name under which a rule is dropped for a type."""
        return f"{self.rule} {self.path}"


class TypeFacts:
    """The facts of one type."""

    def __init__(self, entry: JsonObject, shapes: JsonObject) -> None:
        self.versions: frozenset[str] = frozenset(entry["versions"])
        self.dropped: frozenset[str] = frozenset(entry.get("dropped", ()))
        self._immutable: tuple[str, ...] = tuple(entry.get("immutable", ()))
        self._name: TypeShape = entry["name"]
        self._bodies: JsonObject = entry["bodies"]
        self._shapes = shapes

    def name_findings(self, name: str) -> list[BrokenRule]:
        """Return the rules that a name breaks."""
        return self._kept(self._in_scalar(name, self._resolved(self._name), "name"))

    def body_findings(self, body: JsonObject, api_version: str) -> list[BrokenRule]:
        """Return the rules that a body breaks, and its references."""
        shape = self._bodies.get(api_version)
        return self._kept(self._in(body, shape, "")) if shape else []

    def change_findings(
        self, body: JsonObject, *before: JsonObject
    ) -> list[BrokenRule]:
        """Return the members that cannot change once a resource was made, and that a
        body changes.

        before: bodies of the resource; a later one has what an earlier one lacks.
        """
        return self._kept(self._changed(body, before))

    def _changed(
        self, body: JsonObject, before: tuple[JsonObject, ...]
    ) -> Iterator[BrokenRule]:
        for path in self._immutable:
            value = _member(body, path)
            olds = [old for b in before if (old := _member(b, path)) is not None]
            # A member that is left out stays as it is.
            if value is not None and olds and _plain(value) != _plain(olds[0]):
                yield BrokenRule("immutable", path, value, tuple(olds[:1]))

    def _kept(self, found: Iterator[BrokenRule]) -> list[BrokenRule]:
        return [one for one in found if one.key not in self.dropped]

    def _resolved(self, shape: TypeShape) -> JsonObject:
        while isinstance(shape, str):
            if shape.startswith("@"):
                shape = self._shapes[shape[1:]]
            elif shape.startswith("[]"):
                shape = {"type": "array", "items": shape[2:]}
            elif shape.startswith("{}"):
                shape = {"type": "object", "additionalProperties": shape[2:]}
            else:
                shape = {"type": shape}
        # The writer leaves out what goes without saying.
        return shape if "type" in shape else {**shape, "type": _implied(shape)}

    def _in(self, value: Any, shape: TypeShape, path: str) -> Iterator[BrokenRule]:
        resolved = self._resolved(shape)
        if resolved.get("readOnly"):
            yield BrokenRule("readOnly", path, value)
        elif value is None or not resolved["type"]:
            return  # Azure takes null for absent.
        elif "keys" in resolved:
            for id_ in value if isinstance(value, dict) else ():
                yield BrokenRule("reference", path, id_, tuple(resolved["keys"]))
        elif not _is_a(resolved["type"], value):
            yield BrokenRule("type", path, value, (resolved["type"],))
        elif isinstance(value, dict):
            yield from self._in_object(value, resolved, path)
        elif isinstance(value, list):
            for item in value:
                yield from self._in(item, resolved.get("items", {}), f"{path}[]")
        else:
            yield from self._in_scalar(value, resolved, path)

    def _in_object(
        self, value: JsonObject, shape: JsonObject, path: str
    ) -> Iterator[BrokenRule]:
        given = {name.lower(): inner for name, inner in value.items()}
        for name in shape.get("required", ()):
            if given.get(name.lower()) is None:
                yield BrokenRule("required", f"{path}.{name}".strip("."))
        known = shape.get("properties", {})
        for name, inner in known.items():
            if name.lower() in given:
                at = f"{path}.{name}".strip(".")
                yield from self._in(given[name.lower()], inner, at)
        if "additionalProperties" in shape:
            for name in sorted(given.keys() - {name.lower() for name in known}):
                yield from self._in(given[name], shape["additionalProperties"], path)

    def _in_scalar(
        self, value: Any, shape: JsonObject, path: str
    ) -> Iterator[BrokenRule]:
        values = tuple(shape.get("enum", ()))
        if values and str(value).lower() not in {v.lower() for v in values}:
            yield BrokenRule("enum", path, value, values)
        elif (limits := tuple(_limits(shape, value))) and isinstance(value, str | int):
            yield BrokenRule("limit", path, value, limits)
        elif "format" in shape:
            is_id = value.startswith("/")
            if value and (is_id or shape["format"] == "ref"):
                yield BrokenRule("reference", path, value, tuple(shape["of"]))


def _member(body: Any, path: str) -> Any:
    """Return a member by its path in lower case with slashes, or None."""
    for part in path.split("/"):
        names = {name.lower(): name for name in body} if isinstance(body, dict) else {}
        body = body[names[part]] if part in names else None
    return body


def _plain(value: Any) -> str:
    """Return a value without the case of ids, of names and of locations."""
    return jsontext.dumps(value, sort_keys=True).decode().lower()


def _limits(shape: JsonObject, value: Any) -> Iterator[str]:
    """Yield the limits that a value exceeds, in words."""
    if isinstance(value, str):
        if len(value) < shape.get("minLength", 0):
            yield f"at least {shape['minLength']} characters"
        if len(value) > shape.get("maxLength", len(value)):
            yield f"at most {shape['maxLength']} characters"
        if "pattern" in shape and not _pattern(shape["pattern"]).search(value):
            yield f"to match {shape['pattern']}"
    else:
        if value < shape.get("minimum", value):
            yield f"at least {shape['minimum']}"
        if value > shape.get("maximum", value):
            yield f"at most {shape['maximum']}"


def _implied(shape: JsonObject) -> str:
    is_object = {"properties", "additionalProperties", "keys"} & shape.keys()
    return "object" if is_object else "array" if "items" in shape else ""


def _is_a(kind: str, value: Any) -> bool:
    if isinstance(value, bool) and kind != "boolean":
        return False
    return isinstance(value, _KINDS[kind])


@cache
def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error:  # another dialect
        return re.compile("")


@cache
def published() -> "PublishedTypes":
    """Return the types that this package ships."""
    folder = resources.files("asoreconcile.testing.arm")
    return PublishedTypes(folder.joinpath("types"))


class PublishedTypes:
    """The facts of all types, read when they are needed."""

    def __init__(self, folder: Traversable) -> None:
        self._folder = folder
        self._providers: dict[str, dict[str, TypeFacts]] = {}

    def find(self, type_: str) -> TypeFacts | None:
        """Return the facts of a type, or None. type_: in lower case."""
        space = type_.partition("/")[0]
        if space not in self._providers:
            self._providers[space] = self._read(space)
        return self._providers[space].get(type_)

    def _read(self, space: str) -> dict[str, TypeFacts]:
        file = self._folder.joinpath(f"{space}.json")
        if not file.is_file():
            return {}
        content = jsontext.loads(file.read_bytes())
        shapes = content["shapes"]
        return {t: TypeFacts(e, shapes) for t, e in content["types"].items()}
