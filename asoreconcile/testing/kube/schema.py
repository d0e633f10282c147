"""CRD schemas at work: defaults filled in, unknown fields pruned, values checked.

Structural schemas as the API server takes them; what this server does not evaluate is
refused when the CRD is made (`crds`), never ignored.
"""

import re
from collections.abc import Iterator
from typing import Any

from asoreconcile.objects import JsonObject, copy_json
from asoreconcile.testing.kube.status import Cause

_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_INT_OR_STRING = "x-kubernetes-int-or-string"
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
_TOP = ("apiVersion", "kind", "metadata")


def admit(schema: JsonObject, obj: JsonObject) -> tuple[JsonObject, list[str]]:
    """A copy of an object, defaulted and pruned, and the paths that were unknown."""
    unknown: list[str] = []
    result = copy_json(obj)
    properties = {
        name: inner
        for name, inner in (schema.get("properties") or {}).items()
        if name not in _TOP
    }
    for name in [name for name in result if name not in _TOP]:
        if name in properties:
            result[name] = _prune(properties[name], result[name], name, unknown)
        elif not schema.get(_PRESERVE):
            unknown.append(name)
            del result[name]
    for name, inner in properties.items():
        if name in result:
            result[name] = _defaulted(inner, result[name])
        elif "default" in inner:
            result[name] = copy_json(inner["default"])
    return result, unknown


def _prune(schema: JsonObject, value: Any, at: str, unknown: list[str]) -> Any:
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        inner = schema["items"]
        return [_prune(inner, v, f"{at}[{i}]", unknown) for i, v in enumerate(value)]
    if not isinstance(value, dict):
        return value
    properties: JsonObject = schema.get("properties") or {}
    extra = schema.get("additionalProperties")
    kept: JsonObject = {}
    for name, inner in value.items():
        here = f"{at}.{name}"
        if name in properties:
            kept[name] = _prune(properties[name], inner, here, unknown)
        elif isinstance(extra, dict):
            kept[name] = _prune(extra, inner, here, unknown)
        elif extra is True or schema.get(_PRESERVE):
            kept[name] = inner
        else:
            unknown.append(here)
    return kept


def _defaulted(schema: JsonObject, value: Any) -> Any:
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        return [_defaulted(schema["items"], item) for item in value]
    if not isinstance(value, dict):
        return value
    for name, inner in (schema.get("properties") or {}).items():
        if name in value:
            value[name] = _defaulted(inner, value[name])
        elif "default" in inner:
            value[name] = copy_json(inner["default"])
    return value


def causes(schema: JsonObject, obj: JsonObject) -> list[Cause]:
    """What is wrong with an object, field by field."""
    found: list[Cause] = []
    for name, inner in (schema.get("properties") or {}).items():
        if name not in _TOP and name in obj:
            found.extend(_check(inner, obj[name], name))
    found.extend(
        Cause(name, "FieldValueRequired", "Required value")
        for name in schema.get("required") or ()
        if name not in obj
    )
    return found


def _check(schema: JsonObject, value: Any, at: str) -> Iterator[Cause]:
    if value is None:
        if not schema.get("nullable"):
            yield _type_error(at, "null", schema.get("type", "value"))
        return
    if schema.get(_INT_OR_STRING):
        if not isinstance(value, (int, str)) or isinstance(value, bool):
            yield _type_error(at, value, "integer or string")
        return
    expected = schema.get("type")
    if expected and not _is_a(value, expected):
        yield _type_error(at, value, expected)
        return
    yield from _check_value(schema, value, at)
    if isinstance(value, dict):
        yield from _check_object(schema, value, at)
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        for index, item in enumerate(value):
            yield from _check(schema["items"], item, f"{at}[{index}]")


def _check_object(schema: JsonObject, value: JsonObject, at: str) -> Iterator[Cause]:
    properties: JsonObject = schema.get("properties") or {}
    extra = schema.get("additionalProperties")
    for name in schema.get("required") or ():
        if name not in value:
            yield Cause(f"{at}.{name}", "FieldValueRequired", "Required value")
    for name, inner in value.items():
        if name in properties:
            yield from _check(properties[name], inner, f"{at}.{name}")
        elif isinstance(extra, dict):
            yield from _check(extra, inner, f"{at}.{name}")


def _check_value(schema: JsonObject, value: Any, at: str) -> Iterator[Cause]:
    if "enum" in schema and value not in schema["enum"]:
        allowed = ", ".join(f'"{item}"' for item in schema["enum"])
        yield Cause(
            at,
            "FieldValueNotSupported",
            f'Unsupported value: "{value}": supported values: {allowed}',
        )
    pattern = schema.get("pattern")
    if pattern and isinstance(value, str) and not re.search(pattern, value):
        yield _invalid(at, value, f"should match '{pattern}'")
    if _is_a(value, "number"):
        low, high = schema.get("minimum"), schema.get("maximum")
        if low is not None and value < low:
            yield _invalid(at, value, f"should be greater than or equal to {low}")
        if high is not None and value > high:
            yield _invalid(at, value, f"should be less than or equal to {high}")
    if isinstance(value, (str, list)):
        yield from _check_length(schema, value, at)


def _check_length(
    schema: JsonObject, value: str | list[Any], at: str
) -> Iterator[Cause]:
    unit = "Length" if isinstance(value, str) else "Items"
    things = "chars" if isinstance(value, str) else "items"
    low, high = schema.get(f"min{unit}"), schema.get(f"max{unit}")
    if low is not None and len(value) < low:
        yield _invalid(at, value, f"should have at least {low} {things}")
    if high is not None and len(value) > high:
        yield _invalid(at, value, f"may not have more than {high} {things}")


def _is_a(value: Any, expected: str) -> bool:
    if isinstance(value, bool):
        return expected == "boolean"
    if expected == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES.get(expected, (object,)))


def _type_error(at: str, value: Any, expected: str) -> Cause:
    shown = {dict: "object", list: "array", str: "string", bool: "boolean"}.get(
        type(value), "number"
    )
    return Cause(
        at,
        "FieldValueTypeInvalid",
        f'Invalid value: "{shown}": {at} in body must be of type {expected}: "{shown}"',
    )


def _invalid(at: str, value: Any, why: str) -> Cause:
    return Cause(
        at, "FieldValueInvalid", f'Invalid value: "{value}": {at} in body {why}'
    )
