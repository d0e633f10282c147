"""Checks how a schema of a CRD says that lists and maps are merged. Pure."""

from collections.abc import Iterator
from typing import Any

from asoreconcile.base.objects import JsonObject
from asoreconcile.resources.crds.cause import (
    Cause,
    forbidden,
    invalid,
    required,
    unsupported,
)

LIST_TYPE, LIST_KEYS = "x-kubernetes-list-type", "x-kubernetes-list-map-keys"
MAP_TYPE = "x-kubernetes-map-type"


def merging_causes(schema: JsonObject, at: str) -> Iterator[Cause]:
    """Yield what is wrong with how lists and maps are merged."""
    kind = schema.get("type", "")
    for name, wanted, allowed in (
        (MAP_TYPE, "object", ("atomic", "granular")),
        (LIST_TYPE, "array", ("atomic", "set", "map")),
    ):
        sort = schema.get(name)
        if sort is None:
            continue
        if kind != wanted:
            why = f"must be {wanted} if {name} is specified"
            yield (
                invalid(f"{at}.type", kind, why)
                if kind
                else required(f"{at}.type", why)
            )
        if sort not in allowed:
            yield unsupported(f"{at}.{name}", sort, allowed)
    sort, keys = schema.get(LIST_TYPE), schema.get(LIST_KEYS) or []
    if keys and sort != "map":
        why = f"must be map if {LIST_KEYS} is non-empty"
        here = f"{at}.{LIST_TYPE}"
        yield required(here, why) if sort is None else invalid(here, sort, why)
    items = schema.get("items")
    if sort == "map":
        yield from _key_causes(items, keys, at)
    if sort not in ("set", "map") or not isinstance(items, dict):
        return
    if items.get("nullable"):
        why = f"cannot be nullable when {LIST_TYPE} is {sort}"
        yield forbidden(f"{at}.items.nullable", why)
    if sort == "set" and kind == "array":
        why = f"must be atomic as item of a list with {LIST_TYPE}=set"
        inner = items.get("type")
        name = LIST_TYPE if inner == "array" else MAP_TYPE
        merged = items.get(name)
        if (inner == "object" and merged != "atomic") or (
            inner == "array" and merged not in (None, "atomic")
        ):
            yield invalid(f"{at}.items.{name}", merged or "null", why)


def _key_causes(items: Any, keys: list[str], at: str) -> Iterator[Cause]:
    """Yield what is wrong with the keys of a list that is a map."""
    if not keys:
        why = f"must not be empty if {LIST_TYPE} is map"
        yield required(f"{at}.{LIST_KEYS}", why)
    if items is None:
        yield required(f"{at}.items", f"must have a schema if {LIST_TYPE} is map")
        return
    if not isinstance(items, dict):
        why = f"must only have a single schema if {LIST_TYPE} is map"
        yield invalid(f"{at}.items", "", why)
        return
    kind = items.get("type", "")
    if kind != "object":
        why = f"must be object if parent array's {LIST_TYPE} is map"
        yield invalid(f"{at}.items.type", kind, why)
    properties, needed = items.get("properties") or {}, items.get("required") or ()
    shown = "[" + ",".join(f'"{key}"' for key in keys) + "]"
    for index, key in enumerate(keys):
        here = f"{at}.items.properties[{key}]"
        if kind == "object" and key in keys[:index]:
            why = "must not contain duplicate entries"
            yield Cause(
                f"{at}.{LIST_KEYS}",
                "FieldValueInvalid",
                f"Invalid value: {shown}: {why}",
            )
        part = properties.get(key)
        if part is None:
            if kind == "object":
                why = "entries must all be names of item properties"
                text = f"Invalid value: {shown}: {why}"
                yield Cause(f"{at}.{LIST_KEYS}", "FieldValueInvalid", text)
            continue
        if kind == "object" and part.get("type") in ("array", "object"):
            why = f"must be a scalar type if parent array's {LIST_TYPE} is map"
            yield invalid(f"{here}.type", kind, why)
        if key not in needed and "default" not in part:
            why = (
                f"this property is in {LIST_KEYS}, so it must have a default or be a "
                "required property"
            )
            yield required(f"{here}.default", why)
        if part.get("nullable"):
            why = f"this property is in {LIST_KEYS}, so it cannot be nullable"
            yield forbidden(f"{here}.nullable", why)
