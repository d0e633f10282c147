"""Resolves an object's owner: the Kubernetes object or ARM id in its `spec.owner`.

Owners are looked up by group and kind, never by version: parent and child are often
written at different versions.
"""

from typing import Protocol

import attrs

from asoreconcile.azure.arm import ids
from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass, unusable
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.annotations import (
    CHILD_ID_OVERRIDE,
    OWNER_GROUP_KIND,
    OWNER_NAME,
    OWNER_UID,
    RESOURCE_ID,
    label_value,
)
from asoreconcile.azure.reconcile.model.conditions import is_ready, ready_of
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.base.objects import (
    GroupKind,
    JsonObject,
    ObjectKey,
    key_of,
    owner_references,
    spec,
    uid_of,
)
from asoreconcile.kube.owners import set_owner


class Objects(Protocol):
    """A read-only view of the Azure objects in the cluster."""

    def get(self, group_kind: GroupKind, key: ObjectKey) -> JsonObject | None:
        """Return a private copy of an object, or None."""

    def is_installed(self, group_kind: GroupKind) -> bool:
        """Return whether the kind's CRD is installed, so that its objects
        can be found.
        """


@attrs.frozen
class Owner:
    """The owner of a child resource.

    obj: the owning Kubernetes object; None when the owner is given by ARM id.
    arm_id: the owner's ARM id, "" while a Kubernetes owner has none. kept_as: the
    version that the cluster stores the owner in, which ASO's owner references name; ""
    if it is the version of `obj`.
    """

    arm_id: str
    obj: JsonObject | None = None
    group_kind: GroupKind | None = None
    kept_as: str = ""


def owner_reference(version: KindVersion, obj: JsonObject) -> JsonObject | None:
    """Return `spec.owner`, completed with the group and kind that the schema implies;
    None if the object has no owner.
    """
    reference = spec(obj).get("owner")
    if not isinstance(reference, dict):
        return None
    if version.owner is None or reference.get("armId"):
        return reference
    return {
        "group": version.owner.group,
        "kind": version.owner.kind,
        "name": reference.get("name", ""),
    }


def owner_target(version: KindVersion, obj: JsonObject) -> ObjectReference | None:
    """Return a reference to the owner that `spec.owner` names by its Kubernetes name,
    or None.
    """
    reference = owner_reference(version, obj)
    if reference is None or reference.get("armId") or not reference.get("name"):
        return None
    kind = GroupKind(str(reference.get("group")), str(reference.get("kind")))
    return ObjectReference(kind, ObjectKey(key_of(obj).namespace, reference["name"]))


def resolve_owner(
    version: KindVersion, obj: JsonObject, objects: Objects
) -> Owner | None:
    """Return the owner of an object; None for kinds that have none.

    Raises ConditionError `ReferenceNotFound` (Fast) when the owner does not exist or
    has no ARM id yet, `Failed` (Error) when `spec.owner` is unusable.
    """
    reference = owner_reference(version, obj)
    if reference is None:
        is_ownerless = not version.is_arm and version.owner is None
        if version.scope in {"Location", "Tenant"} or is_ownerless:
            return None
        raise unusable("spec.owner is missing: name the owner, or give its armId")
    owner: JsonObject | None = None
    group_kind: GroupKind | None = None
    arm_id, where = reference.get("armId") or "", "spec.owner.armId"
    if not arm_id:
        name = reference.get("name")
        if not (name and reference.get("group") and reference.get("kind")):
            raise unusable(
                "spec.owner is incomplete: give group, kind and name, or armId alone"
            )
        group_kind = GroupKind(reference["group"], reference["kind"])
        owner = objects.get(group_kind, ObjectKey(key_of(obj).namespace, name))
        if owner is None:
            raise _not_found(group_kind, name, objects)
        own = annotations(owner)
        # Some owners are created under one id and own children by another: a
        # subscription's alias.
        arm_id = own.get(CHILD_ID_OVERRIDE) or own.get(RESOURCE_ID) or ""
        where = f"the resource id of owner {group_kind.kind} {name!r}"
        if not arm_id:
            # The same text as `require_ready`, so that the child's status is not
            # written again when its owner has got an id but is still not Ready.
            raise ConditionError(
                _why_unready(owner)
                or f"owner {group_kind.kind} {name!r} has no Azure resource id yet: "
                "see its Ready condition",
                reason="ReferenceNotFound",
                retry=RetryClass.FAST,
            )
    try:
        ids.parse_stated(arm_id)
    except ids.ArmIdError as error:
        raise unusable(f"{where}: {error}") from error
    return Owner(arm_id.rstrip("/"), owner, group_kind)


def require_ready(owner: Owner | None) -> None:
    """Raise ConditionError `WaitingForOwner` if a Kubernetes owner is not Ready.

    Used at the claim; later it is enough that the owner exists. Rules: R1.5, R1.6.
    """
    reason = _why_unready(owner.obj) if owner is not None and owner.obj else ""
    if reason:
        raise waiting(reason)


def _why_unready(owner: JsonObject) -> str:
    """Return the message of a child that waits for this owner; "" if the owner is
    Ready.
    """
    if is_ready(owner):
        return ""
    who = f"owner {owner.get('kind')} {key_of(owner).name!r}"
    ready = ready_of(owner)
    if ready.get("severity") in {"Warning", "Error"}:
        return f"{who} is not Ready ({ready.get('reason')}): see its Ready condition"
    return f"{who} is not Ready yet: it is waited for"


def waiting(message: str, *, retry: RetryClass = RetryClass.FAST) -> ConditionError:
    """Return the condition WaitingForOwner.

    retry: FAST by default, as an owner may become Ready at any moment.
    """
    return ConditionError(message, reason="WaitingForOwner", retry=retry)


def owner_labels(owner: Owner | None) -> dict[str, str]:
    """Return the labels for children of a Kubernetes owner; empty for an owner by ARM
    id. Rule: R2.3.
    """
    if owner is None or owner.obj is None or owner.group_kind is None:
        return {}
    return {
        OWNER_NAME: label_value(key_of(owner.obj).name),
        OWNER_GROUP_KIND: label_value(str(owner.group_kind)),
        OWNER_UID: uid_of(owner.obj),
    }


def with_owner_reference(
    references: list[JsonObject], owner: Owner | None
) -> list[JsonObject]:
    """Return the ownerReferences with exactly one entry for the owner, with its present
    uid.
    """
    if owner is None or owner.obj is None or owner.group_kind is None:
        return references
    kept_as = owner.kept_as
    api_version = f"{owner.group_kind.group}/{kept_as}" if kept_as else None
    named = {
        **owner.obj,
        "apiVersion": api_version or owner.obj.get("apiVersion"),
        "kind": owner.group_kind.kind,
    }
    meta = {"namespace": key_of(owner.obj).namespace, "ownerReferences": references}
    owned = {"metadata": meta}
    # Not `controller: true`: people create and delete children, not their owner.
    set_owner(owned, named, controller=False)
    return owner_references(owned)


def _not_found(group_kind: GroupKind, name: str, objects: Objects) -> ConditionError:
    if name.startswith("/subscriptions/"):
        return ConditionError(
            f"owner name {name!r} is an ARM id: give it as spec.owner.armId",
            reason="Failed",
        )
    if not objects.is_installed(group_kind):
        return ConditionError(
            f"the owner's kind {group_kind} is not installed in this cluster: "
            "install its CRD, or give the owner by armId",
            reason="ReferenceNotFound",
            retry=RetryClass.FAST,
        )
    return ConditionError(
        f"owner {group_kind.kind} {name!r} does not exist in this namespace: "
        "create it, or correct spec.owner",
        reason="ReferenceNotFound",
        retry=RetryClass.FAST,
    )
