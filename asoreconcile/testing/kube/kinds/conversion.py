"""Conversion of custom resources between versions by a webhook."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from asoreconcile.base.objects import JsonObject, metadata
from asoreconcile.testing.kube.wire.hooks import HookError, Services
from asoreconcile.testing.kube.wire.status import StatusError, internal_error

_API_VERSION = "apiextensions.k8s.io/v1"
_SECONDS = 30.0
_CHANGEABLE = ("labels", "annotations")


@attrs.frozen
class ConversionCall:
    """The conversion webhook of a CRD. Blocking: hold no lock."""

    services: Services
    webhook: Mapping[str, Any] = attrs.field(repr=False)

    def converted(
        self, objects: Sequence[JsonObject], api_version: str
    ) -> list[JsonObject]:
        """Return the objects at a version. Objects that are already at it stay as they
        are.

        Raises StatusError 500.
        """
        others = [obj for obj in objects if obj.get("apiVersion") != api_version]
        if not others:
            return list(objects)
        made = iter(self._asked(others, api_version))
        return [
            obj if obj.get("apiVersion") == api_version else _checked(obj, next(made))
            for obj in objects
        ]

    def _asked(self, objects: Sequence[JsonObject], api_version: str) -> list[Any]:
        uid = str(uuid.uuid4())
        review: JsonObject = {
            "kind": "ConversionReview",
            "apiVersion": _API_VERSION,
            "request": {
                "uid": uid,
                "desiredAPIVersion": api_version,
                "objects": list(objects),
            },
        }
        first = objects[0]
        try:
            config = self.webhook.get("clientConfig") or {}
            found = self.services.call(config, review, _SECONDS)
            return _response(found, uid, api_version, len(objects))
        except HookError as error:
            why = str(error).removeprefix("failed to call webhook: ")
            raise _failed(first, why) from error


def _response(found: JsonObject, uid: str, api_version: str, count: int) -> list[Any]:
    """Return the objects of a review's response. Raises HookError."""
    if found.get("apiVersion") != _API_VERSION:
        stated = found.get("apiVersion") or ""
        raise HookError(
            f"invalid webhook response: expected {_API_VERSION} ConversionReview, got "
            f'"{stated}"'
        )
    response = found.get("response") or {}
    if response.get("uid") != uid:
        stated = response.get("uid") or ""
        raise HookError(f'expected response.uid="{uid}", got "{stated}"')
    result = response.get("result") or {}
    if result.get("status") != "Success":
        raise HookError(str(result.get("message") or "no reason given"))
    made = response.get("convertedObjects") or []
    if len(made) != count:
        raise HookError(f"expected {count} converted objects, got {len(made)}")
    for index, obj in enumerate(made):
        stated = obj.get("apiVersion") if isinstance(obj, dict) else None
        if stated != api_version:
            raise HookError(
                f"invalid groupVersion in converted object at index {index}: expected "
                f"{api_version}, got {stated}"
            )
    return list(made)


def _checked(before: JsonObject, made: JsonObject) -> JsonObject:
    """Return a converted object with the metadata that conversion may not change."""
    if made.get("kind") != before.get("kind"):
        raise _failed(before, f"kind changed to {made.get('kind')}")
    meta, changed = dict(metadata(before)), metadata(made)
    for field in _CHANGEABLE:
        meta.pop(field, None)
        if changed.get(field):
            meta[field] = changed[field]
    return {**made, "metadata": meta}


def _failed(obj: JsonObject, why: str) -> StatusError:
    what = f"{obj.get('apiVersion')}, Kind={obj.get('kind')}"
    return internal_error(f"conversion webhook for {what} failed: {why}")
