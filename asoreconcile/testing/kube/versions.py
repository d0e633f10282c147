"""An object at the versions of its kind: the one asked for, and the one stored. Pure.

Conversion is by name alone, as for CRDs with the strategy None.
"""

from asoreconcile.objects import JsonObject
from asoreconcile.testing.kube.kinds import Resource


def shown(resource: Resource, obj: JsonObject) -> JsonObject:
    """A stored object at the version of a request."""
    return _at(obj, resource.api_version)


def stored(resource: Resource, obj: JsonObject) -> JsonObject:
    """An object at the version its kind is stored at."""
    return _at(obj, resource.stored_api_version)


def _at(obj: JsonObject, api_version: str) -> JsonObject:
    if obj.get("apiVersion") == api_version:
        return obj
    return {**obj, "apiVersion": api_version}
