"""The types of an object's metadata, as a review gives them.

An API server sends no others, but anyone can post a review. Functions that judge
objects read metadata without looking at its types again. Rule: WH-3.
"""

from typing import Any

from asoreconcile.base.objects import JsonObject
from asoreconcile.webhooks.reviews import ReviewError

_TYPES: dict[str, type] = {
    "name": str,
    "generateName": str,
    "namespace": str,
    "uid": str,
    "resourceVersion": str,
    "selfLink": str,
    "creationTimestamp": str,
    "deletionTimestamp": str,
    "generation": int,
    "deletionGracePeriodSeconds": int,
    "annotations": dict,
    "labels": dict,
    "finalizers": list,
    "ownerReferences": list,
    "managedFields": list,
}
_ITEMS: dict[str, type] = {
    "annotations": str,
    "labels": str,
    "finalizers": str,
    "ownerReferences": dict,
    "managedFields": dict,
}
_OWNER_TEXTS = ("apiVersion", "kind", "name", "uid")
_NAMES = {str: "string", int: "whole number", dict: "map", list: "list"}
_MOST_NAMED = 100


def check_metadata(obj: JsonObject, place: str) -> None:
    """Check the types of an object's metadata. A missing or null field is valid.

    place: the object's member of the request, for the message. Raises ReviewError,
    which names the field. Pure; takes a few microseconds.
    """
    metadata = obj.get("metadata")
    if metadata is None:
        return
    path = f"{place}.metadata"
    _require(metadata, dict, path)
    for name, value in metadata.items():
        wanted = _TYPES.get(name)
        if wanted is None or value is None:
            continue
        # JSON has no subclasses, and of them `True` alone would pass for a number.
        if type(value) is not wanted:
            _require(value, wanted, f"{path}.{name}")
        item = _ITEMS.get(name)
        if item is None:
            continue
        values = value.values() if wanted is dict else value
        if not set(map(type, values)) <= {item}:
            _refuse_item(value, item, f"{path}.{name}")
        if name == "ownerReferences":
            _check_owners(value, f"{path}.{name}")


def _check_owners(owners: list[JsonObject], path: str) -> None:
    for at, owner in enumerate(owners):
        for name in _OWNER_TEXTS:
            _require(owner.get(name, ""), str, f"{path}[{at}].{name}")


def _refuse_item(value: dict[str, Any] | list[Any], wanted: type, path: str) -> None:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        _require(item, wanted, f"{path}[{str(key)[:_MOST_NAMED]}]")


def _require(value: object, wanted: type, path: str) -> None:
    if type(value) is not wanted:
        raise ReviewError(f"the request's {path} is not a {_NAMES[wanted]}", code=400)
