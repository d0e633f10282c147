"""One reconcile of one object: its working copy, and every write to Kubernetes.

Writes are few, small, and say what they rest on. Annotations and labels are collected
and go out together: at the latest before the status, at once where something must be
known to the next process (`record`). So a reconcile makes two writes at most, one of
metadata and one of the status, which goes last.

Our own annotations and labels are a merge patch preconditioned on the uid, so that an
edit in between costs no operation token; finalizers and owner references are lists
others share, so they also rest on the resource version. Every answer replaces the
working copy's metadata and is given to the cache, so that the next reconcile cannot
start from something older (D21).

An object that is gone ends the reconcile (`GoneError`), silently: R1.17, D2.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import attrs

from asoreconcile import jsontext, reconcile_context
from asoreconcile.azure.annotations import FINALIZER
from asoreconcile.azure.conditions import (
    ReadyCondition,
    find_ready,
    merge_drifted,
    merge_ready,
)
from asoreconcile.azure.status_size import MAX_OBJECT_BYTES, fitted, json_size
from asoreconcile.catalogue.storage_codec import StorageCodec
from asoreconcile.clock import Clock
from asoreconcile.errors import AsoreconcileError, StoppedError
from asoreconcile.kube.create_or_patch import Patcher
from asoreconcile.kube.errors import InvalidError, NotFoundError, is_another_object
from asoreconcile.kube.finalizers import has_ended, has_finalizer
from asoreconcile.kube.patch import merge_patch
from asoreconcile.kube.resources import ApiResource
from asoreconcile.objects import (
    JsonObject,
    ObjectKey,
    annotations,
    copy_json,
    generation,
    is_deleting,
    key_of,
    labels,
    resource_version,
    status,
    uid_of,
)
from asoreconcile.redaction import redact

# What a reconcile has done is written down even when it has used up its time.
_RECORD_SECONDS = 15.0


class GoneError(AsoreconcileError):
    """The object is no longer there, or another one has its name: end the reconcile."""


class StaleError(AsoreconcileError):
    """The object is newer than the copy of this reconcile, which must start again."""


class ObjectPatcher(Patcher, Protocol):
    """What this room asks of its own kind (`kube.client.KubeClient`)."""

    def get(self, resource: ApiResource, key: ObjectKey) -> JsonObject:
        """Read the object from the server.

        Blocking; raises ApiError, TransportError.
        """


class WriteCache(Protocol):
    """Where the answers of writes go (`cache.informer.Informer`)."""

    def record_write(self, obj: JsonObject) -> None:
        """Show the answer of a write to readers of the cache at once, before
        its event.
        """

    def record_deletion(self, key: ObjectKey, uid: str) -> None:
        """Hide an object that is gone from readers of the cache, before its event."""


class PatchHelper:
    """The working copy of a reconcile. Not for sharing between threads."""

    def __init__(
        self,
        obj: JsonObject,
        *,
        resource: ApiResource,
        client: ObjectPatcher,
        cache: WriteCache,
        clock: Clock,
        form: StorageCodec,
        is_live: bool = False,
    ) -> None:
        """Begin a reconcile with a private copy of the object as the cluster keeps it.

        is_live: the API server said so just now (`recent_writes`).

        Raises ConversionError.
        """
        self._form = form
        self.obj: JsonObject = {}
        # Annotations and labels of the working copy that are not written yet.
        self._unwritten: JsonObject = {}
        self._take(obj)
        self.key = key_of(obj)
        # What the conditions of this reconcile speak of, whatever is edited meanwhile.
        self.generation = generation(obj)
        self.status: JsonObject = copy_json(status(self.obj))
        self._resource = resource
        self._client = client
        self._cache = cache
        self._clock = clock
        # A sentence that every condition of this reconcile ends in.
        self.remark = ""
        self._is_live = is_live  # whether `obj` is an answer of the API server

    def annotation(self, name: str) -> str:
        """The working copy's annotation; "" if it has none, or an empty one."""
        return annotations(self.obj).get(name) or ""

    def annotate(
        self,
        notes: Mapping[str, str | None],
        *,
        labelled: Mapping[str, str] | None = None,
    ) -> None:
        """Set (or with None remove) annotations and set labels, if any differs. They
        are written with the next write of metadata, `commit` at the latest.

        They go out together even where the working copy says that some are there: it
        may be older than what another process wrote, and an operation's token must
        never stand beside the generation of another.
        """
        if _differ(annotations(self.obj), notes):
            self._collect("annotations", notes)
        if labelled and _differ(labels(self.obj), labelled):
            self._collect("labels", labelled)

    def record(
        self,
        notes: Mapping[str, str | None],
        *,
        labelled: Mapping[str, str] | None = None,
    ) -> None:
        """As `annotate`, and durable before this returns, with all that was collected.

        For what another process must know if this one dies now. Raises GoneError.
        """
        self.annotate(notes, labelled=labelled)
        self.flush()

    @property
    def unwritten(self) -> Mapping[str, Mapping[str, str | None]]:
        """What was collected and is not written yet, by `annotations` and `labels`."""
        return self._unwritten

    @property
    def stored(self) -> JsonObject:
        """The object as the cluster keeps it, as far as this reconcile knows."""
        return self._kept

    def withhold(self) -> None:
        """Do not write what was collected: somebody else keeps it for later."""
        self._unwritten = {}

    def write_shared(self, meta: JsonObject) -> None:
        """Write lists that others write too (finalizers, ownerReferences), at once.

        Raises ConflictError when the object changed since it was read: nothing was
        written, the reconcile starts again from the newer object.
        """
        base = {
            "uid": uid_of(self.obj),
            "resourceVersion": resource_version(self.obj),
        }
        for field in ("annotations", "labels"):
            self._collect(field, meta.get(field) or {})
        self._patch({"metadata": {**base, **meta, **self._collected()}})

    def confirm(self) -> None:
        """Make sure that the object is still there, as this reconcile knows it.

        Caches lag, the more so when another process acted until just now: a PUT for an
        object that went would leave a resource that nobody deletes (D2). One GET,
        unless this reconcile has written already, or we did a moment ago. Raises
        GoneError, StaleError.
        """
        if self._is_live:
            return
        try:
            # From the server: the cache may be behind, and that is what is in question.
            live = self._client.get(self._resource, self.key)
        except NotFoundError as error:
            raise GoneError(f"{self.key} is gone") from error
        # Also where it has changed: so the next reconcile starts from what was read
        # here.
        self._cache.record_write(live)
        if uid_of(live) != uid_of(self.obj):
            raise GoneError(f"{self.key} was replaced")
        if (
            generation(live) != generation(self.obj)
            or is_deleting(live)
            or not has_finalizer(live, FINALIZER)
        ):
            raise StaleError(f"{self.key} has changed since it was read")
        self._is_live = True

    def set_ready(self, ready: ReadyCondition, *, reason_aware: bool = False) -> None:
        """Offer the working status a Ready condition; written by `commit`.

        Secrets that are known are hidden in its message: everybody may read it.
        """
        namespace = self.key.namespace
        reason = redact(ready.reason, namespace=namespace)
        message = "; ".join(text for text in (ready.message, self.remark) if text)
        message = redact(message, namespace=namespace)
        self.status["conditions"] = merge_ready(
            self.status.get("conditions"),
            attrs.evolve(ready, reason=reason, message=message),
            self._clock.now(),
            stored=find_ready(status(self.obj).get("conditions")),
            reason_aware=reason_aware,
        )

    def set_drifted(self, message: str) -> None:
        """What a sync found and left as it is, or with "" nothing; see `commit`."""
        found = self.status.get("conditions")
        shown = merge_drifted(
            found,
            redact(message, namespace=self.key.namespace),
            self._clock.now(),
            generation=self.generation,
            stored=status(self.obj).get("conditions"),
        )
        if found or shown:
            self.status["conditions"] = shown

    def restore_ready(self) -> None:
        """Take back what was offered: Ready stays as it was read, if there was one."""
        before = status(self.obj).get("conditions")
        if before:
            self.status["conditions"] = copy_json(before)

    def replace_status(self, observed: JsonObject) -> None:
        """Take what Azure answered as the status; conditions are carried over (D1)."""
        conditions: Sequence[JsonObject] = self.status.get("conditions") or []
        self.status = {**observed, "conditions": list(conditions)}

    def drop_observed(self, *, stored: bool = False) -> None:
        """Keep the conditions alone of the working status.

        stored: of what the cluster has, too; else that stays as it is.
        """
        self.status = {
            **({} if stored else copy_json(status(self.obj))),
            "conditions": self.status.get("conditions") or [],
        }

    def fit_status(self) -> list[str]:
        """Leave out what makes the object larger than a cluster stores; the members of
        the status that were left out, the largest first.
        """
        room = MAX_OBJECT_BYTES - json_size({**self.obj, "status": None})
        self.status, dropped = fitted(self.status, room)
        return dropped

    def commit(self) -> None:
        """Write what was collected, and then the working status, if it differs from
        what is stored (R1.16). Raises GoneError, ApiError.
        """
        self.flush()
        wanted = self._form.status({**self.obj, "status": self.status})
        stored = status(self._kept)
        # Nearly always nothing differs, which the texts say ten times as fast.
        if jsontext.dumps(stored) == jsontext.dumps(wanted):
            return
        change = merge_patch({"status": stored}, {"status": wanted})
        if change is not None:
            # On the uid, not the version: the status is ours alone, and an edit of the
            # spec in between must not cost what Azure said. The generation in it says
            # what it is of.
            self._patch(
                {"metadata": {"uid": uid_of(self.obj)}, **change}, subresource="status"
            )

    def _collect(self, field: str, values: Mapping[str, str | None]) -> None:
        """Have the working copy say what is to be written."""
        if not values:
            return
        meta = self.obj["metadata"]
        shown = {**(meta.get(field) or {}), **values}
        kept = {name: value for name, value in shown.items() if value is not None}
        self.obj = {**self.obj, "metadata": {**meta, field: kept}}
        self._unwritten[field] = {**self._unwritten.get(field, {}), **values}

    def flush(self) -> None:
        """Write what was collected. Raises GoneError, ApiError: it is not tried again
        in this reconcile.
        """
        if collected := self._collected():
            self._patch({"metadata": {"uid": uid_of(self.obj), **collected}})

    def _collected(self) -> JsonObject:
        collected, self._unwritten = self._unwritten, {}
        return collected

    def _patch(self, body: JsonObject, *, subresource: str = "") -> None:
        try:
            with reconcile_context.allowance(_RECORD_SECONDS):
                answer = self._send(body, subresource)
        except NotFoundError as error:
            raise GoneError(f"{self.key} is gone") from error
        except InvalidError as error:
            if is_another_object(error):
                raise GoneError(f"{self.key} was replaced") from error
            raise
        if has_ended(answer):
            # Woken before the event comes, it would be polled and let go once more.
            self._cache.record_deletion(self.key, uid_of(answer))
        else:
            self._cache.record_write(answer)
        self._take(answer)
        self._is_live = True

    def _send(self, body: JsonObject, subresource: str) -> JsonObject:
        """The PATCH; once more where a stop broke it off, and there is time.

        What a reconcile has done is forgotten with the process. A connection that died
        without a word must not cost the operation's token: the next one may be sound,
        and to write the same twice does no harm.
        """
        try:
            with reconcile_context.half_of_stop():
                return self._client.patch(
                    self._resource, self.key, body, subresource=subresource
                )
        except StoppedError:
            if reconcile_context.seconds_left() == 0:
                raise
        return self._client.patch(
            self._resource, self.key, body, subresource=subresource
        )

    def _take(self, kept: JsonObject) -> None:
        self.obj = self._form.read(kept)
        self._kept = kept


def _differ(before: Mapping[str, str], wanted: Mapping[str, str | None]) -> bool:
    return any(before.get(name) != value for name, value in wanted.items())
