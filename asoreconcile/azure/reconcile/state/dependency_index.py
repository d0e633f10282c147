"""An index of the objects that name an owner, a reference, a Secret or a ConfigMap.

The watch events of all kinds keep the index up to date. So a changed object wakes
exactly the objects that name it (D13), without a scan.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum

import attrs

from asoreconcile.azure.catalogue.inputs import inputs_of
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.reconcile.model.export_targets import destinations
from asoreconcile.azure.reconcile.model.object_reference import (
    CONFIG_MAP,
    SECRET,
    ObjectReference,
)
from asoreconcile.azure.reconcile.model.owner import owner_target
from asoreconcile.azure.reconcile.state.export_cache import recorded_targets
from asoreconcile.base.objects import GroupKind, JsonObject, ObjectKey, key_of, spec


class Relation(Enum):
    """The way in which an object depends on another."""

    OWNER = "owner"
    INPUT = "input"  # a reference, a Secret's or ConfigMap's value
    EXPORT = "export"  # a Secret or ConfigMap that the object writes
    SAME_ID = "same id"  # an object of the same Azure id (`waiting`)


_Step = tuple[ObjectReference, ...]
_Steps = Callable[[ObjectReference], Iterable[_Step]]


@attrs.frozen
class _Dependents:
    """The dependents of a target, and their relation."""

    target: ObjectReference
    relations: dict[ObjectReference, Relation] = attrs.field(factory=dict)


def named_by(index: "DependencyIndex", owner: ObjectReference) -> list[ObjectReference]:
    """Return the objects whose spec names an object as their owner."""
    return [node for node, how in index.of(owner) if how is Relation.OWNER]


class DependencyIndex:
    """Edges between objects, readable from both ends. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Each target is kept once, however many objects name it: added with the first
        # of them, removed with the last.
        self._targets: dict[ObjectReference, tuple[ObjectReference, ...]] = {}
        self._dependents: dict[ObjectReference, _Dependents] = {}

    def update(
        self, dependent: ObjectReference, targets: Mapping[ObjectReference, Relation]
    ) -> None:
        """Replace the targets of an object. targets: empty if the object is gone."""
        with self._lock:
            # First: targets that it no longer names must not wake it.
            self._drop(dependent)
            named = [
                self._named(dependent, target, relation)
                for target, relation in targets.items()
            ]
            if named:
                self._targets[dependent] = tuple(named)

    def forget_kind(self, group_kind: GroupKind) -> None:
        """Drop the targets of a kind's objects, because the kind is no longer
        watched.
        """
        with self._lock:
            for node in [n for n in self._targets if n.group_kind == group_kind]:
                self._drop(node)

    def of(self, target: ObjectReference) -> list[tuple[ObjectReference, Relation]]:
        """Return the objects that depend on a target, and how."""
        with self._lock:
            found = self._dependents.get(target)
            return [] if found is None else list(found.relations.items())

    def targets(self, dependent: ObjectReference) -> list[ObjectReference]:
        """Return the targets of an object: owner, references, Secrets, ConfigMaps, its
        exports.
        """
        with self._lock:
            return list(self._targets.get(dependent, ()))

    def export_loop(self, start: ObjectReference) -> list[ObjectReference]:
        """Return the shortest cycle from an object through exports and the objects that
        read them, back to the object; empty if no cycle exists.
        """
        with self._lock:
            return self._way(start, start, self._readers)

    def leads_to(self, start: ObjectReference, goal: ObjectReference) -> bool:
        """Return whether an object depends on another, directly or through others.

        An object depends on its owner, on the objects it refers to, and on the objects
        that write the Secrets and ConfigMaps it reads.
        """
        with self._lock:
            return bool(self._way(start, goal, self._needed_by))

    def _way(
        self, start: ObjectReference, goal: ObjectReference, steps: _Steps
    ) -> list[ObjectReference]:
        """Return the shortest path to an object; empty if no path exists.

        steps: function that returns the next objects on a path. The caller holds the
        lock.
        """
        ways, seen = deque([[start]]), {start}
        while ways:
            way = ways.popleft()
            for step in steps(way[-1]):
                if step[-1] == goal:
                    return [*way, *step]
                if step[-1] not in seen:
                    seen.add(step[-1])
                    ways.append([*way, *step])
        return []

    def _needed_by(self, dependent: ObjectReference) -> Iterator[_Step]:
        """Return each target that an object does not write itself, and its writers.

        The caller holds the lock.
        """
        for target in self._targets.get(dependent, ()):
            relations = self._dependents[target].relations
            if relations[dependent] is not Relation.EXPORT:
                yield (target,)
                for writer, relation in relations.items():
                    if relation is Relation.EXPORT:
                        yield (writer,)

    def _readers(self, writer: ObjectReference) -> Iterator[_Step]:
        """Yield each export of an object, with each object that reads the export. The
        caller holds the lock.
        """
        for target in self._targets.get(writer, ()):
            relations = self._dependents[target].relations
            if relations[writer] is Relation.EXPORT:
                for reader, relation in relations.items():
                    if relation is Relation.INPUT:
                        yield target, reader

    def _named(
        self, dependent: ObjectReference, target: ObjectReference, relation: Relation
    ) -> ObjectReference:
        """Record a dependency and return the shared copy of its target.

        The caller holds the lock.
        """
        found = self._dependents.get(target)
        if found is None:
            found = self._dependents[target] = _Dependents(target)
        found.relations[dependent] = relation
        return found.target

    def _drop(self, dependent: ObjectReference) -> None:
        """The caller holds the lock."""
        for target in self._targets.pop(dependent, ()):
            remaining = self._dependents[target].relations
            del remaining[dependent]
            if not remaining:
                del self._dependents[target]


def targets_of(
    version: KindVersion, obj: JsonObject
) -> dict[ObjectReference, Relation]:
    """Return the targets named in an object's spec, and those that its exports have
    written; all in its own namespace. Pure.
    """
    namespace = key_of(obj).namespace
    found: dict[ObjectReference, Relation] = {}
    for kind, name in destinations(obj) | recorded_targets(obj):
        found[ObjectReference(GroupKind("", kind), ObjectKey(namespace, name))] = (
            Relation.EXPORT
        )
    for one in inputs_of(version, spec(obj)):
        node = _named(one.kind, one.value, namespace)
        if node is not None:
            found[node] = Relation.INPUT
    owner = owner_target(version, obj)
    if owner is not None:
        found[owner] = Relation.OWNER
    return found


def _named(kind: str, value: JsonObject, namespace: str) -> ObjectReference | None:
    name = value.get("name")
    if not name:
        return None
    key = ObjectKey(namespace, str(name))
    match kind:
        case "secret" | "secret-map":
            return ObjectReference(SECRET, key)
        case "config-map":
            return ObjectReference(CONFIG_MAP, key)
        case _:
            group_kind = GroupKind(str(value.get("group")), str(value.get("kind")))
            return ObjectReference(group_kind, key)
