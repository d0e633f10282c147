"""Deletions: finalizers first, then the object, then its dependants.

A namespace is deleted with its contents, a CRD with its instances, an owner with its
dependants. The API server, its namespace controller and its garbage collector do the
same, but not at once. For functions whose name begins with `_`, the caller holds the
storage's lock.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta

from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import (
    JsonObject,
    ObjectKey,
    copy_json,
    finalizers,
    is_deleting,
    metadata,
    owner_references,
    spec,
    uid_of,
)
from asoreconcile.testing.kube.admission.webhooks import AdmissionWrite, Gate
from asoreconcile.testing.kube.crds.definitions import terminating
from asoreconcile.testing.kube.kinds.resources import CRDS, NAMESPACES, RestResource
from asoreconcile.testing.kube.store.storage import Storage, StorageTable
from asoreconcile.testing.kube.wire.status import (
    StatusError,
    conflict,
    forbidden,
    not_found,
)
from asoreconcile.testing.kube.writing.options import DeleteOptions

_FINALIZERS = {"Foreground": "foregroundDeletion", "Orphan": "orphan", "Background": ""}
_CRD_FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
_PODS = StorageTable("", "pods")
_GRACE_SECONDS = 30
# The server's NamespaceLifecycle admission refuses to delete these three for every
# user. kube-node-lease, which the server also creates, may be deleted.
_KEPT_NAMESPACES = ("default", "kube-system", "kube-public")
_PRECONDITIONS = {
    "uid": ("UID", "deleted and then recreated"),
    "resourceVersion": ("ResourceVersion", "modified"),
}


class Deletions:
    """The deletion of objects. Raises StatusError to refuse. Safe to use from any
    thread.
    """

    def __init__(self, storage: Storage, clock: Clock, gate: Gate) -> None:
        """Make the deletions.

        gate: called before a client's deletion, not before the deletions that follow
        from it.
        """
        self._storage = storage
        self._clock = clock
        self._gate = gate

    def delete(
        self,
        resource: RestResource,
        key: ObjectKey,
        options: DeleteOptions,
    ) -> tuple[JsonObject, bool]:
        """Delete an object; return its new state, and whether it is gone."""
        before = self._storage.get(resource.table, key)
        if before is not None:
            # This is outside the lock, because a webhook may call this server before it
            # answers.
            # again below.
            self._gate.admit(_asked(resource, key, before, options))
        with self._storage.lock:
            obj = self._storage.get(resource.table, key)
            if obj is None:
                raise not_found(resource.plural, resource.group, key.name)
            _check_preconditions(resource, obj, options.preconditions)
            if resource is NAMESPACES and key.name in _KEPT_NAMESPACES:
                why = "this namespace may not be deleted"
                raise forbidden(resource.plural, resource.group, key.name, why)
            if options.dry_run:
                held = _kept_by(resource.table, obj, options.propagation)
                if not held and resource is not NAMESPACES:
                    return obj, True
                return self._going(resource.table, obj, held), False
            return self._begin(
                resource.table, key, obj, options.propagation, options.grace_seconds
            )

    def may_finish(self, table: StorageTable, key: ObjectKey) -> bool:
        """Return whether only its finalizers keep an object."""
        if table == NAMESPACES.table:
            return not any(self._content_of(key.name))
        # A kubelet reports the end of a Pod with a grace period by another deletion.
        obj = self._storage.get(table, key)
        return table != _PODS or obj is None or not _ends_with_grace(obj)

    def finish(self, table: StorageTable, key: ObjectKey, obj: JsonObject) -> None:
        """Remove an object whose last finalizer is gone. The caller holds the lock."""
        # Watches get the state before, with its finalizers.
        last = copy_json(self._storage.get(table, key) or obj)
        metadata(last)["resourceVersion"] = self._storage.next_version()
        self._storage.remove(table, key, last)
        self._collect(uid_of(last))
        for owner in owner_references(last):
            self._go_on(str(owner.get("uid")))
        if key.namespace:
            self._finish_namespace_if_empty(key.namespace)
        self._finish_crd_if_empty(table)

    def collect_if_abandoned(self, table: StorageTable, key: ObjectKey) -> None:
        """Delete an object if none of its owners exists. The caller holds the lock."""
        obj = self._storage.get(table, key)
        owners = owner_references(obj or {})
        if obj is None or not owners or is_deleting(obj):
            return
        if all(self._storage.place_of(str(o.get("uid"))) is None for o in owners):
            self._begin(table, key, obj)

    def _begin(
        self,
        table: StorageTable,
        key: ObjectKey,
        obj: JsonObject,
        propagation: str = "",
        grace_seconds: int | None = None,
    ) -> tuple[JsonObject, bool]:
        """Mark an object as being deleted, or remove it."""
        if self._storage.get(table, key) is not obj:
            return obj, True  # it was deleted together with another object
        held = _kept_by(table, obj, propagation)
        grace = _grace(table, obj, grace_seconds)
        ends_now = not grace and _ends_with_grace(obj)
        if is_deleting(obj) and held == finalizers(obj) and not ends_now:
            return obj, False
        # A Pod without finalizers also stays until its kubelet has stopped it. The
        # second DELETE, with grace 0, comes from the kubelet.
        if grace and not is_deleting(obj):
            return self._put(table, key, self._going(table, obj, held, grace)), False
        if not held and table != NAMESPACES.table:
            self.finish(table, key, obj)
            return obj, True
        going = self._put(table, key, self._going(table, obj, held))
        if table == NAMESPACES.table:
            self._empty(list(self._content_of(key.name)))
            self._finish_namespace_if_empty(key.name)
        elif table == CRDS.table:
            self._empty([(_instances(obj), k) for k in self._keys(_instances(obj))])
            self._finish_crd_if_empty(_instances(obj))
        self._go_on(uid_of(going))
        return going, False

    def _going(
        self, table: StorageTable, obj: JsonObject, held: list[str], grace: int = 0
    ) -> JsonObject:
        """Return an object at the beginning of its deletion.

        grace: seconds that a Pod may still run.
        """
        going: JsonObject = copy_json(obj)
        meta = metadata(going)
        if not is_deleting(obj):
            end = self._clock.now() + timedelta(seconds=grace)
            stamp = end.strftime("%Y-%m-%dT%H:%M:%SZ")
            meta["deletionTimestamp"] = stamp
            # The server deletes these two kinds by separate code, which writes neither
            # field.
            if table not in (NAMESPACES.table, CRDS.table):
                meta["deletionGracePeriodSeconds"] = grace
                if "generation" in meta:
                    meta["generation"] += 1
            if table == NAMESPACES.table:
                known = going.get("status") or {}
                going["status"] = {**known, "phase": "Terminating"}
            elif table == CRDS.table:
                going["status"] = terminating(going, stamp)
        elif not grace and _ends_with_grace(obj):
            meta["deletionGracePeriodSeconds"] = 0
        if held:
            meta["finalizers"] = held
        return going

    def _put(self, table: StorageTable, key: ObjectKey, obj: JsonObject) -> JsonObject:
        metadata(obj)["resourceVersion"] = self._storage.next_version()
        self._storage.put(table, key, obj)
        return obj

    def _empty(self, places: Iterable[tuple[StorageTable, ObjectKey]]) -> None:
        for table, key in places:
            obj = self._storage.get(table, key)
            if obj is not None:
                self._begin(table, key, obj)

    def _content_of(self, namespace: str) -> Iterable[tuple[StorageTable, ObjectKey]]:
        for table in self._storage.tables():
            for key in self._keys(table):
                if key.namespace == namespace:
                    yield table, key

    def _keys(self, table: StorageTable) -> list[ObjectKey]:
        return [key for key, _ in self._storage.items(table)]

    def _finish_namespace_if_empty(self, name: str) -> None:
        key = ObjectKey("", name)
        obj = self._storage.get(NAMESPACES.table, key)
        if obj is None or not is_deleting(obj) or finalizers(obj):
            return
        if self.may_finish(NAMESPACES.table, key):
            self.finish(NAMESPACES.table, key, obj)

    def _finish_crd_if_empty(self, table: StorageTable) -> None:
        key = ObjectKey("", f"{table.resource}.{table.group}")
        obj = self._storage.get(CRDS.table, key)
        if obj is None or not is_deleting(obj) or self._storage.items(table):
            return
        self._release(CRDS.table, key, obj, _CRD_FINALIZER)

    def _release(
        self, table: StorageTable, key: ObjectKey, obj: JsonObject, finalizer: str
    ) -> None:
        """Remove a finalizer of the server from an object."""
        left = [name for name in finalizers(obj) if name != finalizer]
        freed = copy_json(obj)
        if left:
            metadata(freed)["finalizers"] = left
            self._put(table, key, freed)
        else:
            metadata(freed).pop("finalizers", None)
            self.finish(table, key, freed)

    def _go_on(self, uid: str) -> None:
        """Continue the deletion of an owner that waits for its dependants, or release
        them.
        """
        place = self._storage.place_of(uid)
        obj = self._storage.get(*place) if place else None
        if place is None or obj is None or not is_deleting(obj):
            return
        if _FINALIZERS["Orphan"] in finalizers(obj):
            for table, key in self._storage.owned_by(uid):
                self._let_go(table, key, {uid})
            self._release(*place, obj, _FINALIZERS["Orphan"])
        elif _FINALIZERS["Foreground"] in finalizers(obj):
            blocking = [p for p in self._storage.owned_by(uid) if self._blocks(p, uid)]
            for table, key in blocking:
                dependant = self._storage.get(table, key)
                if dependant is not None and not is_deleting(dependant):
                    self._begin(table, key, dependant, "Foreground")
            obj = self._storage.get(*place)
            if obj is not None and _FINALIZERS["Foreground"] in finalizers(obj):
                # Each dependant is read again: one that was deleted meanwhile has
                # already been here.
                waits = any(self._blocks(p, uid) for p in self._storage.owned_by(uid))
                if not waits:
                    self._release(*place, obj, _FINALIZERS["Foreground"])

    def _blocks(self, place: tuple[StorageTable, ObjectKey], uid: str) -> bool:
        obj = self._storage.get(*place)
        return obj is not None and any(
            o.get("uid") == uid and o.get("blockOwnerDeletion")
            for o in owner_references(obj)
        )

    def _collect(self, uid: str) -> None:
        """Delete an owner's dependants, except those that have another living owner."""
        for table, key in self._storage.owned_by(uid):
            obj = self._storage.get(table, key)
            if obj is None:
                continue
            owners = {str(o.get("uid")) for o in owner_references(obj)}
            # As the garbage collector does: it deletes only objects without a living
            # owner, and removes the dangling reference from all others.
            gone = {one for one in owners if self._storage.place_of(one) is None}
            if gone == owners:
                self._begin(table, key, obj)
            else:
                self._let_go(table, key, gone)

    def _let_go(self, table: StorageTable, key: ObjectKey, owners: set[str]) -> None:
        """Remove some owners from an object."""
        obj = self._storage.get(table, key)
        if obj is None:
            return
        freed = copy_json(obj)
        left = [o for o in owner_references(freed) if o.get("uid") not in owners]
        if left:
            metadata(freed)["ownerReferences"] = left
        else:
            metadata(freed).pop("ownerReferences", None)
        self._put(table, key, freed)


def _asked(
    resource: RestResource, key: ObjectKey, obj: JsonObject, options: DeleteOptions
) -> AdmissionWrite:
    """Return a deletion as webhooks see it."""
    stated: JsonObject = {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"}
    if options.propagation:
        stated["propagationPolicy"] = options.propagation
    return AdmissionWrite(
        resource=resource,
        operation="DELETE",
        namespace=key.namespace,
        name=key.name,
        user=options.user,
        before=obj,
        dry_run=options.dry_run,
        options=stated,
    )


def _grace(table: StorageTable, obj: JsonObject, asked: int | None) -> int:
    """Return how long an object may still run: only a running Pod on a node may."""
    held = spec(obj)
    if table != _PODS or not held.get("nodeName"):
        return 0
    if (obj.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return 0
    own = held.get("terminationGracePeriodSeconds", _GRACE_SECONDS)
    return max(0, int(own if asked is None else asked))


def _ends_with_grace(obj: JsonObject) -> bool:
    return bool(metadata(obj).get("deletionGracePeriodSeconds"))


def _kept_by(table: StorageTable, obj: JsonObject, propagation: str) -> list[str]:
    """Return the finalizers with which a deletion begins."""
    held = [*_held(obj, propagation)]
    if table == CRDS.table and _CRD_FINALIZER not in held:
        held.append(_CRD_FINALIZER)
    return held


def _held(obj: JsonObject, propagation: str) -> Iterable[str]:
    """Return an object's finalizers, with those of a propagation policy."""
    if not propagation:
        return finalizers(obj)
    own = [name for name in finalizers(obj) if name not in _FINALIZERS.values()]
    added = _FINALIZERS[propagation]
    return [*own, added] if added else own


def _instances(crd: JsonObject) -> StorageTable:
    return StorageTable(str(spec(crd)["group"]), str(spec(crd)["names"]["plural"]))


def _check_preconditions(
    resource: RestResource, obj: JsonObject, preconditions: Mapping[str, str]
) -> None:
    for name, (shown, what) in _PRECONDITIONS.items():
        wanted, found = preconditions.get(name), metadata(obj).get(name)
        if wanted not in (None, found):
            error: StatusError = conflict(
                resource.kind,
                resource.group,
                str(metadata(obj).get("name")),
                f"the {shown} in the precondition ({wanted}) does not match the "
                f"{shown} in record ({found}). The object might have been {what}",
            )
            raise error
