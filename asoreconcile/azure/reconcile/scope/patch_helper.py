"""The working copy of one reconcile's object, and all writes of the object to
Kubernetes.

Writes are few, small and conditional. Annotations and labels are collected and written
together: at the latest before the status, or at once if the next process must know them
(`record`). So a reconcile makes two writes at most: one of metadata and, at the end,
one of the status.

The operator's own annotations and labels are a merge patch preconditioned on the uid,
so that an edit in between does not lose an operation token. Writes of finalizers and
owner references, lists that others write, too, are also preconditioned on the resource
version. A write of the status is so, too; if the object has changed, the status is
computed again. Every answer replaces the working copy's metadata and is given to the
cache, so that the next reconcile cannot start from an older object (D21).

If the object is gone, the reconcile ends silently (`GoneError`): R1.17, D2.
"""

from collections.abc import Mapping, Sequence

import attrs

from asoreconcile.azure.arm.text_bounds import FOREIGN_MESSAGE
from asoreconcile.azure.catalogue.storage_codec import StorageCodec
from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.annotations import (
    FINALIZER,
    RESOURCE_ID,
    operators_own,
)
from asoreconcile.azure.reconcile.model.claim_record import claim_condition, is_claim
from asoreconcile.azure.reconcile.model.conditions import (
    DRIFTED,
    EXPORT_FAILED,
    READY,
    SECRETS_UNCHECKED,
    TAKEN_LAST,
    ReadyCondition,
    find_ready,
    merge_problem,
    merge_ready,
)
from asoreconcile.azure.reconcile.model.decisions import AT_ONCE_SECONDS
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.base import reconcile_context
from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import AsoreconcileError, StoppedError
from asoreconcile.base.jsontext import dumps
from asoreconcile.base.objects import (
    JsonObject,
    copy_json,
    generation,
    is_deleting,
    key_of,
    labels,
    resource_version,
    status,
    uid_of,
)
from asoreconcile.base.printable import printable
from asoreconcile.cache.informer import Informer
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.errors import (
    ConflictError,
    InvalidError,
    NotFoundError,
    is_another_object,
)
from asoreconcile.kube.finalizers import has_ended, has_finalizer
from asoreconcile.kube.patch import merge_patch
from asoreconcile.kube.resources import ApiResource
from asoreconcile.redaction import redact

MAX_OBJECT_BYTES = 1 << 20
"""Of an object in JSON: what is left to 1.5 MiB is for managedFields, which we do not
see, and for a spec that grows.
"""

# The reasons of conditions about problems, by type.
_PROBLEMS = {
    DRIFTED: "Drift",
    EXPORT_FAILED: "FetchFailed",
    SECRETS_UNCHECKED: "NoPolicy",
    TAKEN_LAST: "Suspect",
}
# Small, and used by others.
_KEPT = frozenset({"conditions", "id", "name", "type", "provisioningState"})


def _why_taken_last() -> str:
    """Return why the object of this reconcile is taken last, or ""."""
    context = reconcile_context.current()
    why = "" if context is None else context.why_taken_last()
    if not why:
        return ""
    return (
        f"{why}. For an hour the object is reconciled after all others of its kind, "
        "and rarely if it kept others from running. Look for very long texts in the "
        "object or in the Secrets that it names"
    )


def fitted(status: JsonObject, room: int) -> tuple[JsonObject, list[str]]:
    """Return the status, shortened to at most `room` bytes, and the names of omitted
    members.

    Whole members are omitted, the largest first, because half of a list would look
    complete. The conditions and the id are always kept.
    """
    if len(dumps(status)) <= room:
        return status, []
    sizes = {name: len(dumps(value)) for name, value in status.items()}
    # Each has its quoted name, a colon and a comma.
    total = 2 + sum(len(name) + 4 + size for name, size in sizes.items())
    left_out: list[str] = []
    for name in sorted(sizes.keys() - _KEPT, key=lambda n: (-sizes[n], n)):
        if total <= room:
            break
        left_out.append(name)
        total -= len(name) + 4 + sizes[name]
    kept = {name: value for name, value in status.items() if name not in left_out}
    return kept, left_out


# Of one status, while others write the object; after them the queue backs off.
_MOST_CONFLICTS = 5
# Until the next reconcile of an object whose status another process writes, too.
_REPLACED_SECONDS = 1.0
# The results of a reconcile are written even after its deadline.
_RECORD_SECONDS = 15.0


class GoneError(AsoreconcileError):
    """The object no longer exists, or another object has its name; the reconcile
    ends.
    """


class StaleError(AsoreconcileError):
    """The reconcile's copies are outdated; the reconcile starts again.

    after_seconds: the pause before the new start. It is short for an object whose newer
    version is already in the cache, and longer for a Namespace whose watch is behind.
    """

    def __init__(self, message: str, *, after_seconds: float = AT_ONCE_SECONDS) -> None:
        super().__init__(message)
        self.after_seconds = after_seconds


# A watch of Namespaces that is behind may be so for a while.
BEHIND_SECONDS = 1.0


def behind(patcher: "PatchHelper") -> StaleError:
    """Return the error of a reconcile that began with other annotations of the
    Namespace.
    """
    return StaleError(
        f"{patcher.key} is left as it is: annotations of its Namespace changed",
        after_seconds=BEHIND_SECONDS,
    )


class PatchHelper:
    """The working copy of a reconcile. Not for sharing between threads.

    obj: the object in its author's API version, with the collected changes. version:
    API version of the author. annotations: the annotations of `obj`. arm_id: the
    claimed ARM id, "" before the claim. stored: the object as the cluster stores it.
    status: the status to write. unwritten: the collected changes, by `annotations` and
    `labels`. generation: the generation that this reconcile's conditions name, also if
    the spec is edited meanwhile. is_live: whether `obj` is an answer of the API server.
    is_cache_behind: whether the kind's cache may lack changes of other objects that are
    older than the last change of this object.
    """

    def __init__(
        self,
        obj: JsonObject,
        *,
        resource: ApiResource,
        client: KubeClient,
        cache: Informer,
        clock: Clock,
        form: StorageCodec,
        is_live: bool = False,
    ) -> None:
        """Begin a reconcile with a private copy of the stored object.

        is_live: whether the copy is a recent answer of the API server
        (`recent_writes`).

        Raises KindConversionError.
        """
        self._form = form
        # Annotations and labels of the working copy that are not written yet.
        self.unwritten: JsonObject = {}
        self._take(obj)
        self.key = key_of(obj)
        self.generation = generation(obj)
        # As this reconcile knows them: its decisions rest on these.
        self._was_deleting = is_deleting(obj)
        self._known_annotations: dict[str, str | None] = {**annotations(obj)}
        self.status: JsonObject = copy_json(status(self.obj))
        # As it was read, or as this reconcile has written it.
        self._known_status = status(obj)
        self._resource = resource
        self._client = client
        self._cache = cache
        self._clock = clock
        self.remark = ""
        self.is_live = is_live
        # Until `confirm` knows.
        self.is_cache_behind = True

    @property
    def node(self) -> ObjectReference:
        """A reference to the object, as other objects refer to it."""
        return ObjectReference(self.version.group_kind, self.key)

    def annotate(
        self,
        changes: Mapping[str, str | None],
        *,
        labelled: Mapping[str, str] | None = None,
    ) -> None:
        """Set (or with None remove) annotations and set labels, if any differs. They
        are written with the next write of metadata, `commit` at the latest.

        All are written even if the working copy has some of the values already: the
        copy may be older than another process's write, and the token of one operation
        must never be combined with the generation of another.
        """
        if _differ(self.annotations, changes):
            self._collect("annotations", changes)
        if labelled and _differ(labels(self.obj), labelled):
            self._collect("labels", labelled)

    def record(
        self,
        changes: Mapping[str, str | None],
        *,
        labelled: Mapping[str, str] | None = None,
    ) -> None:
        """Annotate the object, and write all collected changes before this returns.

        Use it for facts that another process needs if this one crashes now. Raises
        GoneError.
        """
        self.annotate(changes, labelled=labelled)
        self.flush()

    def write_shared(self, meta: JsonObject) -> None:
        """Write lists that other clients write, too (finalizers, ownerReferences), and
        facts that hold only for the object as it was read.

        The write is made at once.

        Raises ConflictError if the object changed since it was read: nothing was
        written, and earlier collected changes are written with the next write.
        """
        before = dict(self.unwritten)
        base = {
            "uid": uid_of(self.obj),
            "resourceVersion": resource_version(self.obj),
        }
        for field in ("annotations", "labels"):
            self._collect(field, meta.get(field) or {})
        try:
            self._patch({"metadata": {**base, **meta, **self._collected()}})
        except ConflictError:
            self.unwritten = before
            raise

    def confirm(self) -> None:
        """Make sure that the object still exists, and that only this reconcile has
        changed it.

        This sends one GET; none if `is_live`, because the object is then a recent
        answer of the API server.

        A cache lags, especially just after another process was the leader. A PUT for a
        deleted object would leave a resource that is never deleted (D2), and a new
        policy may forbid the write. Raises GoneError, StaleError.
        """
        live = self.stored if self.is_live else self._live()
        found = annotations(live)
        known = {
            name: one
            for name, one in self._known_annotations.items()
            if one is not None
        }
        if (
            generation(live) != self.generation
            or is_deleting(live) != self._was_deleting
            or not has_finalizer(live, FINALIZER)
            or (found != known and operators_own(found) != operators_own(known))
        ):
            raise StaleError(f"{self.key} has changed since it was read")
        if not self.is_live:
            # A watch delivers the changes of a kind in their order.
            self.is_cache_behind = self._cache.is_behind(live)
        self.is_live = True

    def add_remark(self, text: str) -> None:
        """Append a text to every condition that this reconcile sets from now on."""
        if text not in self.remark:
            self.remark = f"{self.remark}; {text}" if self.remark else text

    def drop_remark(self, text: str) -> None:
        """Remove a text that `add_remark` has appended."""
        parts = [one for one in self.remark.split("; ") if one not in text.split("; ")]
        self.remark = "; ".join(parts)

    def set_ready(self, ready: ReadyCondition, *, reason_aware: bool = False) -> None:
        """Set the Ready condition of the working status if it may replace the present
        one; `commit` writes it.

        Known secrets are hidden in its message, which many people can read, and
        characters that would act on their terminals are escaped.
        """
        namespace = self.key.namespace
        reason = redact(ready.reason, namespace=namespace)
        remark = "" if self.remark in ready.message else self.remark
        message = "; ".join(filter(None, (ready.message, remark)))
        message = _shown(message, namespace)
        self.status["conditions"] = merge_ready(
            self.status.get("conditions"),
            attrs.evolve(ready, reason=reason, message=message),
            self._clock.now(),
            stored=find_ready(status(self.obj).get("conditions")),
            reason_aware=reason_aware,
        )

    def has_condition(self, type_: str) -> bool:
        """Return whether the working status has a condition of this type."""
        found = self.status.get("conditions") or ()
        return any(one.get("type") == type_ for one in found)

    def set_problem(self, type_: str, message: str = "") -> None:
        """Set the condition of a problem (`Drifted`); "" as the message removes it.
        `commit` writes it.
        """
        if not message and not self.has_condition(type_):
            return
        found = self.status.get("conditions")
        shown = merge_problem(
            found,
            type_,
            _PROBLEMS[type_],
            _shown(message, self.key.namespace),
            self._clock.now(),
            generation=self.generation,
            stored=status(self.obj).get("conditions"),
        )
        self.status["conditions"] = shown

    def restore_ready(self) -> None:
        """Undo `set_ready`: restore the Ready condition that the object had when it was
        read.
        """
        before = status(self.obj).get("conditions")
        if before:
            self.status["conditions"] = copy_json(before)

    def replace_status(self, observed: JsonObject) -> None:
        """Replace the status by Azure's answer; conditions are kept (D1)."""
        conditions: Sequence[JsonObject] = self.status.get("conditions") or []
        self.status = {**observed, "conditions": list(conditions)}

    def drop_observed(self, *, stored: bool = False) -> None:
        """Drop the working status except for its conditions.

        stored: whether to drop the rest of the stored status, too.
        """
        self.status = {
            **({} if stored else copy_json(status(self.obj))),
            "conditions": self.status.get("conditions") or [],
        }

    def fit_status(self) -> list[str]:
        """Drop members of the status until the object fits into the cluster's limit.

        Return the names of dropped members, the largest first.
        """
        room = MAX_OBJECT_BYTES - len(dumps({**self.obj, "status": None}))
        self.status, dropped = fitted(self.status, room)
        return dropped

    def commit(self) -> None:
        """Write the collected metadata, and then the working status if it differs from
        the stored one (R1.16). Raises GoneError, StaleError, ApiError.

        The write of the status is preconditioned on the resource version. If the object
        has changed, the status is computed again for the present object, without
        requests to Azure. If another process has written the status meanwhile, that
        status is kept, because this process may have lost the leadership; the next
        reconcile starts from it.
        """
        self.set_problem(TAKEN_LAST, _why_taken_last())
        self.flush()
        conflicts = 0
        while status(self.stored) == self._known_status:
            try:
                return self._write_status()
            except ConflictError:
                conflicts += 1
                if conflicts > _MOST_CONFLICTS:
                    raise
                self._take(self._live())  # the working status stays
        raise StaleError(
            f"another process has written the status of {self.key}",
            after_seconds=_REPLACED_SECONDS,
        )

    def _show_claim(self, shown: JsonObject) -> None:
        """Copy the record of the claim to the conditions: annotations do not survive a
        replacement of the object, the status does.

        Only with another change, or if there is an older copy: objects of an earlier
        version are not all written at once.
        """
        own = self.annotations
        before = next(filter(is_claim, shown.get("conditions") or ()), None)
        after = claim_condition(own, before, self._clock.now())
        if after is None or after == before:
            return
        others = [one for one in shown.get("conditions") or () if not is_claim(one)]
        # Before Ready, in the order of `merge_ready`: another order would be a change.
        ready = [one for one in others if one.get("type") == READY]
        rest = [one for one in others if one.get("type") != READY]
        shown["conditions"] = [*rest, after, *ready]

    def _write_status(self) -> None:
        if any(map(is_claim, self.status.get("conditions") or ())):
            self._show_claim(self.status)
        if self._status_change() is None:
            return
        self._show_claim(self.status)
        if (change := self._status_change()) is not None:
            known = {
                "uid": uid_of(self.obj),
                "resourceVersion": resource_version(self.obj),
            }
            self._patch({"metadata": known, **change}, subresource="status")
            self._known_status = status(self.stored)

    def _status_change(self) -> JsonObject | None:
        """Return the patch to the working status; None if nothing differs."""
        stored = status(self.stored)
        wanted = self._form.status({**self.obj, "status": self.status})
        # Nearly always nothing differs; comparing the texts is ten times as fast.
        if dumps(stored) == dumps(wanted):
            return None
        return merge_patch({"status": stored}, {"status": wanted})

    def _live(self) -> JsonObject:
        """Return the object from the API server.

        The answer is also given to the cache, so that the next reconcile starts from
        it. Raises GoneError.
        """
        try:
            live = self._client.get(self._resource, self.key)
        except NotFoundError as error:
            raise GoneError(f"{self.key} is gone") from error
        self._cache.record_write(live)
        if uid_of(live) != uid_of(self.obj):
            raise GoneError(f"{self.key} was replaced")
        return live

    def _collect(self, field: str, values: Mapping[str, str | None]) -> None:
        """Apply the changes to the working copy, to be written later."""
        if not values:
            return
        meta = self.obj["metadata"]
        shown = {**(meta.get(field) or {}), **values}
        kept = {name: value for name, value in shown.items() if value is not None}
        self._show({**self.obj, "metadata": {**meta, field: kept}})
        self.unwritten[field] = {**self.unwritten.get(field, {}), **values}

    def flush(self) -> None:
        """Write the collected metadata. Raises GoneError, ApiError; not retried in this
        reconcile.
        """
        if collected := self._collected():
            self._patch({"metadata": {"uid": uid_of(self.obj), **collected}})

    def _collected(self) -> JsonObject:
        collected, self.unwritten = self.unwritten, {}
        self._known_annotations |= collected.get("annotations") or {}
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
            # A reconcile before the event arrives would poll and release the object
            # again.
            self._cache.record_deletion(self.key, uid_of(answer))
        else:
            self._cache.record_write(answer)
        self._take(answer)
        self.is_live = True

    def _send(self, body: JsonObject, subresource: str) -> JsonObject:
        """Send a PATCH; if the shutdown interrupted it and there is time, send it once
        more.

        Without the second try the results of the reconcile, such as an operation's
        token, would be lost with the process. Writing the same values twice does no
        harm.
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

    def _take(self, stored: JsonObject) -> None:
        self._show(self._form.read(stored))
        self.version = self._form.version(self.obj)
        self.stored = stored

    def _show(self, obj: JsonObject) -> None:
        self.obj = obj
        self.annotations = annotations(obj)
        self.arm_id = self.annotations.get(RESOURCE_ID) or ""


def _differ(before: Mapping[str, str], wanted: Mapping[str, str | None]) -> bool:
    return any(before.get(name) != value for name, value in wanted.items())


def _shown(message: str, namespace: str) -> str:
    """Return a message as a condition shows it: without secrets, and no longer than its
    bound, as Kubernetes refuses the whole status otherwise.
    """
    text = printable(redact(message, namespace=namespace), keep="\n")
    return FOREIGN_MESSAGE.cut(text)
