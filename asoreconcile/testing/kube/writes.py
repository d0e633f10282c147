"""Every write the API offers, as the API server does it.

Validated and admitted first, then one step under the storage's lock: preconditions,
generation, resource version, finalizers. Rules: python-building-blocks 2.2.
"""

import base64
import binascii
import re
import secrets
import uuid
from collections.abc import Callable

import attrs
import orjson

from asoreconcile.clock import Clock
from asoreconcile.objects import JsonObject, ObjectKey, copy_json, metadata
from asoreconcile.testing.kube import apply, schema
from asoreconcile.testing.kube.crds import admit_crd
from asoreconcile.testing.kube.deletion import Deletions
from asoreconcile.testing.kube.kinds import CRDS, NAMESPACES, Resource
from asoreconcile.testing.kube.status import (
    Cause,
    already_exists,
    bad_request,
    conflict,
    forbidden,
    invalid,
    not_found,
)
from asoreconcile.testing.kube.storage import Storage

_NAME = re.compile(r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")
_SERVER_OWNED = ("uid", "creationTimestamp", "deletionTimestamp", "generation")
_CRD_DEPTH = 2


@attrs.frozen
class WriteOptions:
    """How a write is meant, from its query and headers."""

    manager: str = "unknown"
    dry_run: bool = False
    force: bool = False
    field_validation: str = "Warn"


@attrs.frozen
class Written:
    """What a write came to. warnings: for the client to show."""

    obj: JsonObject
    created: bool = False
    warnings: tuple[str, ...] = ()


class Writes:
    """Creates and changes objects. Raises StatusError for what it refuses."""

    def __init__(self, storage: Storage, deletions: Deletions, clock: Clock) -> None:
        self._storage = storage
        self._deletions = deletions
        self._clock = clock

    def create(
        self,
        resource: Resource,
        namespace: str,
        body: JsonObject,
        options: WriteOptions,
    ) -> Written:
        """POST."""
        obj = copy_json(body)
        meta = obj.setdefault("metadata", {})
        if not meta.get("name") and meta.get("generateName"):
            meta["name"] = meta["generateName"] + secrets.token_hex(3)[:5]
        key = ObjectKey(namespace, str(meta.get("name") or ""))
        self._check_identity(resource, key, obj)
        obj, warnings = self._admit(resource, obj, options)
        if resource.has_status and resource is not CRDS:
            obj.pop("status", None)
        with self._storage.lock:
            self._check_namespace(resource, namespace)
            if self._storage.get(resource.table, key) is not None:
                raise already_exists(resource.plural, resource.group, key.name)
            apply.updated(
                None,
                obj,
                manager=options.manager,
                api_version=resource.api_version,
                subresource="",
                now=self._now(),
                depth=_depth(resource),
            )
            return self._store_new(resource, key, obj, options, warnings)

    def replace(
        self,
        resource: Resource,
        key: ObjectKey,
        body: JsonObject,
        options: WriteOptions,
        *,
        subresource: str = "",
    ) -> Written:
        """PUT, on the resource version the body holds."""
        self._check_identity(resource, key, body)
        if resource.is_custom and not metadata(body).get("resourceVersion"):
            cause = Cause(
                "metadata.resourceVersion",
                "FieldValueInvalid",
                "Invalid value: 0x0: must be specified for an update",
            )
            raise invalid(resource.kind, resource.group, key.name, [cause])
        return self._change(
            resource, key, lambda _: copy_json(body), options, subresource
        )

    def patch(
        self,
        resource: Resource,
        key: ObjectKey,
        change: Callable[[JsonObject], JsonObject],
        options: WriteOptions,
        *,
        subresource: str = "",
    ) -> Written:
        """Merge, JSON and strategic patches: `change` makes the new from the old."""
        return self._change(resource, key, change, options, subresource)

    def apply(
        self,
        resource: Resource,
        key: ObjectKey,
        configuration: JsonObject,
        options: WriteOptions,
        *,
        subresource: str = "",
    ) -> Written:
        """Server-side apply: 201 when it creates."""
        self._check_identity(resource, key, configuration)
        with self._storage.lock:
            live = self._storage.get(resource.table, key)

            def change(before: JsonObject | None) -> JsonObject:
                return apply.applied(
                    before,
                    configuration,
                    manager=options.manager,
                    api_version=resource.api_version,
                    force=options.force,
                    now=self._now(),
                    depth=_depth(resource),
                )

            if live is not None:
                return self._change(
                    resource, key, change, options, subresource, tracked=True
                )
            if subresource:
                raise not_found(resource.plural, resource.group, key.name)
            self._check_namespace(resource, key.namespace)
            obj, warnings = self._admit(resource, change(None), options)
            if resource.has_status and resource is not CRDS:
                obj.pop("status", None)
            meta = metadata(obj)
            meta["name"] = key.name
            return self._store_new(resource, key, obj, options, warnings)

    def _store_new(
        self,
        resource: Resource,
        key: ObjectKey,
        obj: JsonObject,
        options: WriteOptions,
        warnings: tuple[str, ...],
    ) -> Written:
        """Caller holds the lock."""
        meta = metadata(obj)
        for name in _SERVER_OWNED:
            meta.pop(name, None)
        if resource.namespaced:
            meta["namespace"] = key.namespace
        meta["uid"] = str(uuid.uuid4())
        meta["creationTimestamp"] = self._now()
        meta["generation"] = 1
        if options.dry_run:
            return Written(obj, created=True, warnings=warnings)
        meta["resourceVersion"] = self._storage.next_version()
        self._storage.put(resource.table, key, obj)
        return Written(obj, created=True, warnings=warnings)

    def _change(
        self,
        resource: Resource,
        key: ObjectKey,
        change: Callable[[JsonObject], JsonObject],
        options: WriteOptions,
        subresource: str,
        *,
        tracked: bool = False,
    ) -> Written:
        """tracked: the change has kept managedFields itself."""
        with self._storage.lock:
            before = self._storage.get(resource.table, key)
            if before is None:
                raise not_found(resource.plural, resource.group, key.name)
            wanted = change(copy_json(before))
            self._check_preconditions(resource, key, before, wanted)
            after = _combined(resource, before, wanted, subresource)
            after, warnings = self._admit(resource, after, options)
            _keep_server_fields(before, after)
            if _same(before, after):
                return Written(before, warnings=warnings)
            self._check_finalizers(resource, key, before, after)
            if not tracked:
                apply.updated(
                    before,
                    after,
                    manager=options.manager,
                    api_version=resource.api_version,
                    subresource=subresource,
                    now=self._now(),
                    depth=_depth(resource),
                )
            meta = metadata(after)
            if _content(after) != _content(before) and subresource != "status":
                meta["generation"] = metadata(before)["generation"] + 1
            if options.dry_run:
                return Written(after, warnings=warnings)
            if meta.get("deletionTimestamp") and not meta.get("finalizers"):
                # The last finalizer went: the answer still has the version before.
                self._deletions.finish(resource.table, key, after)
                return Written(after, warnings=warnings)
            meta["resourceVersion"] = self._storage.next_version()
            self._storage.put(resource.table, key, after)
            return Written(after, warnings=warnings)

    def _admit(
        self, resource: Resource, obj: JsonObject, options: WriteOptions
    ) -> tuple[JsonObject, tuple[str, ...]]:
        """Defaults, pruning and validation. Returns the object and warnings."""
        name = str(metadata(obj).get("name") or "")
        warnings: tuple[str, ...] = ()
        if resource.schema is not None:
            obj, unknown = schema.admit(resource.schema, obj)
            if unknown and options.field_validation == "Strict":
                fields = ", ".join(f'unknown field "{path}"' for path in unknown)
                raise bad_request(
                    f'{resource.kind} in version "{resource.version}" cannot be handled'
                    f" as a {resource.kind}: strict decoding error: {fields}"
                )
            if options.field_validation == "Warn":
                warnings = tuple(f'unknown field "{path}"' for path in unknown)
            found = schema.causes(resource.schema, obj)
            if found:
                raise invalid(resource.kind, resource.group, name, found)
        elif resource is CRDS:
            obj = admit_crd(obj, self._now())
        elif resource.kind == "Secret":
            _admit_secret(obj)
        elif resource is NAMESPACES:
            _admit_namespace(obj, name)
        obj["apiVersion"], obj["kind"] = resource.api_version, resource.kind
        return obj, warnings

    def _check_identity(
        self, resource: Resource, key: ObjectKey, obj: JsonObject
    ) -> None:
        stated = (
            obj.get("kind") or resource.kind,
            (obj.get("apiVersion") or resource.api_version),
        )
        if stated != (resource.kind, resource.api_version):
            raise bad_request(
                f"the object provided is unrecognized: expected {resource.api_version}"
                f" {resource.kind}, got {stated[1]} {stated[0]}"
            )
        meta = metadata(obj)
        if meta.get("name") not in (None, "", key.name):
            raise bad_request(
                f"the name of the object ({meta['name']}) does not match the name on "
                f"the URL ({key.name})"
            )
        if resource.namespaced and meta.get("namespace") not in (
            None,
            "",
            key.namespace,
        ):
            raise bad_request(
                "the namespace of the provided object does not match the namespace "
                "sent on the request"
            )
        if not key.name:
            cause = Cause(
                "metadata.name",
                "FieldValueRequired",
                "Required value: name or generateName is required",
            )
            raise invalid(resource.kind, resource.group, "", [cause])
        if not _NAME.match(key.name):
            cause = Cause(
                "metadata.name",
                "FieldValueInvalid",
                f'Invalid value: "{key.name}": a lowercase RFC 1123 subdomain must '
                "consist of lower case alphanumeric characters, '-' or '.'",
            )
            raise invalid(resource.kind, resource.group, key.name, [cause])

    def _check_namespace(self, resource: Resource, namespace: str) -> None:
        if not resource.namespaced:
            return
        found = self._storage.get(NAMESPACES.table, ObjectKey("", namespace))
        if found is None:
            raise not_found("namespaces", "", namespace)
        if metadata(found).get("deletionTimestamp"):
            cause = {
                "reason": "NamespaceTerminating",
                "message": f"namespace {namespace} is being terminated",
                "field": "metadata.namespace",
            }
            raise forbidden(
                f"unable to create new content in namespace {namespace} because it is "
                "being terminated",
                {"causes": [cause]},
            )

    def _check_preconditions(
        self, resource: Resource, key: ObjectKey, before: JsonObject, wanted: JsonObject
    ) -> None:
        meta, present = metadata(wanted), metadata(before)
        if meta.get("uid") not in (None, "", present["uid"]):
            raise conflict(
                resource.plural,
                resource.group,
                key.name,
                f"Precondition failed: UID in precondition: {meta['uid']}, UID in "
                f"object meta: {present['uid']}",
            )
        stated = meta.get("resourceVersion")
        if stated not in (None, "", present["resourceVersion"]):
            raise conflict(resource.plural, resource.group, key.name)

    def _check_finalizers(
        self, resource: Resource, key: ObjectKey, before: JsonObject, after: JsonObject
    ) -> None:
        if not metadata(before).get("deletionTimestamp"):
            return
        old = metadata(before).get("finalizers") or []
        added = [f for f in metadata(after).get("finalizers") or [] if f not in old]
        if added:
            cause = Cause(
                "metadata.finalizers",
                "FieldValueForbidden",
                "Forbidden: no new finalizers can be added if the object is being "
                f"deleted, found new finalizers {added}",
            )
            raise invalid(resource.kind, resource.group, key.name, [cause])

    def _now(self) -> str:
        return self._clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")


def _combined(
    resource: Resource, before: JsonObject, wanted: JsonObject, subresource: str
) -> JsonObject:
    """What of a wanted object the endpoint may change."""
    if subresource == "status":
        after = dict(before)
        after["metadata"] = dict(metadata(before))
        managed = metadata(wanted).get("managedFields")
        if managed is not None:
            after["metadata"]["managedFields"] = managed
        after.pop("status", None)
        if "status" in wanted:
            after["status"] = wanted["status"]
        return after
    if resource.has_status:
        wanted.pop("status", None)
        if "status" in before:
            wanted["status"] = before["status"]
    return wanted


def _keep_server_fields(before: JsonObject, after: JsonObject) -> None:
    meta, present = after["metadata"], metadata(before)
    for name in (*_SERVER_OWNED, "deletionGracePeriodSeconds", "namespace", "name"):
        if name in present:
            meta[name] = present[name]
        else:
            meta.pop(name, None)
    meta["resourceVersion"] = present["resourceVersion"]
    for name in ("annotations", "labels", "finalizers", "ownerReferences"):
        if name in meta and not meta[name]:
            del meta[name]


def _same(before: JsonObject, after: JsonObject) -> bool:
    def shown(obj: JsonObject) -> bytes:
        meta = {k: v for k, v in metadata(obj).items() if k != "managedFields"}
        return orjson.dumps({**obj, "metadata": meta}, option=orjson.OPT_SORT_KEYS)

    return shown(before) == shown(after)


def _content(obj: JsonObject) -> JsonObject:
    return {k: v for k, v in obj.items() if k not in ("metadata", "status")}


def _depth(resource: Resource) -> int:
    return _CRD_DEPTH if resource is CRDS else 99


def _admit_secret(obj: JsonObject) -> None:
    data = dict(obj.get("data") or {})
    for key, value in (obj.pop("stringData", None) or {}).items():
        data[key] = base64.b64encode(str(value).encode()).decode()
    for key, value in data.items():
        try:
            base64.b64decode(str(value), validate=True)
        except binascii.Error as error:
            raise bad_request(f"illegal base64 data in Secret key {key}") from error
    if data:
        obj["data"] = data
    obj.setdefault("type", "Opaque")


def _admit_namespace(obj: JsonObject, name: str) -> None:
    obj["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = name
    obj["spec"] = {"finalizers": ["kubernetes"]}
    obj.setdefault("status", {"phase": "Active"})
