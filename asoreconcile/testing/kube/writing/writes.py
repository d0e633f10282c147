"""All writes of the API.

The result of a write is computed from the stored object, and stored if that object is
still the same; otherwise the result is computed again. So no write waits for the
admission webhooks of another, and no write is lost. Raises StatusError to refuse.
"""

from collections.abc import Callable

import attrs
import orjson

from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import JsonObject, ObjectKey, copy_json, key_of, metadata
from asoreconcile.resources.crds.cause import Cause
from asoreconcile.testing.kube.admission.webhooks import AdmissionWrite, Gate
from asoreconcile.testing.kube.crds import definitions
from asoreconcile.testing.kube.fields import apply
from asoreconcile.testing.kube.kinds import versions, workloaddefaults
from asoreconcile.testing.kube.kinds.resources import CRDS, NAMESPACES, RestResource
from asoreconcile.testing.kube.store.storage import Storage
from asoreconcile.testing.kube.wire.status import (
    StatusError,
    already_exists,
    forbidden,
    internal_error,
    not_found,
)
from asoreconcile.testing.kube.writing import decoding, identity, ownership, upkeep
from asoreconcile.testing.kube.writing.decoding import DecodedBody
from asoreconcile.testing.kube.writing.deletion import Deletions
from asoreconcile.testing.kube.writing.options import WriteOptions

_SELF = "kube-apiserver"
_LARGEST_BYTES = 1536 * 1024  # of a request to etcd


@attrs.frozen
class Written:
    """The result of a write.

    warnings: warnings for the client.
    """

    obj: JsonObject
    created: bool = False
    warnings: tuple[str, ...] = ()


class WriteHandler:
    """Creation and changes of objects. Safe to use from any thread."""

    def __init__(
        self, storage: Storage, deletions: Deletions, clock: Clock, gate: Gate
    ) -> None:
        self._storage = storage
        self._deletions = deletions
        self._clock = clock
        self._gate = gate

    def create(
        self,
        resource: RestResource,
        namespace: str,
        body: JsonObject,
        options: WriteOptions,
    ) -> Written:
        """Handle a POST; return the object as stored, after defaults and admission."""
        identity.check_kind(resource, body)
        taken = self._decoded(resource, body, options)
        meta = metadata(taken.obj)
        identity.check_key(resource, ObjectKey(namespace, ""), taken.obj)
        if meta.get("resourceVersion"):
            raise internal_error(
                "resourceVersion should not be set on objects to be created"
            )
        if not meta.get("name") and meta.get("generateName"):
            meta["name"] = upkeep.generated_name(str(meta["generateName"]))
        key = ObjectKey(namespace, str(meta.get("name") or ""))
        return self._add(resource, key, taken, options, tracked=False)

    def replace(
        self,
        resource: RestResource,
        key: ObjectKey,
        body: JsonObject,
        options: WriteOptions,
        *,
        subresource: str = "",
    ) -> Written:
        """Handle a PUT, on the resource version in the body."""
        identity.check_kind(resource, body)
        taken = self._decoded(resource, body, options)
        identity.check_key(resource, key, taken.obj)

        def change(before: JsonObject) -> DecodedBody:
            identity.check_replaced(resource, before, taken.obj)
            identity.check_deletion(resource, before, taken.obj)
            return DecodedBody(copy_json(taken.obj), taken.warnings)

        return self._change(resource, key, change, options, subresource)

    def patch(
        self,
        resource: RestResource,
        key: ObjectKey,
        change: Callable[[JsonObject], JsonObject],
        options: WriteOptions,
        *,
        subresource: str = "",
    ) -> Written:
        """Handle merge, JSON and strategic patches.

        change: returns the new object, given the old one.
        """

        def changed(before: JsonObject) -> DecodedBody:
            wanted = change(copy_json(before))
            identity.check_patched_kind(resource, wanted)
            try:
                taken = self._decoded(resource, wanted, options, patched=True)
            except StatusError as error:
                # The status is 422 for a patched object, but 400 for the same body in a
                # PUT.
                if error.code != 400:
                    raise
                why = str(error).partition(f"handled as a {resource.kind}: ")[2]
                raise identity.patch_refused(wanted, why or str(error)) from error
            identity.check_key(resource, key, taken.obj)
            identity.check_patched(resource, before, taken.obj)
            identity.check_deletion(resource, before, taken.obj)
            return taken

        return self._change(resource, key, changed, options, subresource)

    def apply(
        self,
        resource: RestResource,
        key: ObjectKey,
        configuration: JsonObject,
        options: WriteOptions,
        *,
        subresource: str = "",
    ) -> Written:
        """Handle a server-side apply, which answers 201 if it creates the object."""
        identity.check_applied(resource, configuration)
        owner = ownership.owner_of(
            resource, manager=options.manager, subresource=subresource, now=self._now()
        )
        ownership.check_typed(resource, configuration)

        def change(before: JsonObject | None) -> DecodedBody:
            wanted = apply.applied(before, configuration, owner, force=options.force)
            taken = self._decoded(resource, wanted, options, patched=True)
            identity.check_key(resource, key, taken.obj)
            if before is not None:
                identity.check_patched(resource, before, taken.obj)
            return taken

        while True:
            live = self._storage.get(resource.table, key)
            if live is not None or subresource:
                return self._change(
                    resource, key, change, options, subresource, tracked=True
                )
            identity.check_named(key, configuration)
            created = change(None)
            meta = metadata(created.obj)
            meta.pop("resourceVersion", None)
            if self._storage.get(resource.table, key) is None:
                return self._add(resource, key, created, options, tracked=True)

    def _decoded(
        self,
        resource: RestResource,
        obj: JsonObject,
        options: WriteOptions,
        *,
        patched: bool = False,
    ) -> DecodedBody:
        return decoding.decoded(
            resource,
            obj,
            field_validation=options.field_validation,
            repeated=options.repeated,
            patched=patched,
        )

    def _add(
        self,
        resource: RestResource,
        key: ObjectKey,
        taken: DecodedBody,
        options: WriteOptions,
        *,
        tracked: bool,
    ) -> Written:
        """Store a new object.

        tracked: whether its managedFields are already right.
        """
        self._check_namespace(resource, key)
        obj = upkeep.initialized(resource, key, taken.obj, self._now())
        asked = _asked(resource, key, options, operation="CREATE")
        taken = self._admitted(attrs.evolve(asked, obj=obj), taken.warnings)
        taken = decoding.validated(resource, taken, None)
        obj = taken.obj
        if not tracked:
            owner = ownership.owner_of(
                resource, manager=options.manager, now=self._now()
            )
            apply.updated(None, obj, owner)
        upkeep.complete(resource, obj)
        with self._storage.lock:
            self._allocate(resource, key, obj)
            kept = obj if options.dry_run else versions.stored(resource, obj)
            _check_size(kept)
            self._check_namespace(resource, key)
            if self._storage.get(resource.table, key) is not None:
                raise already_exists(resource.plural, resource.group, key.name)
            if not options.dry_run:
                self._put(resource, key, obj, kept)
        return Written(obj, created=True, warnings=taken.warnings)

    def _change(
        self,
        resource: RestResource,
        key: ObjectKey,
        change: Callable[[JsonObject], DecodedBody],
        options: WriteOptions,
        subresource: str,
        *,
        tracked: bool = False,
    ) -> Written:
        """Change a stored object.

        tracked: whether the change has already updated managedFields.
        """
        while True:
            stored = self._storage.get(resource.table, key)
            if stored is None:
                raise not_found(resource.plural, resource.group, key.name)
            before = versions.shown(resource, stored)
            written = self._changed(
                resource, before, change(before), options, subresource, tracked=tracked
            )
            # There is no new resource version and no event, so an unchanged object may
            # be written at any time.
            is_current = stored.get("apiVersion") == resource.stored_api_version
            if options.dry_run or (written.obj is before and is_current):
                return written
            if written.obj is before:
                # Stored again, as it is still stored in another version.
                written = attrs.evolve(written, obj=copy_json(before))
            with self._storage.lock:
                self._allocate(resource, key, written.obj)
            kept = versions.stored(resource, written.obj)
            _check_size(kept)
            with self._storage.lock:
                # Comparing the identity suffices, because stored objects never change
                # in place.
                if self._storage.get(resource.table, key) is stored:
                    return self._store(resource, key, written, kept)

    def _changed(
        self,
        resource: RestResource,
        before: JsonObject,
        taken: DecodedBody,
        options: WriteOptions,
        subresource: str,
        *,
        tracked: bool,
    ) -> Written:
        """Return the changed object, or `before` itself if nothing changes."""
        after = upkeep.combined(resource, before, taken.obj, subresource)
        upkeep.keep_server_fields(before, after)
        key = key_of(before)
        asked = _asked(resource, key, options, operation="UPDATE")
        asked = attrs.evolve(asked, obj=after, before=before, subresource=subresource)
        taken = self._admitted(asked, taken.warnings)
        after = taken.obj
        identity.check_finalizers(resource, before, after)
        taken = decoding.validated(resource, taken, before)
        after = taken.obj
        if not tracked:
            owner = ownership.owner_of(
                resource,
                manager=options.manager,
                subresource=subresource,
                now=self._now(),
            )
            apply.updated(before, after, owner)
        # The times of managedFields do not count. Otherwise each write would differ by
        # its second.
        if upkeep.shown(before) == upkeep.shown(after):
            return Written(before, warnings=taken.warnings)
        if resource.has_generation and (
            upkeep.content(resource, after) != upkeep.content(resource, before)
        ):
            metadata(after)["generation"] = metadata(before).get("generation", 0) + 1
        return Written(after, warnings=taken.warnings)

    def _admitted(
        self, write: AdmissionWrite, warnings: tuple[str, ...]
    ) -> DecodedBody:
        """Return the object after the webhooks, decoded again if they changed it."""
        found = self._gate.admit(write)
        warnings = (*warnings, *found.warnings)
        obj, sent = found.obj, write.obj
        if obj is None or sent is None or obj is sent:
            return DecodedBody(sent or {}, warnings)
        # The client's own setting does not count, because the webhook added the field.
        taken = decoding.decoded(write.resource, obj, field_validation="Ignore")
        upkeep.keep_server_fields(write.before or sent, taken.obj)
        return DecodedBody(taken.obj, warnings)

    def _store(
        self, resource: RestResource, key: ObjectKey, written: Written, kept: JsonObject
    ) -> Written:
        """Store an object. The caller holds the lock and has checked that nothing came
        between.

        kept: the object at the version in which it is stored.
        """
        obj = written.obj
        meta = metadata(obj)
        is_free = meta.get("deletionTimestamp") and not meta.get("finalizers")
        if is_free and self._deletions.may_finish(resource.table, key):
            # The last finalizer is gone. The answer still has the version before.
            self._deletions.finish(resource.table, key, kept)
            return written
        self._put(resource, key, obj, kept)
        return written

    def _put(
        self, resource: RestResource, key: ObjectKey, obj: JsonObject, kept: JsonObject
    ) -> None:
        """Store an object. The caller holds the lock."""
        version = self._storage.next_version()
        metadata(obj)["resourceVersion"] = metadata(kept)["resourceVersion"] = version
        self._storage.put(resource.table, key, kept)
        if "ownerReferences" in metadata(kept):
            self._deletions.collect_if_abandoned(resource.table, key)
        if resource is CRDS:
            self._settle(key, kept)

    def _settle(self, key: ObjectKey, crd: JsonObject) -> None:
        """Establish a CRD if its names are free. If its status changes, the server
        stores the CRD once more.

        The caller holds the lock.
        """
        others = [o for k, o in self._storage.items(CRDS.table) if k != key]
        settled = copy_json(definitions.settled(crd, others, self._now()))
        if settled["status"] == crd["status"]:
            return
        owner = ownership.owner_of(
            CRDS, manager=_SELF, subresource="status", now=self._now()
        )
        apply.updated(crd, settled, owner)
        metadata(settled)["resourceVersion"] = self._storage.next_version()
        self._storage.put(CRDS.table, key, settled)

    def _allocate(
        self, resource: RestResource, key: ObjectKey, obj: JsonObject
    ) -> None:
        """Give a Service an address and ports that no other Service has.

        The caller holds the lock.
        """
        if (resource.group, resource.kind) == ("", "Service"):
            others = [o for k, o in self._storage.items(resource.table) if k != key]
            workloaddefaults.allocate(obj, others)

    def _check_namespace(self, resource: RestResource, key: ObjectKey) -> None:
        if not resource.namespaced:
            return
        name = key.namespace
        found = self._storage.get(NAMESPACES.table, ObjectKey("", name))
        if found is None:
            raise not_found("namespaces", "", name)
        if metadata(found).get("deletionTimestamp"):
            cause = Cause(
                "metadata.namespace",
                "NamespaceTerminating",
                f"namespace {name} is being terminated",
            )
            raise forbidden(
                resource.plural,
                resource.group,
                key.name,
                f"unable to create new content in namespace {name} because it is being "
                "terminated",
                [cause],
            )

    def _now(self) -> str:
        return self._clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")


def _check_size(obj: JsonObject) -> None:
    if len(orjson.dumps(obj)) > _LARGEST_BYTES:
        raise internal_error("etcdserver: request is too large")


def _asked(
    resource: RestResource, key: ObjectKey, options: WriteOptions, *, operation: str
) -> AdmissionWrite:
    """Return a write as webhooks see it, without its objects."""
    kind = "PatchOptions" if options.force else f"{operation.title()}Options"
    return AdmissionWrite(
        resource=resource,
        operation=operation,
        namespace=key.namespace,
        name=key.name,
        user=options.user,
        dry_run=options.dry_run,
        options={
            "kind": kind,
            "apiVersion": "meta.k8s.io/v1",
            "fieldManager": options.manager,
        },
    )
