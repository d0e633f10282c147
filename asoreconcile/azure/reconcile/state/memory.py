"""The process's memory of each object, never stored.

Each object has one `ObjectMemory`, which is dropped when the object leaves the cache.
Losing it, as in a restart, costs one PUT, some reads or an event; no decision that must
outlive the process depends on it.
"""

import threading
from typing import Any, TypeVar, cast

import attrs

from asoreconcile.azure.arm.outcomes import PollState
from asoreconcile.azure.reconcile.model.drift_baseline import (
    AcceptedPut,
)
from asoreconcile.azure.reconcile.model.put_budget import PutBudget
from asoreconcile.azure.reconcile.state.export_cache import ExportTry
from asoreconcile.base.objects import JsonObject, ObjectKey, resource_version

# Long enough for a worker to become free, and shorter than another process needs to
# delete the resource in Azure and release the object.
AS_WRITTEN_SECONDS = 0.25


@attrs.define(eq=False)
class RecentWrites:
    """The answer to this process's last write of an object.

    Only the object's reconcile uses it. at: time at which the answer had come, in
    `Clock.monotonic` seconds; None if nothing is recorded.
    """

    resource_version: str = ""
    at: float | None = None

    def note(self, obj: JsonObject, *, at: float) -> None:
        """Remember an own write.

        obj: the API server's answer, received by `at` (`Clock.monotonic`
        seconds).
        """
        self.resource_version, self.at = resource_version(obj), at

    def is_as_written(self, obj: JsonObject, *, now: float) -> bool:
        """Return whether an object is the answer to a recent write of this process, so
        that a GET would show nothing new.
        """
        return (
            self.at is not None
            and now - self.at <= AS_WRITTEN_SECONDS
            and self.resource_version == resource_version(obj)
        )

    def end(self) -> bool:
        """Forget the recorded write at the end of the next reconcile. Return whether a
        write was recorded.
        """
        was_noted, self.at = self.at is not None, None
        return was_noted


# Shared by all settled objects.
_NO_POLLS = PollState()
_WHOLE_BUDGET = PutBudget()

Part = TypeVar("Part")


_EMPTY: dict[Any, Any] = {}


def _empty(kind: Any) -> Any:
    """Return the empty part of a class, shared by all objects."""
    if kind not in _EMPTY:
        _EMPTY[kind] = kind()
    return _EMPTY[kind]


@attrs.define(eq=False)
class ObjectMemory:
    """The state of one object that is not in the cluster.

    Only the object's reconcile uses it, of which there is never more than one at a
    time; only `content` is read by other threads.

    uid: uid of the object; another object of the same name has another memory.
    accepted: the PUT that Azure accepted last, until the object is Ready. poll: state
    of the polls of its running operation. sub_polls: the same for its extensions'
    operations, by name. recent_writes: the last write of this process.
    failures: consecutive failed reconciles, for the back-off.
    attempts: consecutive failed reconciles, for events and logs. failing_since: the
    time of the first of them.
    failed_operations: consecutive operations that Azure accepted and that failed;
    another accepted PUT does not reset the count.
    was_put: whether this process has sent a PUT. knows_answers: whether Azure has
    refused each PUT that was sent since the claim; False after a restart.
    credential: `namespace/name` of the Secret whose credential was used last.
    connection: the connection to Azure that was used last, for a deletion after the
    Secret of the credential is gone; None before the first use.
    unknown_values: unknown values of annotations that were reported already.
    content: hash of the content of the credential's Secret; "" if no Secret is used.
    read_at: time of the last read of the resource, in monotonic seconds; None before
    the first.
    lifted_at: time at which a value of `reconcile-at` has last lifted a wait, in
    monotonic seconds; None if none has.
    export_try: the last request for values that are exported to Secrets.
    repeated_exports: exports that were repeated because another writer has deleted or
    changed their Secrets.

    Each policy has a part of its own, which its module defines (`part`, `keep`).
    """

    uid: str
    accepted: AcceptedPut | None = None
    poll: PollState = _NO_POLLS
    sub_polls: dict[str, PollState] = attrs.field(factory=dict)
    recent_writes: RecentWrites = attrs.field(factory=RecentWrites)
    failures: int = 0
    failed_operations: int = 0
    was_put: bool = False
    knows_answers: bool = False
    _failed_operation_generation: int = 0
    attempts: int = 0
    failing_since: float = 0.0
    credential: str = ""
    connection: object | None = None
    unknown_values: frozenset[str] = frozenset()
    content: str = ""
    read_at: float | None = None
    lifted_at: float | None = None
    export_try: ExportTry | None = None
    repeated_exports: PutBudget = _WHOLE_BUDGET
    _parts: tuple[Any, ...] = ()

    def part(self, kind: type[Part]) -> Part:
        """Return the part of a policy: the value that `keep` was last called with, else
        the empty one.

        kind: class of the part, frozen, whose call without arguments makes an empty
        one.
        """
        for one in self._parts:
            if type(one) is kind:
                return one
        return cast("Part", _empty(kind))

    def keep(self, part: object) -> None:
        """Keep the part of a policy in place of the former one. An empty part takes no
        memory.
        """
        kind = type(part)
        others = tuple(one for one in self._parts if type(one) is not kind)
        self._parts = others if part == _empty(kind) else (*others, part)

    def record_failed_operation(self, generation: int) -> None:
        """Count a failed operation. generation: generation of its spec; another
        generation starts a new count.
        """
        self.failed_operations = 1 + (
            self.failed_operations
            if generation == self._failed_operation_generation
            else 0
        )
        self._failed_operation_generation = generation

    def record_failure(self, now: float) -> float:
        """Count one more failure, and return the seconds since the first one."""
        if not self.attempts:
            self.failing_since = now
        self.attempts += 1
        return now - self.failing_since

    def reset_failures(self) -> None:
        """Set the counts of failures to zero after a reconcile that did not fail. Rule:
        R4.3.
        """
        self.failures = 0
        self.attempts = 0

    def settled(self) -> None:
        """Drop the state that was needed until the object became Ready."""
        self.accepted = None
        self.failed_operations = 0


class ObjectMemories:
    """The memories of one kind's objects. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_key: dict[ObjectKey, ObjectMemory] = {}

    def of(self, key: ObjectKey, uid: str) -> ObjectMemory:
        """Return an object's memory; a new memory if the object has no memory, or if
        the memory belongs to an object with another uid.
        """
        with self._lock:
            memory = self._by_key.get(key)
            # An object of that name was deleted and another one created: nothing
            # carries over.
            if memory is None or memory.uid != uid:
                memory = self._by_key[key] = ObjectMemory(uid)
            return memory

    def forget(self, key: ObjectKey) -> None:
        """Forget an object that is gone or was released."""
        with self._lock:
            self._by_key.pop(key, None)

    def has_used(self, key: ObjectKey, content: str) -> bool:
        """Return whether the object's last or running reconcile has used this content
        of the credential's Secret.

        If not, the object must be reconciled.
        """
        with self._lock:
            memory = self._by_key.get(key)
        return bool(content) and memory is not None and memory.content == content
