"""Changes an object that others also change: reads it, changes it, writes it, and
retries after a conflict.

Rules: CL-5, CL-8.
"""

import random
import threading
from collections.abc import Callable, Mapping
from typing import Literal, Protocol, TypeVar

from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import (
    JsonObject,
    ObjectKey,
    copy_json,
    finalizers,
    is_deleting,
    key_of,
    resource_version,
)
from asoreconcile.base.retry import Backoff, retry
from asoreconcile.kube import json_patch
from asoreconcile.kube.errors import ConflictError, NotFoundError
from asoreconcile.kube.patch import apply_merge_patch, merge_patch
from asoreconcile.kube.resources import ApiResource
from asoreconcile.kube.writes import PatchKind

_Value = TypeVar("_Value")

OperationResult = Literal[
    "unchanged", "created", "updated", "updated-status", "updated-status-only"
]

# The outcome by the parts that were written: the object, its status.
_OUTCOMES: Mapping[tuple[bool, bool], OperationResult] = {
    (False, False): "unchanged",
    (True, False): "updated",
    (True, True): "updated-status",
    (False, True): "updated-status-only",
}


DEFAULT_BACKOFF = Backoff()
"""The back-off for conflicts with other writers of the same fields, which are rare and
short.
"""

AT_ONCE = Backoff(first_seconds=0.0)
"""The back-off for a few infrequent writers: retry at once."""

PATIENT_BACKOFF = Backoff(attempts=4, factor=5.0)
"""The back-off for several processes that write one object."""


class Patcher(Protocol):
    """Patches (`kube.client.KubeClient`, `cache.client.CachedClient`)."""

    def patch(
        self,
        resource: ApiResource,
        key: ObjectKey,
        body: JsonObject | list[JsonObject],
        *,
        kind: PatchKind = "merge",
        subresource: str = "",
    ) -> JsonObject:
        """Patch the object or its subresource; returns the patched object.

        Blocking.

        Raises ApiError; ConflictError if `body` has an outdated resourceVersion.
        """


class Writer(Patcher, Protocol):
    """A client that reads, creates and patches."""

    def get(self, resource: ApiResource, key: ObjectKey) -> JsonObject:
        """Return the object; raises NotFoundError if there is none."""

    def create(self, resource: ApiResource, obj: JsonObject) -> JsonObject:
        """Create the object; raises AlreadyExistsError if it exists by now."""


def retry_on_conflict(
    attempt: Callable[[], _Value],
    *,
    clock: Clock,
    backoff: Backoff = DEFAULT_BACKOFF,
    stop: threading.Event | None = None,
    uniform: Callable[[float, float], float] = random.uniform,
) -> _Value:
    """Call a function until it raises no ConflictError; after the last try the
    ConflictError is raised.

    attempt: reads the object from the server, changes it and writes it. Blocks for the
    pauses. stop: ends a pause with StoppedError. Rule: CL-5.
    """
    return retry(
        attempt,
        backoff=backoff,
        when=lambda error: isinstance(error, ConflictError),
        clock=clock,
        stop=stop,
        uniform=uniform,
    )


def create_or_patch(
    client: Writer,
    resource: ApiResource,
    key: ObjectKey,
    change: Callable[[JsonObject], object],
    *,
    has_status: bool = False,
    keeps_nulls: bool = False,
) -> tuple[OperationResult, JsonObject]:
    """Create or patch an object with `change`, with the smallest possible write.

    change: gets the existing object, or `{"apiVersion", "kind", "metadata"}` for a new
    one. It changes that object in place, and returns None (or a bool, as
    `add_finalizer` does), or it returns another dict; the name stays. has_status:
    whether the kind has a status subresource, which is written separately. keeps_nulls:
    whether a null is a value, as in nullable fields; if false, a null counts as absent.
    Nothing is written
    if nothing changes. Returns the action taken and the resulting object. Raises
    ConflictError or AlreadyExistsError if another writer was faster, ValueError if the
    name was changed, TypeError if `change` returns anything else. Rule: CL-8.
    """
    _check_untyped(resource, "create_or_update(obj, change)")
    try:
        before = client.get(resource, key)
    except NotFoundError:
        made = _changed(_named(resource, key), change)
        # A create drops the status of kinds that have it as a subresource.
        status = made.pop("status", None) if has_status else None
        written = client.create(resource, made)
        if status:
            body = {"status": status}
            written = client.patch(resource, key, body, subresource="status")
        return "created", written
    return patch_object(
        client,
        resource,
        before,
        change,
        has_status=has_status,
        keeps_nulls=keeps_nulls,
    )


def patch_object(
    client: Patcher,
    resource: ApiResource,
    before: JsonObject,
    change: Callable[[JsonObject], object],
    *,
    has_status: bool = False,
    keeps_nulls: bool = False,
) -> tuple[OperationResult, JsonObject]:
    """Patch an object that was already read, as `create_or_patch` does, but never
    create it.

    before: the object as read; it is not changed. The status is written after the rest,
    but before the last finalizer of a deleted object is removed, as the object is gone
    then. Raises ConflictError if the object has changed since, NotFoundError if it is
    gone.
    """
    given: object = before
    if not isinstance(given, dict):
        _check_untyped(type(given), "update(obj, change)")
    after = _changed(before, change)
    patch = merge_patch(before, after) or {}
    parts: Mapping[str, JsonObject | list[JsonObject]]
    if keeps_nulls and apply_merge_patch(before, patch) != after:
        # Only a JSON patch can set a null.
        parts = _json_patches(before, after, has_status=has_status)
    else:
        parts = _merge_patches(patch, has_status=has_status)
    writes = [(subresource, body) for subresource, body in parts.items() if body]
    if _ends(before, after):
        writes.reverse()
    written = before
    for subresource, body in writes:
        # On the version of the previous write: the version that was read is outdated.
        written = client.patch(
            resource,
            key_of(before),
            _on(written, body),
            kind="json" if isinstance(body, list) else "merge",
            subresource=subresource,
        )
    return _OUTCOMES[bool(parts[""]), bool(parts["status"])], written


def _check_untyped(resource: object, method: str) -> None:
    """Check that a kind is not a class. Raises TypeError for a class, with the method
    that takes its objects.
    """
    if isinstance(resource, type):
        name = resource.__name__
        raise TypeError(f"{name} is a class: call client.{method} with a {name}")


def _merge_patches(patch: JsonObject, *, has_status: bool) -> Mapping[str, JsonObject]:
    """Divide a merge patch by subresource. A null removes the status."""
    rest = dict(patch)
    status = rest.pop("status", {}) if has_status else {}
    return {"": rest, "status": {} if status == {} else {"status": status}}


def _json_patches(
    before: JsonObject, after: JsonObject, *, has_status: bool
) -> Mapping[str, list[JsonObject]]:
    """Return the differences as JSON patches, by subresource."""
    parts: dict[str, list[JsonObject]] = {"": [], "status": []}
    for operation in json_patch.changes(before, after):
        of_status = has_status and operation["path"].split("/")[1] == "status"
        parts["status" if of_status else ""].append(operation)
    return parts


def _ends(before: JsonObject, after: JsonObject) -> bool:
    """Return whether the object and its status are gone once the change is written: its
    last finalizer is removed.
    """
    return is_deleting(before) and bool(finalizers(before)) and not finalizers(after)


def _on(
    before: JsonObject, patch: JsonObject | list[JsonObject]
) -> JsonObject | list[JsonObject]:
    """Return the patch with a precondition on the version of `before`, because it
    replaces whole lists.
    """
    version = resource_version(before)
    if isinstance(patch, list):
        path = "/metadata/resourceVersion"
        return [*patch, {"op": "replace", "path": path, "value": version}]
    meta = {**patch.get("metadata", {}), "resourceVersion": version}
    return {**patch, "metadata": meta}


def _named(resource: ApiResource, key: ObjectKey) -> JsonObject:
    meta = {"name": key.name}
    if key.namespace:
        meta["namespace"] = key.namespace
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": meta,
    }


def _changed(before: JsonObject, change: Callable[[JsonObject], object]) -> JsonObject:
    after: JsonObject = copy_json(before)
    answer = change(after)
    if isinstance(answer, dict):
        after = answer
    # Helpers such as `add_finalizer` return whether they changed the object.
    elif answer is not None and not isinstance(answer, bool):
        raise TypeError(
            f"the change returned {type(answer).__name__}: it must change the object "
            "that it gets and return None, or return another dict"
        )
    if key_of(after) != key_of(before):
        advice = ""
        if answer is after:
            advice = ": the dict that the change returned is taken as the whole object"
        raise ValueError(f"{key_of(before)} cannot become {key_of(after)}{advice}")
    return after
