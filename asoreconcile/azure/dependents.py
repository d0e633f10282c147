"""Who waits for what: which objects name an owner, a reference, a Secret, a ConfigMap.

An index, kept from the watch events of all kinds, so that a change wakes exactly the
objects that name what changed (D13) without scanning anything.
"""

import threading
from collections.abc import Mapping
from enum import Enum

from asoreconcile.azure.export import destinations
from asoreconcile.azure.nodes import CONFIG_MAP, SECRET, Node
from asoreconcile.azure.owner import owner_target
from asoreconcile.catalogue.inputs import inputs_of
from asoreconcile.catalogue.kinds import KindVersion
from asoreconcile.objects import GroupKind, JsonObject, ObjectKey, key_of, spec


class Relation(Enum):
    """How an object depends on another."""

    OWNER = "owner"
    INPUT = "input"  # a reference, a Secret's or ConfigMap's value
    EXPORT = "export"  # a Secret or ConfigMap that the object writes


class Dependents:
    """Edges between objects, readable from both ends. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._targets: dict[Node, Mapping[Node, Relation]] = {}
        self._dependents: dict[Node, dict[Node, Relation]] = {}

    def update(self, dependent: Node, targets: Mapping[Node, Relation]) -> None:
        """Say what an object depends on now; empty when it is gone."""
        with self._lock:
            self._drop(dependent)
            for target, relation in targets.items():
                self._dependents.setdefault(target, {})[dependent] = relation
            if targets:
                self._targets[dependent] = targets

    def forget_kind(self, group_kind: GroupKind) -> None:
        """A kind is watched no more: drop what its objects depend on."""
        with self._lock:
            for node in [n for n in self._targets if n.group_kind == group_kind]:
                self._drop(node)

    def of(self, target: Node) -> list[tuple[Node, Relation]]:
        """The objects that depend on a target, and how."""
        with self._lock:
            return list(self._dependents.get(target, {}).items())

    def targets(self, dependent: Node) -> list[Node]:
        """What an object depends on."""
        with self._lock:
            return list(self._targets.get(dependent, ()))

    def _drop(self, dependent: Node) -> None:
        """The caller holds the lock."""
        for target in self._targets.pop(dependent, ()):
            remaining = self._dependents[target]
            del remaining[dependent]
            if not remaining:
                del self._dependents[target]


def targets_of(version: KindVersion, obj: JsonObject) -> dict[Node, Relation]:
    """What an object names in its spec; all in its own namespace. Pure."""
    namespace = key_of(obj).namespace
    found: dict[Node, Relation] = {}
    for kind, name in destinations(obj):
        found[Node(GroupKind("", kind), ObjectKey(namespace, name))] = Relation.EXPORT
    for one in inputs_of(version, spec(obj)):
        node = _named(one.kind, one.value, namespace)
        if node is not None:
            found[node] = Relation.INPUT
    owner = owner_target(version, obj)
    if owner is not None:
        name = str(spec(obj)["owner"]["name"])
        found[Node(owner, ObjectKey(namespace, name))] = Relation.OWNER
    return found


def _named(kind: str, value: JsonObject, namespace: str) -> Node | None:
    name = value.get("name")
    if not name:
        return None
    key = ObjectKey(namespace, str(name))
    match kind:
        case "secret" | "secret-map":
            return Node(SECRET, key)
        case "config-map":
            return Node(CONFIG_MAP, key)
        case _:
            group_kind = GroupKind(str(value.get("group")), str(value.get("kind")))
            return Node(group_kind, key)
