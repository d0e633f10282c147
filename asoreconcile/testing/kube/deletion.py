"""Deletion: finalizers first, then the object, then what hangs on it.

A namespace takes its content along, a CRD its instances, an owner its dependants that
no other living owner holds; each of them through its own finalizers.
"""

from asoreconcile.clock import Clock
from asoreconcile.objects import (
    JsonObject,
    ObjectKey,
    copy_json,
    metadata,
    owner_references,
    spec,
)
from asoreconcile.testing.kube.kinds import CRDS, NAMESPACES, Resource
from asoreconcile.testing.kube.status import conflict, not_found
from asoreconcile.testing.kube.storage import Storage, Table

_FOREGROUND = "foregroundDeletion"
_ORPHAN = "orphan"


class Deletions:
    """Removes objects. Raises StatusError for what it refuses."""

    def __init__(self, storage: Storage, clock: Clock) -> None:
        self._storage = storage
        self._clock = clock

    def delete(
        self,
        resource: Resource,
        key: ObjectKey,
        *,
        preconditions: JsonObject,
        propagation: str = "",
        dry_run: bool = False,
    ) -> tuple[JsonObject, bool]:
        """The object as it is afterwards, and whether it is gone."""
        with self._storage.lock:
            obj = self._storage.get(resource.table, key)
            if obj is None:
                raise not_found(resource.plural, resource.group, key.name)
            for name, wanted in preconditions.items():
                if metadata(obj).get(name) != wanted:
                    raise conflict(
                        resource.plural,
                        resource.group,
                        key.name,
                        f"Precondition failed: {name} is not {wanted}",
                    )
            if dry_run:
                return obj, True
            if propagation == "Orphan":
                self._orphan(obj)
            return self._begin(resource.table, key, obj)

    def finish(self, table: Table, key: ObjectKey, obj: JsonObject) -> None:
        """The last finalizer went: remove the object. Caller holds the lock."""
        last = copy_json(obj)
        metadata(last)["resourceVersion"] = self._storage.next_version()
        self._storage.remove(table, key, last)
        self._follow(table, obj)

    def _begin(
        self, table: Table, key: ObjectKey, obj: JsonObject
    ) -> tuple[JsonObject, bool]:
        """Mark an object as going, or remove it. Caller holds the lock."""
        if self._storage.get(table, key) is not obj:
            return obj, True  # it went with something else meanwhile
        if metadata(obj).get("deletionTimestamp"):
            return obj, False
        if table == NAMESPACES.table:
            return self._begin_namespace(key, obj)
        if not metadata(obj).get("finalizers"):
            self.finish(table, key, obj)
            return obj, True
        return self._mark(table, key, obj), False

    def _mark(
        self, table: Table, key: ObjectKey, obj: JsonObject, **fields: JsonObject
    ) -> JsonObject:
        going = {**copy_json(obj), **fields}
        meta = metadata(going)
        meta["deletionTimestamp"] = self._clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        meta["deletionGracePeriodSeconds"] = 0
        meta["generation"] = meta.get("generation", 0) + 1
        meta["resourceVersion"] = self._storage.next_version()
        self._storage.put(table, key, going)
        return going

    def _begin_namespace(
        self, key: ObjectKey, obj: JsonObject
    ) -> tuple[JsonObject, bool]:
        going = self._mark(NAMESPACES.table, key, obj, status={"phase": "Terminating"})
        for table in self._storage.tables():
            for inner, content in self._storage.items(table):
                if inner.namespace == key.name:
                    self._begin(table, inner, content)
        self._finish_namespace_if_empty(key.name)
        return going, False

    def _finish_namespace_if_empty(self, name: str) -> None:
        key = ObjectKey("", name)
        obj = self._storage.get(NAMESPACES.table, key)
        if obj is None or not metadata(obj).get("deletionTimestamp"):
            return
        for table in self._storage.tables():
            if any(k.namespace == name for k, _ in self._storage.items(table)):
                return
        self.finish(NAMESPACES.table, key, obj)

    def _follow(self, table: Table, gone: JsonObject) -> None:
        """What goes because something else went. Caller holds the lock."""
        if table == CRDS.table:
            content = spec(gone)
            instances = Table(content["group"], content["names"]["plural"])
            for key, obj in self._storage.items(instances):
                self.finish(instances, key, obj)
        uid = metadata(gone)["uid"]
        for other in self._storage.tables():
            for key, obj in self._storage.items(other):
                owners = owner_references(obj)
                if any(o.get("uid") == uid for o in owners) and not any(
                    self._lives(str(o.get("uid"))) for o in owners
                ):
                    self._begin(other, key, obj)
        if namespace := metadata(gone).get("namespace"):
            self._finish_namespace_if_empty(namespace)

    def _lives(self, uid: str) -> bool:
        return any(
            metadata(obj).get("uid") == uid
            for table in self._storage.tables()
            for _, obj in self._storage.items(table)
        )

    def _orphan(self, obj: JsonObject) -> None:
        """Let dependants stay: they name this owner no more."""
        uid = metadata(obj)["uid"]
        for table in self._storage.tables():
            for key, dependant in self._storage.items(table):
                owners = owner_references(dependant)
                left = [o for o in owners if o.get("uid") != uid]
                if len(left) == len(owners):
                    continue
                freed = copy_json(dependant)
                meta = metadata(freed)
                meta["ownerReferences"] = left
                if not left:
                    del meta["ownerReferences"]
                meta["resourceVersion"] = self._storage.next_version()
                self._storage.put(table, key, freed)
