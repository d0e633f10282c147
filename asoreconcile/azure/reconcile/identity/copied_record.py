"""Removes the operator's records from an object that was copied from another one.

A manifest that is dumped from a cluster has the operator's annotations and finalizer.
Applied under another name, or by a restore, it is another object: it has claimed
nothing, and the operation that its token names is not its own.
"""

from asoreconcile.azure.arm import ids
from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.catalogue.names import is_named_by_uuid
from asoreconcile.azure.reconcile.identity.identity import is_from_config
from asoreconcile.azure.reconcile.identity.owner_change import written
from asoreconcile.azure.reconcile.model.annotation_table import TABLE
from asoreconcile.azure.reconcile.model.annotations import (
    AZURE_NAME_FROM_CONFIG,
    CLAIM,
    CLAIM_FACTS,
    FINALIZER,
    RESOURCE_ID,
    is_operators_own,
)
from asoreconcile.azure.reconcile.model.claim_record import (
    claim_of,
    named_object,
    names_another_object,
    stated_claim,
)
from asoreconcile.azure.reconcile.model.decisions import ReconcileOutcome
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.base.objects import finalizers, is_deleting, metadata, spec, uid_of

COPIED = "CopiedRecord"
"""The reason of the event about records that were copied from another object."""


def is_copied(scope: ReconcileScope) -> bool:
    """Return whether the records in the annotations are those of another object.

    A record of an earlier version states no object: it is compared with those of the
    objects that have its id. Raises RetryError while these are not listed yet.
    """
    obj, notes, operator = scope.patcher.obj, scope.patcher.annotations, scope.operator
    if names_another_object(obj):
        return True
    if CLAIM not in notes or CLAIM_FACTS in notes:
        return False
    stated = stated_claim(notes)
    try:
        is_own = stated is None or scope.claim is not None
    except ConditionError:
        return False  # without the key; the step that needs it says so
    if is_own or stated is None or not scope.patcher.version.is_arm:
        return False
    try:
        ids.parse_stated(stated.arm_id)
    except ids.ArmIdError:
        return False
    return any(
        claim_of(
            {"metadata": {**metadata(obj), "uid": uid_of(other)}}, operator.record_key
        )
        is not None
        for _, other in operator.objects_with_arm_id(stated.arm_id)
        if uid_of(other) != uid_of(obj)
    )


def disown(scope: ReconcileScope) -> ReconcileOutcome:
    """Remove the records of another object, and the finalizer, in one write.

    The next reconcile claims the object like a new one; a deleted object goes. A name
    that was generated or read at the claim is kept if the object was restored.
    """
    patcher, obj = scope.patcher, scope.patcher.obj
    version = patcher.version
    people = TABLE.by_name
    named = named_object(obj)
    is_restored = named == (patcher.key.namespace, patcher.key.name)
    is_made_up = is_named_by_uuid(version.group_kind) and not spec(obj).get("azureName")
    keeps_name = is_restored and (is_made_up or is_from_config(obj))
    kept = {RESOURCE_ID, AZURE_NAME_FROM_CONFIG} if keeps_name else set()
    removed = [
        name
        for name in patcher.annotations
        if is_operators_own(name) and name not in people and name not in kept
    ]
    whose = f"{named[0]}/{named[1]}" if named else "another object"
    text = (
        f"the operator's records in the annotations are those of {whose} (of another "
        "uid): they are removed, and nothing that they name was touched"
    )
    scope.log.warning("Removing the records of another object", reason=text)
    scope.event("Warning", COPIED, text)
    rest = [name for name in finalizers(obj) if name != FINALIZER]
    patcher.write_shared({"annotations": dict.fromkeys(removed), "finalizers": rest})
    if is_deleting(obj):
        scope.operator.forget(scope.kind, patcher.key)
    return written(scope)
