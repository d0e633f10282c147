"""What the process remembers of each object, in memory only.

One `ObjectMemory` an object, and one way to forget it: when it leaves the cache,
however that came about. Losing any of it, as a restart does, costs one PUT, some reads
or an event; nothing is decided by it that must outlive the process.
"""

import threading

import attrs

from asoreconcile.arm.outcomes import PollState
from asoreconcile.azure.deferred_note import DeferredNote
from asoreconcile.azure.last_look import LastLook
from asoreconcile.azure.put_ledger import PutRecord
from asoreconcile.azure.recent_writes import RecentWrites
from asoreconcile.azure.repair_attempts import RepairAttempts
from asoreconcile.objects import ObjectKey


@attrs.define
class FailureStreak:
    """Reconciles that failed, one after another. since: when the first did, in
    monotonic seconds.
    """

    attempts: int = 0
    since: float = 0.0

    def record_failure(self, now: float) -> float:
        """One more failed; for how many seconds it has been like that."""
        if not self.attempts:
            self.since = now
        self.attempts += 1
        return now - self.since

    def reset(self) -> None:
        """Forget the failed attempts: the next failure is the first of a new series."""
        self.attempts = 0


# What every settled object has: once for all of them.
_NO_POLLS = PollState()
_NO_ATTEMPTS = RepairAttempts()


@attrs.define(eq=False)
class ObjectMemory:
    """What is known of one object beside what the cluster keeps.

    Its reconciles use it, of which there is never more than one at a time; only
    `content` is read by other threads.

    uid: whose it is; another object of the same name has a memory of its own.
    accepted: the PUT that Azure accepted last, until the object settled.
    poll: of its running operation. sub_polls: of its extensions' operations, by name.
    recent_writes: our own write of a moment ago.
    repair_attempts: differences that were put for.
    failures: reconciles that failed in a row, for the back-off.
    failure_streak: the same, for who reads of them.
    failed_operations: operations that Azure accepted and that failed, in a row; a PUT
    that is accepted once more does not end the row.
    precondition_failures: PUTs in a row that Azure refused as the resource had changed
    since it was read.
    credential: `namespace/name` of the Secret whose credential was used last.
    unknown_values: values of annotations that are not known, reported already.
    was_looked_at: whether this process has looked at it before.
    content: a hash of that Secret's content; "" while none is used.
    last_look: at the resource, for syncs by lists; None after a PUT, until it is read.
    deferred_note: of the last PUT, to be written after Ready was; None when it is.
    """

    uid: str
    accepted: PutRecord | None = None
    poll: PollState = _NO_POLLS
    sub_polls: dict[str, PollState] = attrs.field(factory=dict)
    recent_writes: RecentWrites = attrs.field(factory=RecentWrites)
    repair_attempts: RepairAttempts = _NO_ATTEMPTS
    failures: int = 0
    failed_operations: int = 0
    precondition_failures: int = 0
    _failed_operation_generation: int = 0
    failure_streak: FailureStreak = attrs.field(factory=FailureStreak)
    credential: str = ""
    was_looked_at: bool = False
    unknown_values: frozenset[str] = frozenset()
    content: str = ""
    last_look: LastLook | None = None
    deferred_note: DeferredNote | None = None

    def record_failed_operation(self, generation: int) -> None:
        """An operation came to nothing; generation: of the spec that it was made from,
        as another one begins to count again.
        """
        self.failed_operations = 1 + (
            self.failed_operations
            if generation == self._failed_operation_generation
            else 0
        )
        self._failed_operation_generation = generation

    def settled(self) -> None:
        """The object is as wanted: nothing is left of the way there."""
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
            # An object of that name was deleted and another one made: nothing carries
            # over.
            if memory is None or memory.uid != uid:
                memory = self._by_key[key] = ObjectMemory(uid)
            return memory

    def forget(self, key: ObjectKey) -> None:
        """Forget an object that is gone or was released."""
        with self._lock:
            self._by_key.pop(key, None)

    def has_used(self, key: ObjectKey, content: str) -> bool:
        """Whether the last reconcile of an object used this content of its credential's
        Secret, or the one that runs does. Another is worth a reconcile.
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
