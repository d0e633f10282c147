"""Changes to what others change too: read, change, write, and again on conflict.

Rules: CL-5, CL-8.
"""

import random
import threading
from collections.abc import Callable, Mapping
from typing import Literal, Protocol, TypeVar

from asoreconcile.clock import Clock
from asoreconcile.kube.errors import ConflictError, NotFoundError
from asoreconcile.kube.patch import merge_patch
from asoreconcile.kube.resources import ApiResource
from asoreconcile.objects import (
    JsonObject,
    ObjectKey,
    copy_json,
    finalizers,
    is_deleting,
    key_of,
    resource_version,
)
from asoreconcile.retry import Backoff, retry

_Value = TypeVar("_Value")

OperationResult = Literal[
    "unchanged", "created", "updated", "updated-status", "updated-status-only"
]

# By what was written: the object, its status.
_OUTCOMES: Mapping[tuple[bool, bool], OperationResult] = {
    (False, False): "unchanged",
    (True, False): "updated",
    (True, True): "updated-status",
    (False, True): "updated-status-only",
}


DEFAULT_BACKOFF = Backoff()
"""For conflicts with other writers of the same fields, which are rare and short."""

AT_ONCE = Backoff(first_seconds=0.0)
"""Where nothing is lost by trying at once: a few writers, who seldom write."""

PATIENT_BACKOFF = Backoff(attempts=4, factor=5.0)
"""Where several processes write one object."""


class Patcher(Protocol):
    """Patches (`kube.client.KubeClient`, `cache.client.CachedClient`)."""

    def patch(
        self,
        resource: ApiResource,
        key: ObjectKey,
        body: JsonObject,
        *,
        subresource: str = "",
    ) -> JsonObject:
        """Merge-patch the object or its subresource; returns it as it then is.

        Blocking.

        Raises ApiError; ConflictError if `body` names a resourceVersion that is past.
        """


class Writer(Patcher, Protocol):
    """A client that reads, creates and patches."""

    def get(self, resource: ApiResource, key: ObjectKey) -> JsonObject:
        """The object; raises NotFoundError if there is none."""

    def create(self, resource: ApiResource, obj: JsonObject) -> JsonObject:
        """Make the object; raises AlreadyExistsError if somebody was quicker."""


def retry_on_conflict(
    attempt: Callable[[], _Value],
    *,
    clock: Clock,
    backoff: Backoff = DEFAULT_BACKOFF,
    stop: threading.Event | None = None,
    uniform: Callable[[float, float], float] = random.uniform,
) -> _Value:
    """Call until it raises no ConflictError; the last one is raised.

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
) -> tuple[OperationResult, JsonObject]:
    """Bring an object to what `change` makes of it, with as small a write as will do.

    change: gets the object as it is, or `{"apiVersion", "kind", "metadata"}` of a new
    one, and changes it in place; not its name. has_status: the kind has a status
    subresource, which is written apart. Nothing is written where nothing changes.
    Returns what was done, and the object after it. Raises ConflictError or
    AlreadyExistsError when somebody else was faster, ValueError if the name was
    changed. Rule: CL-8.
    """
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
    return patch_object(client, resource, before, change, has_status=has_status)


def patch_object(
    client: Patcher,
    resource: ApiResource,
    before: JsonObject,
    change: Callable[[JsonObject], object],
    *,
    has_status: bool = False,
) -> tuple[OperationResult, JsonObject]:
    """`create_or_patch` for an object that was read: nothing is created.

    before: as it was read; left as it is. The status is written after the rest, but
    before the last finalizer of a deletion is taken off: then nothing is left to write
    it to. Raises ConflictError if it has changed since, NotFoundError if it is gone.
    """
    key = key_of(before)
    after = _changed(before, change)
    patch = merge_patch(before, after) or {}
    # A null takes away a status that `change` has removed.
    states = has_status and "status" in patch
    status = patch.pop("status", None) if has_status else None
    states = states and status != {}
    writes = [("", patch)] if patch else []
    if states:
        writes.append(("status", {"status": status}))
    # The object ends with its last finalizer, and its status with it.
    if is_deleting(before) and finalizers(before) and not finalizers(after):
        writes.reverse()
    written = before
    for subresource, body in writes:
        # On the version that the write before it has made: what was read is past then.
        written = client.patch(
            resource, key, _on(written, body), subresource=subresource
        )
    return _OUTCOMES[bool(patch), states], written


def _on(before: JsonObject, patch: JsonObject) -> JsonObject:
    """The patch, for that version only: the lists in it are whole."""
    meta = {**patch.get("metadata", {}), "resourceVersion": resource_version(before)}
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
    change(after)
    if key_of(after) != key_of(before):
        raise ValueError(f"{key_of(before)} cannot become {key_of(after)}")
    return after
