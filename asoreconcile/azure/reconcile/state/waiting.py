"""Objects that wait for another object of the same Azure id to change or be deleted.

The record is in memory only: after a restart each object finds out again which one it
waits for.
"""

from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.state.dependency_index import (
    DependencyIndex,
    Relation,
)


class Waiting(DependencyIndex):
    """The objects that wait for another object of the same Azure id. Safe from any
    thread.
    """

    def note(self, younger: ObjectReference, older: ObjectReference) -> None:
        """Record that one object waits for another. An object waits for one other at a
        time.
        """
        self.update(younger, {older: Relation.SAME_ID})

    def forget(self, younger: ObjectReference) -> None:
        """Record that an object no longer waits."""
        if younger in self._targets:
            self.update(younger, {})

    def behind(self, older: ObjectReference) -> list[ObjectReference]:
        """Return the objects that wait for an object."""
        return [node for node, _ in self.of(older)]

    def awaited_in(self, namespace: str) -> list[ObjectReference]:
        """Return the objects of a namespace that others wait for."""
        with self._lock:
            return [one for one in self._dependents if one.key.namespace == namespace]
