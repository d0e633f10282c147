"""Decides by the checks whether a PUT may be sent. Pure.

The GETs' answers decide, never an older status. Rules: R1.9, R1.10.
"""

from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.status import status_of
from asoreconcile.azure.middleware.requests import Block, Postpone, PreResult, Proceed
from asoreconcile.azure.reconcile.model.decisions import (
    Decision,
    Fail,
    Requeue,
    RestoreReady,
)
from asoreconcile.azure.reconcile.model.owner import Owner, waiting
from asoreconcile.base.objects import JsonObject


def after_precheck(result: PreResult) -> Decision | None:
    """How the reconcile ends instead of the PUT; None: the PUT may be sent.

    A check that blocks fails it with `ReconciliationBlocked` (R1.10).
    """
    match result:
        case Proceed():
            return None
        case Postpone(after_seconds=after_seconds):
            return Decision((RestoreReady(),), Requeue(after_seconds))
        case Block(message=message, retry=retry):
            error = ConditionError(message, reason="ReconciliationBlocked", retry=retry)
            return Decision((), Fail(error))


def fresh_owner(owner: Owner, version: KindVersion, body: JsonObject) -> JsonObject:
    """The owner with the status that Azure reports now. body: Azure's."""
    base = owner.obj or {
        "apiVersion": version.gvk.api_version,
        "kind": version.gvk.kind,
        "metadata": {"name": owner.arm_id.rpartition("/")[2]},
    }
    return {**base, "status": status_of(version, body)}


def fresh_object(
    obj: JsonObject, version: KindVersion, body: JsonObject | None
) -> JsonObject:
    """The object with the status that Azure reports now; without a status if Azure has
    no resource: the old status of a deleted resource must not block the next one.
    """
    return {**obj, "status": {} if body is None else status_of(version, body)}


def owner_absent(owner: Owner) -> ConditionError:
    """The condition if the owner does not exist in Azure; the child is not PUT."""
    what = "correct spec.owner" if owner.obj is None else "see its own Ready condition"
    return waiting(
        f"the owner {owner.arm_id} does not exist in Azure, so nothing is sent: it is "
        f"waited for; {what}",
        retry=RetryClass.SLOW,
    )
