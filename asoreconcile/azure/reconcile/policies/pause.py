"""The pause: nothing is read or changed in Azure for a paused object. The decision is
`model.pace.why_paused`. Rule: OW-7.
"""

from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass
from asoreconcile.azure.reconcile.model.annotations import RECREATION_PLAN
from asoreconcile.azure.reconcile.model.conditions import ready_of
from asoreconcile.azure.reconcile.model.decisions import Stop
from asoreconcile.azure.reconcile.model.pace import PAUSED_REASON, why_paused
from asoreconcile.azure.reconcile.policies.recreation import comes_back
from asoreconcile.azure.reconcile.policies.requests import WriteRequest
from asoreconcile.azure.reconcile.scope.patch_helper import BEHIND_SECONDS, StaleError
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.base.objects import is_deleting


def not_paused(write: WriteRequest) -> None:
    """Make sure that the object was not paused meanwhile. Raises StaleError."""
    patcher = write.scope.patcher
    if why_paused(patcher.annotations, write.inherited):
        raise StaleError(f"{patcher.key} was paused", after_seconds=BEHIND_SECONDS)


def paused(scope: ReconcileScope) -> Stop:
    """End the reconcile of a paused object. Raises ConditionError `Paused` if a change,
    a deletion or the end of a recreation waits.
    """
    patcher = scope.patcher
    ready = ready_of(patcher.obj)
    is_shown = (ready.get("observedGeneration") or 0) >= patcher.generation
    is_needed = is_deleting(patcher.obj) or (
        RECREATION_PLAN in patcher.annotations and comes_back(scope)
    )
    if is_shown and not is_needed:
        return Stop()
    raise ConditionError(
        why_paused(patcher.annotations, scope.namespace_annotations),
        reason=PAUSED_REASON,
        severity="Info",
        retry=RetryClass.VERY_SLOW,
    )
