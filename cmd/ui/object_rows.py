"""The row of an object on the page: its state, owner and references. Pure."""

from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.cmd.object_graph import links_of
from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.annotations import (
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.conditions import find_ready
from asoreconcile.azure.reconcile.model.pace import PAUSED_ROW
from asoreconcile.azure.reconcile.model.policy import RECONCILE_POLICY_ROW
from asoreconcile.azure.reconcile.model.switches import is_on
from asoreconcile.base.objects import (
    GroupKind,
    JsonObject,
    ObjectKey,
    is_deleting,
    key_of,
    status,
)

# The object itself is in order, and waits for another one.
_WAITING = frozenset(
    {
        "ConfigMapNotFound",
        "OutsideMaintenanceWindow",
        "ReferenceNotFound",
        "SecretNotFound",
        "WaitingForOwner",
        "WaitingForReference",
    }
)
_STATES = {"Error": "failed", "Warning": "warning", "Info": "working"}


def row_key(group_kind: GroupKind, key: ObjectKey) -> str:
    """Return the name of an object on the page: `GROUP/KIND/NAMESPACE/NAME`."""
    return f"{group_kind.group}/{group_kind.kind}/{key.namespace}/{key.name}"


def parsed_key(text: str) -> tuple[GroupKind, ObjectKey]:
    """Return the kind and key in a text of `row_key`. Raises ValueError for other
    texts.
    """
    group, kind, namespace, name = text.split("/")
    return GroupKind(group, kind), ObjectKey(namespace, name)


def row_of(version: KindVersion, obj: JsonObject) -> JsonObject:
    """Return the row of an object. version: version of the object."""
    key = key_of(obj)
    condition = find_ready(status(obj).get("conditions")) or {}
    links = [
        (label, row_key(GroupKind(to.group, to.kind), ObjectKey(to.namespace, to.name)))
        for label, to in links_of(version, obj, key.namespace)
        if to.group  # others are named by their ARM ids
    ]
    return {
        "key": row_key(version.group_kind, key),
        "group": version.gvk.group,
        "kind": version.gvk.kind,
        "version": version.gvk.version,
        "namespace": key.namespace,
        "name": key.name,
        "state": state_of(obj),
        "reason": condition.get("reason") or None,
        "message": condition.get("message") or None,
        "since": condition.get("lastTransitionTime") or None,
        "owner": next((to for label, to in links if label == "owner"), None),
        "references": [to for label, to in links if label != "owner"],
        "armId": annotations(obj).get(RESOURCE_ID) or None,
    }


def state_of(obj: JsonObject) -> str:
    """Return one word for the state of an object."""
    own = annotations(obj)
    condition = find_ready(status(obj).get("conditions")) or {}
    state = _STATES.get(str(condition.get("severity") or ""), "unknown")
    if is_deleting(obj):
        return state if state in {"failed", "warning"} else "deleting"
    if is_on(own, PAUSED_ROW) or RECONCILE_POLICY_ROW.text(own) == "skip":
        return "paused"
    if condition.get("status") == "True":
        return "ready"
    if condition.get("reason") == "Paused":
        return "paused"
    return "waiting" if condition.get("reason") in _WAITING else state
