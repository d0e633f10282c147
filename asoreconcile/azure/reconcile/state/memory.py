"""The process's memory of each object, never stored.

Each object has one `ObjectMemory`, which is dropped when the object leaves the cache
for whatever reason. Losing it, as in a restart, costs one PUT, some reads or an event;
no decision that must outlive the process depends on it.
"""

import threading

import attrs

from asoreconcile.azure.arm.outcomes import PollState
from asoreconcile.azure.reconcile.model.drift_baseline import (
    AcceptedPut,
    RepairAttempts,
)
from asoreconcile.azure.reconcile.model.put_budget import PutBudget
from asoreconcile.azure.reconcile.state.export_cache import ExportTry
from asoreconcile.base.objects import JsonObject, ObjectKey, resource_version

# Long enough for a worker to become free, and shorter than another process needs to
# delete the resource in Azure and release the object.
AS_WRITTEN_SECONDS = 0.25


@attrs.define(eq=False)
class RecentWrites:
    """The answer to our last write of an object. Only for the object's reconcile.

    at: when the answer had come (`Clock.monotonic` seconds); None: nothing is recorded.
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
        """Return whether an object is the answer to our own recent write, so that a
        GET would show nothing new.
        """
        return (
            self.at is not None
            and now - self.at <= AS_WRITTEN_SECONDS
            and self.resource_version == resource_version(obj)
        )

    def end(self) -> bool:
        """Forget the write after the next reconcile; whether one was recorded."""
        was_noted, self.at = self.at is not None, None
        return was_noted


@attrs.define
class FailureStreak:
    """Consecutive failed reconciles. since: the time of the first, in monotonic
    seconds.
    """

    attempts: int = 0
    since: float = 0.0

    def record_failure(self, now: float) -> float:
        """Count one more failure; seconds since the first one."""
        if not self.attempts:
            self.since = now
        self.attempts += 1
        return now - self.since


# Shared by all settled objects.
_NO_POLLS = PollState()
_NO_ATTEMPTS = RepairAttempts()
_WHOLE_BUDGET = PutBudget()


@attrs.define(eq=False)
class ObjectMemory:
    """The state of one object that is not in the cluster.

    Only the object's reconcile uses it, of which there is never more than one at a
    time; only `content` is read by other threads.

    uid: the object's; another object of the same name has a memory of its own.
    accepted: the PUT that Azure accepted last, until the object settled.
    poll: of its running operation. sub_polls: of its extensions' operations, by name.
    recent_writes: our own write of a moment ago.
    repair_attempts: differences that PUTs were sent for.
    failures: consecutive failed reconciles, for the back-off.
    failure_streak: the same, for events and logs.
    failed_operations: consecutive operations that Azure accepted and that failed;
    another accepted PUT does not reset the count.
    was_put: whether this process has sent a PUT. knows_answers: whether Azure has
    refused each PUT that was sent since the claim; False after a restart.
    precondition_failures: consecutive PUTs that Azure refused because the resource had
    changed since it was read.
    perhaps_gone_since: when a DELETE was first answered by a 404 with an unknown code,
    in monotonic seconds; None if the last DELETE was answered otherwise.
    absent_since: when a read first found a resource gone that was there before, in
    monotonic seconds; None if the last read found it, or nothing was to be confirmed.
    waiting_since: when the object began to wait for objects that its spec refers to, in
    monotonic seconds; None if it does not wait.
    credential: `namespace/name` of the Secret whose credential was used last.
    connection: to Azure, as used last: a deletion needs it also after the Secret of
    its credential is gone. None before its first use.
    put_budget: of PUTs that follow a success.
    unknown_values: unknown values of annotations that were reported already.
    was_looked_at: whether this process has reconciled it before.
    content: a hash of that Secret's content; "" while none is used.
    said_replaced_at: when an event last said that a PUT replaces foreign values, in
    monotonic seconds.
    read_at: when the resource was last read, in monotonic seconds; None before.
    export_try: the last request for values that are exported to Secrets.
    """

    uid: str
    accepted: AcceptedPut | None = None
    poll: PollState = _NO_POLLS
    sub_polls: dict[str, PollState] = attrs.field(factory=dict)
    recent_writes: RecentWrites = attrs.field(factory=RecentWrites)
    repair_attempts: RepairAttempts = _NO_ATTEMPTS
    failures: int = 0
    failed_operations: int = 0
    was_put: bool = False
    knows_answers: bool = False
    precondition_failures: int = 0
    _failed_operation_generation: int = 0
    failure_streak: FailureStreak = attrs.field(factory=FailureStreak)
    perhaps_gone_since: float | None = None
    absent_since: float | None = None
    waiting_since: float | None = None
    credential: str = ""
    connection: object | None = None
    was_looked_at: bool = False
    put_budget: PutBudget = _WHOLE_BUDGET
    unknown_values: frozenset[str] = frozenset()
    content: str = ""
    read_at: float | None = None
    export_try: ExportTry | None = None
    said_replaced_at: float | None = None

    def record_failed_operation(self, generation: int) -> None:
        """Count a failed operation; generation: of its spec. Another generation starts
        a new count.
        """
        self.failed_operations = 1 + (
            self.failed_operations
            if generation == self._failed_operation_generation
            else 0
        )
        self._failed_operation_generation = generation

    def reset_failures(self) -> None:
        """Count failures from zero: the last reconcile did not fail. Rule: R4.3."""
        self.failures = 0
        self.failure_streak.attempts = 0

    def settled(self) -> None:
        """The object is Ready: drop the state of the way there."""
        self.accepted = None
        self.failed_operations = 0


class ObjectMemories:
    """The memories of one kind's objects. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_key: dict[ObjectKey, ObjectMemory] = {}

    def of(self, key: ObjectKey, uid: str) -> ObjectMemory:
        """An object's memory, new if there is none, or one of another object."""
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
        """Return whether the object's last or running reconcile used this content of
        its credential's Secret. If not, a reconcile is due.
        """
        with self._lock:
            memory = self._by_key.get(key)
        return bool(content) and memory is not None and memory.content == content

    def __len__(self) -> int:
        with self._lock:
            return len(self._by_key)

    def __contains__(self, key: object) -> bool:
        with self._lock:
            return key in self._by_key
