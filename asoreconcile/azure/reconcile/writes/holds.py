"""Holds requests of an object back because of deletion protection, maintenance windows
or a pause.

Rules: OW-4, OW-7.
"""

from collections.abc import Callable, Mapping
from datetime import datetime

from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass, Severity
from asoreconcile.azure.reconcile.model.annotations import EXISTENCE, PACE
from asoreconcile.azure.reconcile.model.conditions import is_ready, ready_of
from asoreconcile.azure.reconcile.model.decisions import Stop
from asoreconcile.azure.reconcile.model.existence import is_observing
from asoreconcile.azure.reconcile.model.pace import (
    OUTSIDE_WINDOW,
    PAUSED_REASON,
    closed_at,
    why_paused,
)
from asoreconcile.azure.reconcile.model.protection import (
    PROTECTED,
    names_of,
    why_held,
    why_held_by,
)
from asoreconcile.azure.reconcile.scope.patch_helper import PatchHelper, StaleError
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.scope.shared_dependencies import SharedDependencies
from asoreconcile.base.objects import is_deleting, uid_of
from asoreconcile.kube.event_correlator import EventType

# A function that writes an event of a type, with its reason and message.
EventWriter = Callable[[EventType, str, str], None]

# The wall clock may be set meanwhile, and a queue's delays do not follow it.
_LONGEST_WAIT_SECONDS = 6 * 3600.0
# A watch of Namespaces that is behind may be so for a while.
BEHIND_SECONDS = 1.0


def require_free(
    operator: SharedDependencies,
    patcher: PatchHelper,
    inherited: Mapping[str, str],
    *,
    event: EventWriter,
    is_delete: bool,
) -> None:
    """Make sure that no annotation holds the request back.

    inherited: live annotations of the Namespace. event: records an event at the object.
    Raises StaleError if the object is paused; ConditionError `DeletionProtected`,
    `OutsideMaintenanceWindow`; RetryError while objects that may be protected are not
    listed yet.
    """
    if is_delete:
        _require_unprotected(operator, patcher, inherited, event)
    elif EXISTENCE in patcher.annotations and is_observing(
        patcher.annotations, inherited
    ):
        raise StaleError(f"{patcher.key} only reads", after_seconds=BEHIND_SECONDS)
    if PACE.isdisjoint(patcher.annotations) and PACE.isdisjoint(inherited):
        return
    if why_paused(patcher.annotations, inherited):
        raise StaleError(f"{patcher.key} was paused", after_seconds=BEHIND_SECONDS)
    _require_open(patcher, inherited, operator.clock.now())


def paused(scope: ReconcileScope) -> Stop:
    """End the reconcile of a paused object. Raises ConditionError `Paused` if a change
    or a deletion waits.
    """
    patcher = scope.patcher
    ready = ready_of(patcher.obj)
    is_shown = (ready.get("observedGeneration") or 0) >= patcher.generation
    if is_shown and not is_deleting(patcher.obj):
        return Stop()
    raise ConditionError(
        why_paused(patcher.annotations, scope.namespace_annotations),
        reason=PAUSED_REASON,
        severity="Info",
        retry=RetryClass.VERY_SLOW,
    )


def _require_unprotected(
    operator: SharedDependencies,
    patcher: PatchHelper,
    inherited: Mapping[str, str],
    event: EventWriter,
) -> None:
    """Make sure that no annotation forbids the DELETE of the object's resource.

    A protected object also protects the resource that contains its own, if both are in
    the same namespace. A protected object of another namespace is only named in an
    event, because a tenant must not hold back the deletion of another tenant's
    resource.
    """
    if why := why_held(patcher.annotations, inherited):
        # Removing the annotation queues the object at once.
        raise ConditionError(why, reason=PROTECTED, retry=RetryClass.VERY_SLOW)
    below = operator.protected_below(patcher.arm_id, uid_of(patcher.obj))
    elsewhere = [one for one in below if one.key.namespace != patcher.key.namespace]
    here = [one for one in below if one not in elsewhere]
    if here:
        raise ConditionError(why_held_by(here), reason=PROTECTED)
    if elsewhere:
        text = (
            f"the deletion of {patcher.arm_id} also deletes the resources of "
            f"{names_of(elsewhere)}, which are protected in another namespace"
        )
        event("Warning", "ProtectedElsewhere", text)


def _require_open(
    patcher: PatchHelper, inherited: Mapping[str, str], now: datetime
) -> None:
    """Make sure that the object may be changed in Azure now."""
    closed = closed_at(now, patcher.annotations, inherited)
    if closed is None:
        return
    wait = _LONGEST_WAIT_SECONDS
    if closed.until is not None:
        wait = min(wait, max((closed.until - now).total_seconds(), 1.0))
    raise ConditionError(
        closed.why,
        reason=OUTSIDE_WINDOW,
        severity=severity_of_wait(patcher),
        after_seconds=wait,
    )


def severity_of_wait(patcher: PatchHelper) -> Severity:
    """Return the severity of a wait: Info, or Warning if it has to replace Ready=True,
    as after the change of a Secret.
    """
    return "Warning" if is_ready(patcher.obj, patcher.generation) else "Info"
