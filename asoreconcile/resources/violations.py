"""Validates a JSON value against a structural schema. Pure.

Does not check formats and CEL rules, which only the server evaluates.
"""

from collections.abc import Iterator
from typing import Any

from asoreconcile.base.objects import JsonObject
from asoreconcile.resources.crds import patterns

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "array": (list,),
    "object": (dict,),
}
_SHOWN = {"array": "a list", "object": "an object", "integer": "a whole number"}


def violations(value: Any, schema: JsonObject) -> list[str]:
    """Return the violations, each as a clause that follows the value's name:
    `.ports[0]: must be a string`.
    """
    return [f"{path}: {text}".lstrip(": ") for path, text in _found(value, schema, "")]


def _found(value: Any, schema: JsonObject, path: str) -> Iterator[tuple[str, str]]:
    if value is None:
        if not schema.get("nullable") and "type" in schema:
            yield path, "must not be null"
        return
    if not _is_of_type(value, schema):
        kind = str(schema.get("type", "whole number or string"))
        yield path, f"must be {_SHOWN.get(kind, f'a {kind}')}, not {value!r:.60}"
        return
    for part in schema.get("allOf", ()):
        yield from _found(value, part, path)
    # As in Kubernetes, an empty list allows everything.
    if (allowed := schema.get("enum")) and value not in allowed:
        yield path, f"must be one of {', '.join(map(str, allowed))}, not {value!r:.60}"
    if isinstance(value, str):
        yield from ((path, text) for text in _text(value, schema))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from ((path, text) for text in _number(value, schema))
    elif isinstance(value, list):
        yield from ((path, t) for t in _count(len(value), schema, "Items", "items"))
        yield from ((path, text) for text in _unique(value, schema))
        for index, one in enumerate(value):
            yield from _found(one, schema.get("items", {}), f"{path}[{index}]")
    elif isinstance(value, dict):
        yield from _object(value, schema, path)


def _object(
    value: JsonObject, schema: JsonObject, path: str
) -> Iterator[tuple[str, str]]:
    for text in _count(len(value), schema, "Properties", "entries"):
        yield path, text
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{path}.{name}", "is missing"
    known, others = schema.get("properties", {}), schema.get("additionalProperties")
    for name, one in value.items():
        inner = known.get(name, others)
        if isinstance(inner, dict):
            yield from _found(one, inner, f"{path}.{name}")


def _is_of_type(value: Any, schema: JsonObject) -> bool:
    if schema.get("x-kubernetes-int-or-string"):
        return type(value) in (int, str)
    kind = schema.get("type")
    if kind is None:
        return True
    if isinstance(value, bool):
        return bool(kind == "boolean")
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[kind])


def _text(value: str, schema: JsonObject) -> Iterator[str]:
    pattern = schema.get("pattern")
    if pattern and not patterns.matches(pattern, value):
        yield f"must match {pattern}, not {value!r:.60}"
    yield from _count(len(value), schema, "Length", "characters")


def _number(value: float, schema: JsonObject) -> Iterator[str]:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None:
        if schema.get("exclusiveMinimum") and value <= low:
            yield f"must be more than {low}, not {value}"
        elif value < low:
            yield f"must be {low} at least, not {value}"
    if high is not None:
        if schema.get("exclusiveMaximum") and value >= high:
            yield f"must be less than {high}, not {value}"
        elif value > high:
            yield f"must be {high} at most, not {value}"
    step = schema.get("multipleOf")
    if step and value % step:
        yield f"must be a multiple of {step}, not {value}"


def _count(count: int, schema: JsonObject, noun: str, what: str) -> Iterator[str]:
    low, high = schema.get(f"min{noun}"), schema.get(f"max{noun}")
    if low is not None and count < low:
        yield f"has {count} {what}, and {low} at least"
    if high is not None and count > high:
        yield f"has {count} {what}, and {high} at most"


def _unique(value: list[Any], schema: JsonObject) -> Iterator[str]:
    match schema.get("x-kubernetes-list-type"):
        case "set":
            seen = [one for n, one in enumerate(value) if one in value[:n]]
            if seen:
                yield f"has {seen[0]!r:.60} twice"
        case "map":
            keys = schema.get("x-kubernetes-list-map-keys", [])
            found = [tuple(o.get(k) for k in keys) for o in value if type(o) is dict]
            twice = [one for n, one in enumerate(found) if one in found[:n]]
            if twice:
                yield f"has {', '.join(map(str, twice[0]))} twice"
