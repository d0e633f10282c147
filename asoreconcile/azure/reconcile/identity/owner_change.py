"""Changes the owner of an object to another one of the same Azure id: a rename.

The child carries the reference to the new owner next to the former one as soon as the
new one exists, so that the garbage collector keeps the child whichever of them goes
first. The former reference goes once the new owner manages its resource.
"""

from collections.abc import Mapping, Sequence

import attrs

from asoreconcile.azure.reconcile.identity.identity import identify
from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.annotations import (
    ALLOW_OWNER_CHANGE,
    OWNER_GROUP_KIND,
    OWNER_NAME,
    OWNER_UID,
    RESOURCE_ID,
    label_value,
)
from asoreconcile.azure.reconcile.model.decisions import IN_PROGRESS_PRIORITY, Requeue
from asoreconcile.azure.reconcile.model.owner import (
    Owner,
    owner_labels,
    owner_target,
    with_owner_reference,
)
from asoreconcile.azure.reconcile.model.standing import standing_in
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.base.objects import (
    JsonObject,
    ObjectKey,
    is_deleting,
    labels,
    owner_references,
    uid_of,
)


def written(scope: ReconcileScope) -> Requeue:
    """End a reconcile after a write that must be stored before any request to Azure.

    The next reconcile starts at once, from the object that was written.
    """
    now = scope.operator.clock.monotonic()
    scope.memory.recent_writes.note(scope.patcher.obj, at=now)
    return Requeue(0.0, priority=IN_PROGRESS_PRIORITY)


def name_beside(scope: ReconcileScope) -> Requeue | None:
    """Write the reference to the owner that the spec names next to the former one.

    The new owner need not have an id yet. Return None if nothing is to be written.
    Raises ConditionError `Failed` if the ARM id differs under this owner.
    """
    patcher, obj = scope.patcher, scope.patcher.obj
    if is_deleting(obj) or _is_named(scope):
        return None
    new = _named_owner(scope)
    references = owner_references(obj)
    if new is None or is_deleting(_object(new)) or _has(references, new):
        return None
    if annotations(_object(new)).get(RESOURCE_ID) and patcher.version.is_arm:
        identify(scope, scope.owner())  # an owner of another id is refused
    scope.log.info("Naming the new owner next to the former one")
    patcher.write_shared({"ownerReferences": with_owner_reference([*references], new)})
    return written(scope)


def restore_owner(scope: ReconcileScope, owner: Owner | None) -> Requeue | None:
    """Write the owner reference again if the owner is another object than at the claim.

    The spec may name another object now, or another object may have taken the owner's
    name. Return None if the owner is the same, or while the former owner must stay
    named, too.

    The reference is written before any request to Azure, so that the garbage collector
    knows the owner. Raises ConditionError `Failed` if the ARM id differs under this
    owner.
    """
    patcher, obj = scope.patcher, scope.patcher.obj
    meta = renamed_owner(labels(obj), owner_references(obj), owner)
    if meta is None:
        return None
    if patcher.version.is_arm:
        identify(scope, owner)
    is_allowed = bool(patcher.annotations.get(ALLOW_OWNER_CHANGE))
    if not _is_settled(scope, owner):
        if not is_allowed:
            return None
        meta = {}
    if is_allowed:
        meta["annotations"] = {ALLOW_OWNER_CHANGE: None}
    scope.log.info("Naming the new owner")
    patcher.write_shared(meta)
    return written(scope)


def renamed_owner(
    labels: Mapping[str, str],
    owner_references: Sequence[JsonObject],
    owner: Owner | None,
) -> JsonObject | None:
    """Return the metadata that names the present owner; None if the owner is the same
    as at the claim. Pure.

    The label from the claim decides, not the owner reference: if a user has removed the
    reference, it stays removed.
    """
    named = labels.get(OWNER_UID)
    uid = None if owner is None or owner.obj is None else uid_of(owner.obj)
    if not named or named == uid:
        return None
    former = dict.fromkeys((OWNER_NAME, OWNER_GROUP_KIND, OWNER_UID))
    others = [one for one in owner_references if one.get("uid") != named]
    return {
        "labels": {**former, **owner_labels(owner)},
        "ownerReferences": with_owner_reference(others, owner),
    }


def is_kept_by_another(scope: ReconcileScope) -> str:
    """Return the living owner that the spec of a deleted object names, if the garbage
    collector deletes the object with its former owner; else "".
    """
    obj = scope.patcher.obj
    named, new = labels(obj).get(OWNER_UID), _named_owner(scope)
    if not named or new is None or uid_of(_object(new)) == named:
        return ""
    if is_deleting(_object(new)) or _has(owner_references(obj), new):
        return ""  # the collector keeps what such an owner owns: a person deletes it
    return "" if _exists(scope, named) else f"{new.group_kind} {_name(new)}"


def _is_settled(scope: ReconcileScope, owner: Owner | None) -> bool:
    """Return whether the reference to the former owner may go."""
    if owner is None or owner.obj is None:
        return True
    named = labels(scope.patcher.obj).get(OWNER_UID) or ""
    if not _exists(scope, named, or_goes=True):
        return True
    return standing_in(owner.obj, owner.arm_id, scope.operator.record_key).manages


def _is_named(scope: ReconcileScope) -> bool:
    """Return whether the labels name the owner that the spec names, or no owner."""
    obj = scope.patcher.obj
    noted, target = labels(obj), owner_target(scope.patcher.version, obj)
    if target is None or not noted.get(OWNER_UID):
        return True
    return (noted.get(OWNER_NAME), noted.get(OWNER_GROUP_KIND)) == (
        label_value(target.key.name),
        label_value(str(target.group_kind)),
    )


def _named_owner(scope: ReconcileScope) -> Owner | None:
    """Return the owner object that the spec names, if it exists, without its id."""
    target = owner_target(scope.patcher.version, scope.patcher.obj)
    if target is None:
        return None
    obj = scope.objects.get(*target)
    served = scope.operator.objects.served(target.group_kind)
    owner = None if obj is None else Owner("", obj, target.group_kind)
    if owner is None or served is None:
        return owner
    return attrs.evolve(owner, kept_as=served.kept_as)


def _exists(scope: ReconcileScope, uid: str, *, or_goes: bool = False) -> bool:
    """Return whether the owner at the claim is in the cluster.

    or_goes: whether it may be in deletion.
    """
    patcher = scope.patcher
    noted, target = labels(patcher.obj), owner_target(patcher.version, patcher.obj)
    if target is None:
        return False
    key = ObjectKey(patcher.key.namespace, noted.get(OWNER_NAME) or "")
    former = scope.objects.get(target.group_kind, key)
    if former is None or uid_of(former) != uid:
        return False
    return or_goes or not is_deleting(former)


def _has(references: Sequence[JsonObject], owner: Owner) -> bool:
    return any(one.get("uid") == uid_of(_object(owner)) for one in references)


def _object(owner: Owner) -> JsonObject:
    return owner.obj or {}


def _name(owner: Owner) -> str:
    return str((_object(owner).get("metadata") or {}).get("name") or "")
