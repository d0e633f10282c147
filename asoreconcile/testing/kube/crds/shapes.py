"""The JSON types of a CRD's parts. Pure.

The code after this check may rely on dicts being dicts. Nothing else is checked here.
"""

from collections.abc import Mapping
from typing import Any

from asoreconcile.base.objects import JsonObject

_TEXTS = ("title", "description", "type", "format", "pattern", "$ref")
_COUNTS = (
    *("maxLength", "minLength", "maxItems", "minItems"),
    *("maxProperties", "minProperties"),
)
_NUMBERS = ("maximum", "minimum", "multipleOf")
_RULE = ("rule", "message", "messageExpression", "reason", "fieldPath")
_SPEC: Mapping[str, type] = {
    "group": str,
    "scope": str,
    "names": dict,
    "versions": list,
    "conversion": dict,
}
_NAMES: Mapping[str, type] = {
    "plural": str,
    "singular": str,
    "kind": str,
    "listKind": str,
    "shortNames": list,
    "categories": list,
}
_VERSION: Mapping[str, type] = {
    "name": str,
    "served": bool,
    "storage": bool,
    "schema": dict,
    "subresources": dict,
    "additionalPrinterColumns": list,
    "selectableFields": list,
}


def wrong_part(crd: JsonObject) -> str:
    """Return the path of the first part with a wrong type (`spec.versions`), or ""."""
    spec = crd.get("spec")
    if not isinstance(spec, dict):
        return "spec"
    return (
        _typed(spec, _SPEC, "spec")
        or _typed(spec.get("names") or {}, _NAMES, "spec.names")
        or _texts((spec.get("names") or {}).get("shortNames"), "spec.names.shortNames")
        or _texts((spec.get("names") or {}).get("categories"), "spec.names.categories")
        or _conversion(spec.get("conversion") or {})
        or _each(spec.get("versions"), _version, "spec.versions")
    )


def _conversion(conversion: JsonObject) -> str:
    at = "spec.conversion"
    shape = {"strategy": str, "webhook": dict}
    webhook = conversion.get("webhook") or {}
    return _typed(conversion, shape, at) or _typed(
        webhook, {"clientConfig": dict, "conversionReviewVersions": list}, at
    )


def _version(version: Any, at: str) -> str:
    if wrong := _typed(version, _VERSION, at):
        return wrong
    subresources = version.get("subresources") or {}
    scale = {
        "specReplicasPath": str,
        "statusReplicasPath": str,
        "labelSelectorPath": str,
    }
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    return (
        _typed(subresources, {"status": dict, "scale": dict}, f"{at}.subresources")
        or _typed(subresources.get("scale") or {}, scale, f"{at}.subresources.scale")
        or _each(version.get("additionalPrinterColumns"), _column, f"{at}.columns")
        or _each(version.get("selectableFields"), _column, f"{at}.selectableFields")
        or (_schema(schema, f"{at}.schema") if schema is not None else "")
    )


def _column(column: Any, at: str) -> str:
    shape = dict.fromkeys(("name", "type", "format", "description", "jsonPath"), str)
    return _typed(column, {**shape, "priority": int}, at)


def _schema(schema: Any, at: str) -> str:
    if not isinstance(schema, dict):
        return at
    for names, types in ((_TEXTS, str), (_COUNTS, int), (_NUMBERS, (int, float))):
        for name in names:
            value = schema.get(name)
            if value is not None and (
                not isinstance(value, types) or isinstance(value, bool)
            ):
                return f"{at}.{name}"
    for name in ("required", "x-kubernetes-list-map-keys"):
        if wrong := _texts(schema.get(name), f"{at}.{name}"):
            return wrong
    if not isinstance(schema.get("enum") or [], list):
        return f"{at}.enum"
    if not isinstance(schema.get("properties") or {}, dict):
        return f"{at}.properties"
    sort = schema.get("x-kubernetes-list-type")
    if not isinstance(sort or "", str):
        return f"{at}.x-kubernetes-list-type"
    rules = schema.get("x-kubernetes-validations")
    return _each(rules, _rule, f"{at}.x-kubernetes-validations") or _inner(schema, at)


def _inner(schema: JsonObject, at: str) -> str:
    for name, part in (schema.get("properties") or {}).items():
        if wrong := _schema(part, f"{at}.properties[{name}]"):
            return wrong
    for name in ("items", "additionalProperties", "not"):
        part = schema.get(name)
        if name == "additionalProperties" and isinstance(part, list):
            return f"{at}.{name}"
        if isinstance(part, (bool, list)) or part is None:
            continue  # `structural` reports this with its own message
        if wrong := _schema(part, f"{at}.{name}"):
            return wrong
    for name in ("allOf", "anyOf", "oneOf"):
        if wrong := _each(schema.get(name), _schema, f"{at}.{name}"):
            return wrong
    return ""


def _rule(rule: Any, at: str) -> str:
    shape: dict[str, type] = dict.fromkeys(_RULE, str)
    return _typed(rule, {**shape, "optionalOldSelf": bool}, at)


def _typed(value: Any, shape: Mapping[str, type], at: str) -> str:
    if not isinstance(value, dict):
        return at
    for name, type_ in shape.items():
        found = value.get(name)
        if found is not None and not isinstance(found, type_):
            return f"{at}.{name}"
    return ""


def _texts(value: Any, at: str) -> str:
    if value is None:
        return ""
    is_right = isinstance(value, list) and all(isinstance(one, str) for one in value)
    return "" if is_right else at


def _each(values: Any, check: Any, at: str) -> str:
    if not isinstance(values or [], list):
        return at
    for index, value in enumerate(values or ()):
        if wrong := check(value, f"{at}[{index}]"):
            return str(wrong)
    return ""
