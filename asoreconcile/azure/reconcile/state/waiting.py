"""Objects that wait for another object of the same Azure id to change or be deleted.

In memory: after a restart each object finds out again which one it waits for.
"""

import threading
from collections import defaultdict

from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.base.objects import GroupKind


class Waiting:
    """The objects that wait for another one. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._older: dict[ObjectReference, ObjectReference] = {}
        self._younger: defaultdict[ObjectReference, set[ObjectReference]] = defaultdict(
            set
        )

    def note(self, younger: ObjectReference, older: ObjectReference) -> None:
        """Record that one object waits for another, one at a time."""
        with self._lock:
            # Replaces an earlier wait: an object waits for one at a time.
            self._drop(younger)
            self._older[younger] = older
            self._younger[older].add(younger)

    def forget(self, younger: ObjectReference) -> None:
        """Record that an object no longer waits."""
        with self._lock:
            self._drop(younger)

    def forget_kind(self, group_kind: GroupKind) -> None:
        """A kind is no longer watched: none of its objects waits."""
        with self._lock:
            for younger in [n for n in self._older if n.group_kind == group_kind]:
                self._drop(younger)

    def behind(self, older: ObjectReference) -> list[ObjectReference]:
        """Return the objects that wait for an object."""
        with self._lock:
            return [*self._younger.get(older, ())]

    def awaited_in(self, namespace: str) -> list[ObjectReference]:
        """Return the objects of a namespace that others wait for."""
        with self._lock:
            return [node for node in self._younger if node.key.namespace == namespace]

    def _drop(self, younger: ObjectReference) -> None:
        older = self._older.pop(younger, None)
        if older is not None:
            self._younger[older].discard(younger)
            if not self._younger[older]:
                del self._younger[older]
