"""Conversion of an object between the requested version and the stored one.

Either only the version's name changes, as for CRDs with the strategy None, or the CRD's
webhook converts. In that case these functions block, and raise StatusError 500 if the
webhook fails.
"""

from collections.abc import Sequence

from asoreconcile.base.objects import JsonObject, copy_json
from asoreconcile.testing.kube.fields import schema
from asoreconcile.testing.kube.kinds.resources import RestResource


def shown(resource: RestResource, obj: JsonObject) -> JsonObject:
    """Return a stored object at the version of a request."""
    return shown_all(resource, [obj])[0]


def shown_all(
    resource: RestResource, objects: Sequence[JsonObject]
) -> list[JsonObject]:
    """Return stored objects at the version of a request, converted in one call."""
    version = resource.api_version
    if resource.conversion is None:
        return [_renamed(obj, version) for obj in objects]
    converted = resource.conversion.converted(objects, version)
    return [
        new if new is old or resource.schema is None else _admitted(resource, new)
        for old, new in zip(objects, converted, strict=True)
    ]


def stored(resource: RestResource, obj: JsonObject) -> JsonObject:
    """Return an object at the version in which its kind is stored, with its own
    metadata.
    """
    version = resource.stored_api_version
    if resource.conversion is None:
        return _renamed(obj, version)
    return resource.conversion.converted([copy_json(obj)], version)[0]


def _admitted(resource: RestResource, obj: JsonObject) -> JsonObject:
    return schema.admit(resource.schema or {}, obj)[0]


def _renamed(obj: JsonObject, api_version: str) -> JsonObject:
    if obj.get("apiVersion") == api_version:
        return obj
    return {**obj, "apiVersion": api_version}
