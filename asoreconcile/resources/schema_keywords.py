"""Writes a `Schema` into a JSON schema, if it fits the type. Pure."""

import math
from collections.abc import Mapping
from typing import Any

from asoreconcile.base.objects import JsonObject
from asoreconcile.resources.annotations import Schema
from asoreconcile.resources.class_fields import ResourceError

_LENGTHS = {
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}
_NUMBERS = ("integer", "number")
_LIST_TYPE, _MAP_TYPE = "x-kubernetes-list-type", "x-kubernetes-map-type"
RULES = "x-kubernetes-validations"
OF_ONE_TYPE = (
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "pattern"),
)
"""Keywords that hold for numbers or for strings, and for no other value."""


def apply_keywords(made: JsonObject, said: Schema, path: str) -> JsonObject:
    """Return the schema with these keywords. path: path of the field, for messages.

    Raises ResourceError for a keyword that does not apply to the type.
    """
    found = dict(made)
    kind = str(made.get("type", ""))
    for name, value in _scalars(said, kind):
        if value is None:
            continue
        _require_fit(name, kind, made, path)
        if isinstance(value, float) and not math.isfinite(value):
            raise ResourceError(f"{path}: {name} is {value}, which JSON does not have")
        found[name] = value
    if said.enum:
        found["enum"] = list(said.enum)
    if said.atomic or said.unique or said.map_keys:
        _apply_merging(found, said, path)
    if said.rules:
        found[RULES] = [*made.get(RULES, ()), *(one.document() for one in said.rules)]
    for keyword, flag in (
        ("x-kubernetes-preserve-unknown-fields", said.preserve_unknown),
        ("x-kubernetes-embedded-resource", said.embedded_resource),
    ):
        if flag:
            if kind != "object":
                raise ResourceError(f"{path}: {keyword} is for objects, not {kind}")
            found[keyword] = True
    others: JsonObject = {
        "title": said.title or None,
        "example": said.example,
        "default": said.default,
        "nullable": said.nullable or None,
    }
    found |= {name: value for name, value in others.items() if value is not None}
    if said.items is not None:
        _apply_to_items(found, said.items, path)
    return found


def _scalars(said: Schema, kind: str) -> list[tuple[str, Any]]:
    low, high = _LENGTHS.get(kind, ("minLength", "maxLength"))
    return [
        ("minimum", said.minimum),
        ("maximum", said.maximum),
        ("exclusiveMinimum", said.exclusive_minimum or None),
        ("exclusiveMaximum", said.exclusive_maximum or None),
        ("multipleOf", said.multiple_of),
        ("pattern", said.pattern or None),
        ("format", said.format or None),
        (low, said.min_length),
        (high, said.max_length),
    ]


def _require_fit(name: str, kind: str, made: JsonObject, path: str) -> None:
    fits: Mapping[str, bool] = {
        "minimum": kind in _NUMBERS,
        "maximum": kind in _NUMBERS,
        "exclusiveMinimum": kind in _NUMBERS,
        "exclusiveMaximum": kind in _NUMBERS,
        "multipleOf": kind in _NUMBERS,
        "pattern": kind == "string" or "x-kubernetes-int-or-string" in made,
        "format": kind in ("string", *_NUMBERS),
        "minLength": kind == "string",
        "maxLength": kind == "string",
    }
    if not fits.get(name, True):
        shown = kind or "a value of any type"
        raise ResourceError(f"{path}: {name} says nothing about {shown}")


def _apply_merging(found: JsonObject, said: Schema, path: str) -> None:
    """The list and map types for server-side apply and updates."""
    kind = found.get("type")
    if kind == "object" and said.atomic and not (said.unique or said.map_keys):
        found[_MAP_TYPE] = "atomic"
        return
    if kind != "array":
        raise ResourceError(f"{path}: unique, map_keys and atomic are for lists")
    if (said.atomic, said.unique, bool(said.map_keys)).count(True) > 1:
        raise ResourceError(f"{path}: a list is one of unique, map_keys and atomic")
    if said.atomic:
        found[_LIST_TYPE] = "atomic"
        return
    items = found.get("items", {})
    if said.unique:
        if items.get("type") in ("array", "object") and _MAP_TYPE not in items:
            raise ResourceError(
                f"{path}: unique is for lists of strings and numbers; objects are told "
                "apart by map_keys"
            )
        found[_LIST_TYPE] = "set"
        return
    known = items.get("properties", {})
    for key in said.map_keys:
        if known.get(key, {}).get("type") not in ("string", "boolean", *_NUMBERS):
            raise ResourceError(f"{path}: map_keys: {key!r} is no plain field of items")
        if key not in items.get("required", ()) and "default" not in known[key]:
            raise ResourceError(
                f"{path}: map_keys: {key!r} has to be required, or to have a default"
            )
    found[_LIST_TYPE] = "map"
    found["x-kubernetes-list-map-keys"] = list(said.map_keys)


def _apply_to_items(found: JsonObject, said: Schema, path: str) -> None:
    for keyword in ("items", "additionalProperties"):
        if isinstance(inner := found.get(keyword), dict):
            found[keyword] = apply_keywords(inner, said, f"{path}[]")
            return
    raise ResourceError(f"{path}: items are said of lists and maps")
