"""Check whether one CRD accepts and keeps everything that another one does. Pure.

Only then may it replace the other: a field that its schema lacks would be pruned from
existing objects, and a version that it does not serve could not be read.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from asoreconcile.azure.catalogue.crd import without_root
from asoreconcile.base.objects import JsonObject

_PRESERVES = "x-kubernetes-preserve-unknown-fields"
_EXACT = ("pattern", "format", "multipleOf")
_FLOORS = ("minimum", "minLength", "minItems", "minProperties")
_CEILINGS = ("maximum", "maxLength", "maxItems", "maxProperties")


def versions(definition: JsonObject) -> Mapping[str, JsonObject]:
    """Return the served versions of a CRD by name."""
    listed = definition["spec"]["versions"]
    return {version["name"]: version for version in listed if version.get("served")}


def stored_version(definition: JsonObject) -> str:
    """Return the name of the version that objects are stored in."""
    listed = definition["spec"]["versions"]
    return next(str(one["name"]) for one in listed if one.get("storage"))


def missing(definition: JsonObject, other: JsonObject) -> str:
    """Return a description of the first part that the other CRD has and this one lacks;
    "" if this one lacks no part.

    Descriptions and rules (CEL) are not compared: they do not remove fields.
    """
    own = versions(definition)
    for name, version in versions(other).items():
        if name not in own:
            return f"version {name}"
        lack = next(_missing(_schema(own[name]), _schema(version), name), "")
        if lack:
            return lack
    return ""


def _schema(version: JsonObject) -> JsonObject:
    schema: JsonObject = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    return without_root(schema) if "properties" in schema else schema


def _missing(own: JsonObject, other: JsonObject, path: str) -> Iterator[str]:
    """Yield the paths that `other` accepts or keeps, and `own` does not."""
    if own is other or (own.get(_PRESERVES) and "type" not in own):
        return
    if own.get("type") != other.get("type"):
        yield f"{path}: type {other.get('type')}"
        return
    yield from _refused(own, other, path)
    if other.get(_PRESERVES) and not own.get(_PRESERVES):
        yield f"{path}: unknown fields"
    spare = own.get("additionalProperties")
    fields = own.get("properties") or {}
    for name, field in (other.get("properties") or {}).items():
        counterpart = fields.get(name, spare if isinstance(spare, dict) else None)
        if counterpart is not None:
            yield from _missing(counterpart, field, f"{path}.{name}")
        elif spare is not True and not own.get(_PRESERVES):
            yield f"{path}.{name}"
    for keyword, mark in (("items", "[]"), ("additionalProperties", "{}")):
        inner = other.get(keyword)
        if isinstance(inner, dict) and own.get(keyword) is not True:
            counterpart = own.get(keyword)
            if isinstance(counterpart, dict):
                yield from _missing(counterpart, inner, path + mark)
            elif not own.get(_PRESERVES):
                yield path + mark


def _refused(own: JsonObject, other: JsonObject, path: str) -> Iterator[str]:
    """Yield the constraints of `own` that `other` does not have."""
    required = set(own.get("required") or ()) - set(other.get("required") or ())
    if required:
        yield f"{path}: objects without {min(required)}"
    if "enum" in own:
        values: list[Any] = other.get("enum") or ["any"]
        for value in values:
            if value not in own["enum"]:
                yield f"{path}: value {value}"
    for keyword in _EXACT:
        if keyword in own and own[keyword] != other.get(keyword):
            yield f"{path}: another {keyword}"
    for keyword in _FLOORS:
        if keyword in own and not own[keyword] <= other.get(keyword, -float("inf")):
            yield f"{path}: a lower {keyword}"
    for keyword in _CEILINGS:
        if keyword in own and not own[keyword] >= other.get(keyword, float("inf")):
            yield f"{path}: a higher {keyword}"
