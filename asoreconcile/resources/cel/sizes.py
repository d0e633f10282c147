"""The largest sizes of a schema's values, computed as in the API server. Pure.

They follow from `maxItems`, `maxProperties` and `maxLength`; without those, from the
size of a request.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from asoreconcile.base.objects import JsonObject
from asoreconcile.resources.cel.identifiers import escaped

REQUEST_BYTES = 3 * 1024 * 1024
_TIMES = {"duration": (3, 32), "date": (12, 12), "date-time": (21, 32)}
_SCALARS = {"boolean": ("bool", 4), "integer": ("int", 1), "number": ("double", 1)}


@attrs.frozen
class Sized:
    """The values of one place.

    It has their kind, their largest number of elements or bytes, their smallest number
    of bytes in JSON, and the values inside: items, entries, or fields.
    """

    kind: str
    most: int = 0
    least_bytes: int = 1
    inner: "Sized | None" = None
    fields: Mapping[str, "Sized"] = attrs.field(factory=dict)


TEXT = Sized("string", REQUEST_BYTES - 2, 2)


def sized(schema: JsonObject, *, is_root: bool = False) -> Sized | None:
    """Return the values of a schema, or None if rules cannot see them."""
    if schema.get("x-kubernetes-int-or-string"):
        return Sized("dyn", _bytes_of(schema), 1)
    match schema.get("type"):
        case "array":
            return _array(schema)
        case "object":
            return _object(schema, is_root=is_root)
        case "string":
            return _string(schema)
        case kind if kind in _SCALARS:
            name, least = _SCALARS[kind]
            return Sized(name, 0, least)
    return None


def times_in_one(value: Sized | None) -> int:
    """Return how often such a value fits into a request."""
    return REQUEST_BYTES // ((value.least_bytes if value else 0) + 1)


def _array(schema: JsonObject) -> Sized | None:
    items = schema.get("items")
    inner = sized(items) if isinstance(items, dict) else None
    if inner is None:
        return None
    most = schema.get("maxItems")
    if most is None:
        most = (REQUEST_BYTES - 2) // (inner.least_bytes + 1)
    return Sized("list", max(most, 0), 2, inner)


def _object(schema: JsonObject, *, is_root: bool) -> Sized | None:
    extra = schema.get("additionalProperties")
    if isinstance(extra, dict):
        inner = sized(extra)
        if inner is None:
            return None
        most = schema.get("maxProperties")
        if most is None:
            most = (REQUEST_BYTES - 2) // (inner.least_bytes + 6)
        return Sized("map", max(most, 0), 2, inner)
    required, least = schema.get("required") or (), 2
    fields: dict[str, Sized] = {}
    for name, part in _properties(schema, is_root=is_root):
        found = sized(part)
        if found is None:
            continue
        fields[escaped(name)] = found
        if name in required and part.get("default") is None:
            least += len(name) + found.least_bytes + 4
    return Sized("object", 0, least, None, fields)


def _properties(
    schema: JsonObject, *, is_root: bool
) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, part in (schema.get("properties") or {}).items():
        if isinstance(part, dict):
            yield name, part
    if is_root:
        text = {"type": "string"}
        yield "kind", text
        yield "apiVersion", text
        names = {"name": text, "generateName": text}
        yield "metadata", {"type": "object", "properties": names}


def _string(schema: JsonObject) -> Sized:
    form = schema.get("format")
    if form in _TIMES:
        least, most = _TIMES[form]
        return Sized("time", most, least)
    if form == "byte":
        longest = schema.get("maxLength")
        most = REQUEST_BYTES - 2 if longest is None else max(longest, 0)
        return Sized("bytes", most, 2)
    return Sized("string", _bytes_of(schema), 2)


def _bytes_of(schema: JsonObject) -> int:
    if schema.get("maxLength") is not None:
        return int(max(schema["maxLength"], 0) * 4)
    choices = [v for v in schema.get("enum") or () if isinstance(v, str)]
    if choices and not schema.get("x-kubernetes-int-or-string"):
        return max(len(choice.encode()) for choice in choices)
    return REQUEST_BYTES - 2
