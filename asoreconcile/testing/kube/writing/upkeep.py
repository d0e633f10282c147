"""The fields that the server sets and preserves in all writes. Pure."""

import secrets
import uuid

import orjson

from asoreconcile.base.objects import JsonObject, ObjectKey, copy_json, metadata
from asoreconcile.testing.kube.kinds import workloaddefaults, workloads
from asoreconcile.testing.kube.kinds.resources import CRDS, NAMESPACES, RestResource

_SERVER_OWNED = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "selfLink",
)
# There are no vowels, and no digits that look like one, so names spell no words.
_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
# 63 characters, the limit of a label, minus five.
_LONGEST_PREFIX = 58


def initialized(
    resource: RestResource, key: ObjectKey, obj: JsonObject, now: str
) -> JsonObject:
    """Return a new object with the fields that the server sets."""
    if resource is NAMESPACES:
        obj["status"] = {"phase": "Active"}
    # If the status has its own endpoint, a create drops it. A CRD's status is filled in
    # when it is decoded.
    elif resource.has_status and resource is not CRDS:
        obj.pop("status", None)
        if resource.group == "admissionregistration.k8s.io":
            obj["status"] = {}  # as Go writes an empty value
    meta = metadata(obj)
    for name in _SERVER_OWNED:
        meta.pop(name, None)
    _drop_empty(meta)
    meta.pop("namespace", None)
    if resource.namespaced:
        meta["namespace"] = key.namespace
    meta["uid"] = str(uuid.uuid4())
    meta["creationTimestamp"] = now
    if resource.has_generation:
        meta["generation"] = 1
    return obj


def complete(resource: RestResource, obj: JsonObject) -> None:
    """Fill in the fields that a new object of a built-in kind gets after admission."""
    if workloads.kind_facts(resource.group, resource.kind) is None:
        return
    if resource.first_status is not None:
        obj["status"] = copy_json(resource.first_status)
    meta = metadata(obj)
    if resource.finalizers:
        present = meta.get("finalizers") or []
        new = [one for one in resource.finalizers if one not in present]
        meta["finalizers"] = [*present, *new]
    workloaddefaults.fill_in_new(obj)


def generated_name(prefix: str) -> str:
    """Return a name for `generateName`: the prefix and five more characters."""
    letters = (secrets.choice(_SUFFIX_LETTERS) for _ in range(5))
    return prefix[:_LONGEST_PREFIX] + "".join(letters)


def combined(
    resource: RestResource, before: JsonObject, wanted: JsonObject, subresource: str
) -> JsonObject:
    """Return the stored object with the changes that the endpoint may make."""
    if subresource == "status":
        after = {**before, "metadata": dict(metadata(before))}
        # The status endpoint accepts this one part of the metadata: a client may set
        # the owners of the status.
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


def keep_server_fields(before: JsonObject, after: JsonObject) -> None:
    """Undo a client's changes to the server's part of the metadata."""
    meta, present = after["metadata"], metadata(before)
    for name in (*_SERVER_OWNED, "namespace", "name", "generateName"):
        if name in present:
            meta[name] = present[name]
        else:
            meta.pop(name, None)
    if "resourceVersion" in present:
        meta["resourceVersion"] = present["resourceVersion"]
    _drop_empty(meta)


def _drop_empty(meta: JsonObject) -> None:
    for name in ("annotations", "labels", "finalizers", "ownerReferences"):
        if name in meta and not meta[name]:
            del meta[name]


def shown(obj: JsonObject) -> bytes:
    """Return the parts of an object that make a difference, without its
    owners' times.
    """
    meta = dict(metadata(obj))
    meta["managedFields"] = [
        {name: value for name, value in entry.items() if name != "time"}
        for entry in meta.get("managedFields") or ()
    ]
    return orjson.dumps({**obj, "metadata": meta}, option=orjson.OPT_SORT_KEYS)


def content(resource: RestResource, obj: JsonObject) -> JsonObject:
    """Return the parts of an object that a generation counts."""
    apart = ("metadata", "status") if resource.has_status else ("metadata",)
    return {name: value for name, value in obj.items() if name not in apart}
