"""The rules for a CRD's schema: it must be structural and within limits. Pure.

Validation rules that this server cannot evaluate are refused here, too, so that users
do not rely on a rule that is never applied.
"""

import re
from collections.abc import Iterator
from typing import Any

import orjson

from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.kube.fields.schema import check
from asoreconcile.testing.kube.rules import budget, checks
from asoreconcile.testing.kube.wire.status import Cause

_KINDS = ("array", "boolean", "integer", "number", "object", "string")
_LIST_KINDS = ("atomic", "set", "map")
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_INT_OR_STRING = "x-kubernetes-int-or-string"
_EMBEDDED = "x-kubernetes-embedded-resource"
_LIST_TYPE, _LIST_KEYS = "x-kubernetes-list-type", "x-kubernetes-list-map-keys"
_JUNCTORS = ("allOf", "anyOf", "oneOf")
_NOT_INSIDE = ("type", "description", "title", "default", "nullable", _PRESERVE)
_WITHOUT_TYPE: list[JsonObject] = [{"type": "integer"}, {"type": "string"}]


def causes(schema: JsonObject, at: str) -> Iterator[Cause]:
    """Yield the reasons against a schema.

    at: path of the schema in the CRD.
    """
    kind = schema.get("type")
    if kind and kind != "object":
        why = f'Invalid value: "{kind}": must be object at the root'
        yield Cause(f"{at}.type", "FieldValueInvalid", why)
        return
    if not kind:
        yield _required(f"{at}.type", "must not be empty at the root")
        return
    yield from _inside(schema, at, is_root=True)
    yield from budget.causes(schema, at)
    if schema.get("additionalProperties"):
        yield _refused(f"{at}.additionalProperties", "must not be used at the root")


def field_schema(schema: JsonObject, path: str) -> JsonObject | None:
    """Return the schema of the field that a JSONPath like `.spec.color`
    names, or None.
    """
    found = schema
    if not path.startswith("."):
        return None
    for name in path[1:].split("."):
        part = (found.get("properties") or {}).get(name)
        if not isinstance(part, dict):
            return None
        found = part
    return found


def _inside(
    schema: JsonObject, at: str, *, loose: str = "", is_root: bool = False
) -> Iterator[Cause]:
    """Yield the mistakes of a schema and of the schemas in it.

    loose: path of the enclosing list whose items cannot be matched between updates; ""
    if there is none.
    """
    yield from _forbidden(schema, at)
    yield from _list_causes(schema, at)
    yield from checks.causes(schema, at, uncorrelated=loose, is_root=is_root)
    if pattern := schema.get("pattern"):
        try:
            re.compile(pattern)
        except re.error as error:
            why = f"must be a valid regular expression, but isn't: {error}"
            yield _invalid(f"{at}.pattern", f'"{pattern}"', why)
    if "default" in schema:
        for cause in check(schema, schema["default"], ""):
            yield Cause(f"{at}.default", cause.reason, cause.message)
    for name in _JUNCTORS:
        for index, part in enumerate(schema.get(name) or ()):
            yield from _logical(schema, part, f"{at}.{name}[{index}]")
    if isinstance(schema.get("not"), dict):
        yield from _logical(schema, schema["not"], f"{at}.not")
    for name, part in (schema.get("properties") or {}).items():
        where = "specified object fields"
        yield from _typed(part, f"{at}.properties[{name}]", where, loose)
    extra, items = schema.get("additionalProperties"), schema.get("items")
    if isinstance(extra, dict):
        where = "specified object fields"
        yield from _typed(extra, f"{at}.additionalProperties", where, loose)
    if isinstance(items, dict):
        if not loose and schema.get(_LIST_TYPE) != "map":
            loose = at
        yield from _typed(items, f"{at}.items", "specified array items", loose)


def _typed(schema: Any, at: str, where: str, loose: str) -> Iterator[Cause]:
    if not isinstance(schema, dict):
        yield _invalid(at, str(schema), "must be a schema")
        return
    free = schema.get(_PRESERVE) or schema.get(_INT_OR_STRING)
    kind = schema.get("type")
    if not kind and not free and "$ref" not in schema:
        yield _required(f"{at}.type", f"must not be empty for {where}")
    elif kind and kind not in _KINDS:
        allowed = ", ".join(f'"{known}"' for known in _KINDS)
        yield Cause(
            f"{at}.type",
            "FieldValueNotSupported",
            f'Unsupported value: "{kind}": supported values: {allowed}',
        )
    elif kind == "array" and not schema.get("items"):
        yield _required(f"{at}.items", "must be specified")
    yield from _inside(schema, at, loose=loose)


def _forbidden(schema: JsonObject, at: str) -> Iterator[Cause]:
    if "$ref" in schema:
        yield _refused(f"{at}.$ref", "$ref is not supported")
    if schema.get("uniqueItems"):
        why = (
            "uniqueItems cannot be set to true since the runtime complexity becomes "
            "quadratic"
        )
        yield _refused(f"{at}.uniqueItems", why)
    if isinstance(schema.get("items"), list):
        why = "items must be a schema object and not an array"
        yield _refused(f"{at}.items", why)
    if schema.get("properties") and schema.get("additionalProperties"):
        why = "additionalProperties and properties are mutual exclusive"
        yield _refused(f"{at}.additionalProperties", why)
    if schema.get(_PRESERVE) is False:
        yield _invalid(f"{at}.{_PRESERVE}", "false", "must be true or undefined")
    if (
        schema.get(_EMBEDDED)
        and not schema.get("properties")
        and not schema.get(_PRESERVE)
    ):
        why = f"must not be empty if {_EMBEDDED} is true without {_PRESERVE}"
        yield _required(f"{at}.properties", why)


def _list_causes(schema: JsonObject, at: str) -> Iterator[Cause]:
    sort = schema.get(_LIST_TYPE)
    if sort is None:
        return
    if sort not in _LIST_KINDS:
        allowed = ", ".join(f'"{known}"' for known in _LIST_KINDS)
        yield Cause(
            f"{at}.{_LIST_TYPE}",
            "FieldValueNotSupported",
            f'Unsupported value: "{sort}": supported values: {allowed}',
        )
        return
    if sort != "map":
        return
    items = schema.get("items") if isinstance(schema.get("items"), dict) else {}
    keys = schema.get(_LIST_KEYS) or []
    if not keys:
        why = f"must not be empty if {_LIST_TYPE} is map"
        yield _required(f"{at}.{_LIST_KEYS}", why)
    kind = (items or {}).get("type")
    if kind != "object":
        why = f"must be object if parent array's {_LIST_TYPE} is map"
        yield _invalid(f"{at}.items.type", f'"{kind}"', why)
    properties = (items or {}).get("properties") or {}
    if kind == "object" and not all(key in properties for key in keys):
        why = "entries must all be names of item properties"
        yield _invalid(f"{at}.{_LIST_KEYS}", orjson.dumps(keys).decode(), why)
    for key in keys:
        part = properties.get(key)
        if (
            part
            and "default" not in part
            and key not in ((items or {}).get("required") or ())
        ):
            why = (
                f"this property is in {_LIST_KEYS}, so it must have a default or be a "
                "required property"
            )
            yield _required(f"{at}.items.properties[{key}].default", why)


def _logical(parent: JsonObject, part: Any, at: str) -> Iterator[Cause]:
    """Yield the parts of logical junctors other than value checks, which
    are forbidden.
    """
    if not isinstance(part, dict):
        yield _invalid(at, str(part), "must be a schema")
        return
    allowed = parent.get(_INT_OR_STRING) and part in _WITHOUT_TYPE
    for name in _NOT_INSIDE:
        if part.get(name) and not allowed:
            yield _refused(f"{at}.{name}", "must be empty to be structural")
    for name, inner in (part.get("properties") or {}).items():
        yield from _logical({}, inner, f"{at}.properties[{name}]")


def _required(field: str, why: str) -> Cause:
    return Cause(field, "FieldValueRequired", f"Required value: {why}")


def _refused(field: str, why: str) -> Cause:
    return Cause(field, "FieldValueForbidden", f"Forbidden: {why}")


def _invalid(field: str, value: str, why: str) -> Cause:
    return Cause(field, "FieldValueInvalid", f"Invalid value: {value}: {why}")
