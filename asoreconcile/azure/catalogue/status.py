"""Map an ARM response to a custom resource's status.

The status schema alone decides: each of its properties is looked up in the ARM object
under its own name, then inside `properties`. Members that the schema does not have,
such as read-only secrets, are dropped.
"""

from collections.abc import Iterator
from typing import Any

from asoreconcile.azure.catalogue.field_types import is_int64
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.shapes import Shape, Shapes
from asoreconcile.base.objects import JsonObject, copy_json

_ABSENT = object()
# A field of `properties` whose name an envelope field has taken is called
# `properties_<name>`; this is the one status name beyond that rule.
_RENAMED = {"ruleconditions": "conditions"}
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
}


def status_of(version: KindVersion, body: JsonObject) -> JsonObject:
    """Return the status of a resource without `conditions`, which the reconciler keeps.

    body: ARM's response to a GET or PUT; shares nothing with the result.

    A value of another JSON type than the schema's is left out, because the API server
    would refuse the whole status. A float without a fraction counts as an integer.

    Pure, raises nothing.
    """
    shapes = version.status_shapes
    shape = shapes.resolve(version.status_shape)
    assert isinstance(shape, dict)  # noqa: S101 -- a status is an object
    ours = {k: v for k, v in shape["properties"].items() if k != "conditions"}
    mapped = _object(shapes, {**shape, "properties": ours}, body)
    return {} if mapped is _ABSENT else mapped


def _value(shapes: Shapes, shape: Shape, value: Any) -> Any:
    shape = shapes.resolve(shape)
    if isinstance(shape, dict):
        return _keyworded(shapes, shape, value)
    if shape.startswith("[]"):
        return _list(shapes, shape[2:], value)
    if shape.startswith("{}"):
        return _map(shapes, shape[2:], value)
    if shape == "any":
        return copy_json(value)
    return _scalar(shape, value)


def _keyworded(shapes: Shapes, shape: JsonObject, value: Any) -> Any:
    kind = shape.get("type", "object")
    if kind == "array":
        return _list(shapes, shape["items"], value)
    if kind != "object":
        return _scalar(kind, value)
    if "additionalProperties" in shape:
        return _map(shapes, shape["additionalProperties"], value)
    return _object(shapes, shape, value)


def _scalar(kind: str, value: Any) -> Any:
    # In Python a bool is an int, and the API server would refuse `true` for a number.
    if isinstance(value, bool) and kind != "boolean":
        return _ABSENT
    if kind == "integer" and isinstance(value, int | float):
        return int(value) if is_int64(value) else _ABSENT
    return value if isinstance(value, _TYPES[kind]) else _ABSENT


def _list(shapes: Shapes, item: Shape, value: Any) -> Any:
    if not isinstance(value, list):
        return _ABSENT
    mapped = (_value(shapes, item, v) for v in value if v is not None)
    return [v for v in mapped if v is not _ABSENT]


def _map(shapes: Shapes, item: Shape, value: Any) -> Any:
    if not isinstance(value, dict):
        return _ABSENT
    mapped = {k: _value(shapes, item, v) for k, v in value.items() if v is not None}
    return {k: v for k, v in mapped.items() if v is not _ABSENT}


def _object(shapes: Shapes, shape: JsonObject, body: Any) -> Any:
    if not isinstance(body, dict):
        return _ABSENT
    if "union" in shape:
        body = _with_leaf(shape["union"], body)
    out: JsonObject = {}
    for name, child, value in _found(shape.get("properties", {}), body):
        mapped = _value(shapes, child, value)
        if mapped is not _ABSENT:
            out[name] = mapped
    return out


def _with_leaf(union: Any, body: JsonObject) -> JsonObject:
    """Return the ARM object with itself added under the leaf that its discriminator
    names.

    If the discriminator has an unknown value, no leaf is added.
    """
    discriminator, leaves = union
    said = str(body.get(discriminator) or "").casefold()
    # Members that all variants share are next to the leaf; a member named like a leaf
    # is not shared.
    common = {k: v for k, v in body.items() if k not in leaves.values()}
    for value, leaf in leaves.items():
        if value.casefold() == said:
            return {**common, leaf: body}
    return common


def _found(properties: JsonObject, body: JsonObject) -> Iterator[tuple[str, Any, Any]]:
    """Yield name, shape and ARM value of each status property that ARM gave a value."""
    inner = body.get("properties")
    # A kind whose status has a field of that name shows it whole.
    if not isinstance(inner, dict) or "properties" in properties:
        inner = {}
    for name, child in properties.items():
        value = body.get(name)
        if value is None and f"properties_{name}" not in properties:
            value = inner.get(_RENAMED.get(name, name.removeprefix("properties_")))
        if value is not None:
            yield name, child, value
