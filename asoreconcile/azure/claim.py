"""Making an object ours before anything is asked of Azure.

One write, and the end of its reconcile: whose the object is, the finalizer, the ARM id,
the owner's labels and reference. It rests on the resource version, so that of two
operators only one may win it. It is stored before any PUT (R1.4), so whatever dies
afterwards leaves an object whose deletion still reaches Azure. What the spec needs must
be there: a missing owner, reference, Secret or ConfigMap means no finalizer yet.
"""

from contextlib import suppress

from asoreconcile.arm.condition_error import ConditionError
from asoreconcile.azure.annotations import (
    AZURE_NAME_FROM_CONFIG,
    FINALIZER,
    LAST_RECONCILED_VERSION,
    LATEST_RECONCILED_GENERATION,
    OPERATOR_NAMESPACE,
    OWNER_UID,
    RESOURCE_ID,
    label_value,
)
from asoreconcile.azure.identity import identify, is_from_config
from asoreconcile.azure.owner import (
    Owner,
    owner_labels,
    require_ready,
    waiting,
    with_owner_reference,
)
from asoreconcile.azure.scope import ReconcileScope
from asoreconcile.azure.validate import require_valid
from asoreconcile.catalogue.payload import to_arm
from asoreconcile.objects import (
    JsonObject,
    finalizers,
    labels,
    owner_references,
    spec,
)


def mark(work: ReconcileScope, *, claim: bool) -> None:
    """Write whose the object is, in one write with its claim where one is due and can
    be made (R1.3). Nothing is asked of Azure.

    Raises ConflictError (the object changed: start again), GoneError.
    """
    meta: JsonObject = {}
    if claim:
        # Whatever it waits for or stumbles over the next reconcile meets again, and
        # shows on an object that is ours by then.
        with suppress(Exception):
            meta = _claimed(work)
    ours = {OPERATOR_NAMESPACE: work.operator.namespace}
    meta["annotations"] = {**ours, **meta.get("annotations", {})}
    _write(work, meta)


def claim(work: ReconcileScope) -> None:
    """Write the claim; the working copy is the claimed object afterwards.

    Raises ConditionError (nothing written), ConflictError (the object changed: start
    again), GoneError.
    """
    _write(work, _claimed(work))


def _claimed(work: ReconcileScope) -> JsonObject:
    """The metadata of the claim. Raises ConditionError for what it waits for."""
    require_valid(work)
    owner = _owner(work)
    identity = identify(work, owner)
    work.require_subscription(identity.arm_id)
    # Resolve every input now: an object that cannot be PUT is not claimed yet.
    to_arm(work.version, spec(work.obj), name=identity.name, inputs=work.references)
    labelled = {
        **owner_labels(owner),
        LAST_RECONCILED_VERSION: label_value(work.operator.build),
    }
    noted = {
        RESOURCE_ID: identity.arm_id,
        LATEST_RECONCILED_GENERATION: str(work.session.generation),
    }
    if is_from_config(work.obj):
        noted[AZURE_NAME_FROM_CONFIG] = identity.name
    references = with_owner_reference(owner_references(work.obj), owner)
    return {
        "finalizers": [*finalizers(work.obj), FINALIZER],
        "annotations": noted,
        "labels": labelled,
        **({"ownerReferences": references} if references else {}),
    }


def _write(work: ReconcileScope, meta: JsonObject) -> None:
    arm_id = meta["annotations"].get(RESOURCE_ID)
    if arm_id:
        work.log.info("Claiming", armId=arm_id)
    work.session.write_shared(meta)
    if arm_id:
        work.memory.use_credential(work.connection.source)
        work.credential_event()


def restore_id(work: ReconcileScope) -> None:
    """Write the ARM id again, which someone removed after the claim (D10).

    Raises ConditionError when it cannot be derived, GoneError.
    """
    identity = identify(work, work.owner())
    work.log.warning("Writing the lost resource-id anew", armId=identity.arm_id)
    work.session.record({RESOURCE_ID: identity.arm_id})


def restore_owner(work: ReconcileScope, owner: Owner | None) -> bool:
    """Name the owner again when another object has its name since the claim; whether
    that was written.

    The label of the claim is the record: a reference that a user took away stays away.
    Raises ConflictError, GoneError.
    """
    named = labels(work.obj).get(OWNER_UID)
    wanted = owner_labels(owner)
    if not named or not wanted or named == wanted[OWNER_UID]:
        return False
    references = with_owner_reference(owner_references(work.obj), owner)
    work.log.info("Naming the new owner", ownerUid=wanted[OWNER_UID])
    work.session.write_shared({"labels": wanted, "ownerReferences": references})
    return True


def _owner(work: ReconcileScope) -> Owner | None:
    """The owner, existing and Ready. A missing one is waited for (R1.5)."""
    try:
        owner = work.owner()
    except ConditionError as error:
        if error.reason == "ReferenceNotFound":
            raise waiting(str(error)) from error
        raise
    require_ready(owner)
    return owner
