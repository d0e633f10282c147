"""The use of CRD schemas: defaults are set, unknown fields pruned, values checked.

Schemas are structural, as the API server requires. A schema with parts that this server
cannot evaluate is refused when the CRD is created (`crds`).
"""

from collections.abc import Iterator
from typing import Any

import orjson

from asoreconcile.base.objects import JsonObject, copy_json
from asoreconcile.resources.crds import patterns
from asoreconcile.resources.crds.cause import Cause
from asoreconcile.testing.kube.fields.fieldsets import item_step
from asoreconcile.testing.kube.fields.formats import mistaken

_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED = "x-kubernetes-embedded-resource"
_INT_OR_STRING = "x-kubernetes-int-or-string"
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
_BOUNDS = {
    "maximum": "Maximum boundary",
    "minimum": "Minimum boundary",
    "multipleOf": "MultipleOf",
}
_TOP = ("apiVersion", "kind", "metadata")


def admit(schema: JsonObject, obj: JsonObject) -> tuple[JsonObject, list[str]]:
    """Return a copy of an object, defaulted and pruned, and the unknown paths."""
    unknown: list[str] = []
    result = copy_json(obj)
    properties = own_properties(schema)
    for name in [name for name in result if name not in _TOP]:
        if name in properties:
            result[name] = _prune(properties[name], result[name], name, unknown)
        elif not schema.get(_PRESERVE):
            unknown.append(name)
            del result[name]
    outer: JsonObject = {"properties": properties}
    return _defaulted(outer, _without_nulls(outer, result)), unknown


def own_properties(schema: JsonObject) -> JsonObject:
    """Return the properties of a kind's schema other than those of all objects."""
    properties: JsonObject = schema.get("properties") or {}
    return {name: inner for name, inner in properties.items() if name not in _TOP}


def pruned(schema: JsonObject, value: Any) -> Any:
    """Return a value without the fields that its schema does not have."""
    return _prune(schema, value, "", [])


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
        if schema.get(_EMBEDDED) and name in _TOP:
            kept[name] = inner
        elif name in properties:
            kept[name] = _prune(properties[name], inner, here, unknown)
        elif isinstance(extra, dict):
            kept[name] = _prune(extra, inner, here, unknown)
        elif extra is True or schema.get(_PRESERVE):
            kept[name] = inner
        else:
            unknown.append(here)
    return kept


def _without_nulls(schema: JsonObject, value: Any) -> Any:
    """Return a value without nulls that are not allowed: they count as missing.

    Nulls in lists stay, and so do those of which the schema says nothing.
    """
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        return [_without_nulls(schema["items"], item) for item in value]
    if not isinstance(value, dict):
        return value
    properties: JsonObject = schema.get("properties") or {}
    extra = schema.get("additionalProperties")
    kept: JsonObject = {}
    for name, inner in value.items():
        part = properties.get(name, extra)
        if not isinstance(part, dict):
            kept[name] = inner
        elif inner is not None or part.get("nullable"):
            kept[name] = _without_nulls(part, inner)
    return kept


def _defaulted(schema: JsonObject, value: Any) -> Any:
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        return [_defaulted(schema["items"], item) for item in value]
    if not isinstance(value, dict):
        return value
    properties: JsonObject = schema.get("properties") or {}
    for name, inner in properties.items():
        if name not in value and inner.get("default") is not None:
            value[name] = copy_json(inner["default"])
    extra = schema.get("additionalProperties")
    for name in value:
        part = properties.get(name, extra)
        if isinstance(part, dict):
            value[name] = _defaulted(part, value[name])
    return value


def causes(schema: JsonObject, obj: JsonObject) -> list[Cause]:
    """Return all mistakes in an object."""
    found = [
        Cause(name, "FieldValueRequired", "Required value")
        for name in schema.get("required") or ()
        if name not in obj
    ]
    for name, inner in own_properties(schema).items():
        if name in obj:
            found.extend(check(inner, obj[name], name))
    return found


def check(schema: JsonObject, value: Any, at: str) -> Iterator[Cause]:
    """Yield the mistakes in one value and in the values inside."""
    if value is None:
        if not schema.get("nullable") and schema.get("type"):
            yield _type_error(at, value, schema["type"])
        return
    expected = schema.get("type")
    is_either = isinstance(value, (int, str)) and not isinstance(value, bool)
    if schema.get(_INT_OR_STRING) and not expected and not is_either:
        yield _type_error(at, value, "integer,string")
        return
    if expected and not is_a(value, expected):
        yield _type_error(at, value, expected)
        if expected == "integer" and isinstance(value, float):
            why = f"Checked value must be of type integer (default format) in {at}"
            yield Cause("<nil>", "FieldValueInvalid", f'Invalid value: "": {why}')
        return
    yield from _check_value(schema, value, at)
    yield from _check_choices(schema, value, at)
    if isinstance(value, dict):
        yield from _check_object(schema, value, at)
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        for index, item in enumerate(value):
            yield from check(schema["items"], item, f"{at}[{index}]")
        yield from _check_unique(schema, value, at)


def _check_object(schema: JsonObject, value: JsonObject, at: str) -> Iterator[Cause]:
    properties: JsonObject = schema.get("properties") or {}
    extra = schema.get("additionalProperties")
    for name in schema.get("required") or ():
        if name not in value:
            yield Cause(f"{at}.{name}", "FieldValueRequired", "Required value")
    for name, inner in value.items():
        if name in properties:
            yield from check(properties[name], inner, f"{at}.{name}")
        elif isinstance(extra, dict):
            yield from check(extra, inner, f"{at}.{name}")


def _check_value(schema: JsonObject, value: Any, at: str) -> Iterator[Cause]:
    if (allowed_values := schema.get("enum")) and value not in allowed_values:
        allowed = ", ".join(map(shown, allowed_values))
        yield Cause(
            at,
            "FieldValueNotSupported",
            f"Unsupported value: {shown(value)}: supported values: {allowed}",
        )
    if "format" in schema and (wanted := mistaken(schema["format"], value)):
        yield _format_error(at, value, wanted)
    pattern = schema.get("pattern")
    if pattern and isinstance(value, str) and not patterns.matches(pattern, value):
        yield _invalid(at, value, f"should match '{pattern}'")
    if is_a(value, "number"):
        yield from _check_number(schema, value, at)
    if isinstance(value, (str, list, dict)):
        yield from _check_size(schema, value, at)


def _check_number(schema: JsonObject, value: float, at: str) -> Iterator[Cause]:
    low, high = schema.get("minimum"), schema.get("maximum")
    if schema.get("type") == "integer":
        for name, what in _BOUNDS.items():
            if name in schema and not is_a(schema[name], "integer"):
                # No value is right then.
                why = f"{what} value must be of type integer (default format) in {at}"
                yield Cause("<nil>", "FieldValueInvalid", f'Invalid value: "": {why}')
    if low is not None:
        if schema.get("exclusiveMinimum"):
            if value <= low:
                yield _invalid(at, value, f"should be greater than {low}")
        elif value < low:
            yield _invalid(at, value, f"should be greater than or equal to {low}")
    if high is not None:
        if schema.get("exclusiveMaximum"):
            if value >= high:
                yield _invalid(at, value, f"should be less than {high}")
        elif value > high:
            yield _invalid(at, value, f"should be less than or equal to {high}")
    step = schema.get("multipleOf")
    if step is not None and step <= 0:
        yield _invalid(
            at, value, f"factor MultipleOf declared for {at} must be positive: {step}"
        )
    elif step and (value / step) % 1:
        yield _invalid(at, value, f"should be a multiple of {step}")


def _check_size(
    schema: JsonObject, value: str | list[Any] | JsonObject, at: str
) -> Iterator[Cause]:
    size = len(value)
    if isinstance(value, str):
        low, high = schema.get("minLength"), schema.get("maxLength")
        if low is not None and size < low:
            yield _invalid(at, value, f"should be at least {low} chars long")
        if high is not None and size > high:
            why = f"Too long: may not be more than {high} bytes"
            yield Cause(at, "FieldValueTooLong", why)
        return
    unit = "Items" if isinstance(value, list) else "Properties"
    low, high = schema.get(f"min{unit}"), schema.get(f"max{unit}")
    if low is not None and size < low:
        yield _invalid(at, size, f"should have at least {low} {unit.lower()}")
    if high is not None and size > high:
        why = f"Too many: {size}: must have at most {high} items"
        yield Cause(at, "FieldValueTooMany", why)


def _check_choices(schema: JsonObject, value: Any, at: str) -> Iterator[Cause]:
    for part in schema.get("allOf") or ():
        yield from check(part, value, at)
    fitting = {
        name: sum(not any(check(part, value, at)) for part in schema[name])
        for name in ("anyOf", "oneOf")
        if schema.get(name)
    }
    if fitting.get("anyOf") == 0:
        yield _invalid(at, value, "must validate at least one schema (anyOf)")
    if fitting.get("oneOf", 1) != 1:
        yield _invalid(at, value, "must validate one and only one schema (oneOf)")
    if schema.get("not") and not any(check(schema["not"], value, at)):
        yield _invalid(at, value, "must not validate the schema (not)")


def _check_unique(schema: JsonObject, value: list[Any], at: str) -> Iterator[Cause]:
    """Yield the repeated items of sets and of lists with keys."""
    sort = schema.get("x-kubernetes-list-type")
    if sort not in ("set", "map"):
        return
    seen = set()
    for index, item in enumerate(value):
        name = item_step(item, schema)
        if name in seen:
            text = name.removeprefix("k:") if sort == "map" else shown(item)
            yield Cause(
                f"{at}[{index}]", "FieldValueDuplicate", f"Duplicate value: {text}"
            )
        seen.add(name)


def is_a(value: Any, expected: str) -> bool:
    """Return whether a value has a JSON type."""
    if isinstance(value, bool):
        return expected == "boolean"
    if expected == "integer" and isinstance(value, float):
        return value.is_integer() and abs(value) < 2**53
    return isinstance(value, _TYPES.get(expected, (object,)))


def kind_of(value: Any) -> str:
    """Return the name of a value's JSON type, for messages."""
    kinds = {
        dict: "object",
        list: "array",
        str: "string",
        bool: "boolean",
        int: "integer",
        float: "number",
    }
    return kinds.get(type(value), "null")


def _type_error(at: str, value: Any, expected: str) -> Cause:
    kind = kind_of(value)
    return Cause(
        at,
        "FieldValueTypeInvalid",
        f'Invalid value: "{kind}": {at} in body must be of type {expected}: "{kind}"',
    )


def _format_error(at: str, value: Any, wanted: str) -> Cause:
    if isinstance(value, str):
        text = orjson.dumps(value).decode()
        why = f"Invalid value: {text}: {at} in body must be of type {wanted}: {text}"
        return Cause(at, "FieldValueTypeInvalid", why)
    why = f'Invalid value: "": Checked value must be of type {wanted} in {at}'
    return Cause("<nil>", "FieldValueInvalid", why)


def _invalid(at: str, value: Any, why: str) -> Cause:
    text = f"Invalid value: {shown(value)}: {at} in body {why}"
    return Cause(at, "FieldValueInvalid", text)


def shown(value: Any) -> str:
    """Return a value as messages quote it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return str(value)
    return f'"{value}"' if isinstance(value, str) else orjson.dumps(value).decode()
