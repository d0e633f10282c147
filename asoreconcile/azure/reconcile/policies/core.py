"""The phases that belong to no policy: claim, owner, operations, the record of a PUT.

They carry D2, D10 and D15, so they are never taken out.
"""

from enum import Enum, auto

import attrs

from asoreconcile.azure.reconcile.exports.export import checked_expressions
from asoreconcile.azure.reconcile.identity.claim import (
    move_claim,
    require_valid,
    restore_owner,
)
from asoreconcile.azure.reconcile.identity.recorded_claim import accept_claim
from asoreconcile.azure.reconcile.model.conditions import reconciling, recreating
from asoreconcile.azure.reconcile.model.decisions import Requeue
from asoreconcile.azure.reconcile.model.drift_baseline import AcceptedPut
from asoreconcile.azure.reconcile.policies.requests import DecidedPut, Intent
from asoreconcile.base.objects import status


class Next(Enum):
    """A step that follows the phases in place of a PUT."""

    POLL = auto()  # the operation of an accepted PUT that has no record any more


def end_operation(intent: Intent) -> Next | None:
    """Return that an operation without a record is polled first.

    It runs whatever the spec says, so it is ended first (L27), and polled at once:
    another process may have seen its end and cleared the record.
    """
    accepted = intent.scope.memory.accepted
    is_running = accepted is not None and accepted.running is not None
    return Next.POLL if is_running else None


def sound_spec(intent: Intent) -> None:
    """Check the rules of the kind. Raises ConditionError."""
    patcher = intent.scope.patcher
    require_valid(patcher.version, patcher.obj)


def sound_expressions(intent: Intent) -> None:
    """Check the expressions of an object that has no resource yet: nothing is created
    in Azure that its author still has to mend. Raises ConditionError.
    """
    operator, patcher = intent.scope.operator, intent.scope.patcher
    if not status(patcher.obj).get("id"):
        checked_expressions(operator, patcher.version, patcher.obj)


def hold_claim(intent: Intent) -> Intent | Requeue | None:
    """Read the owner, and correct the claim if the spec names another resource or
    owner. Raises ConditionError.
    """
    scope = intent.scope
    owner = scope.owner()
    written = move_claim(scope, owner) or restore_owner(scope, owner)
    if written is not None or owner is None:
        return written
    return attrs.evolve(intent, owner=owner)


def own_subscription(intent: Intent) -> None:
    """Make sure that the resource is in the credential's subscription. Raises
    ConditionError.
    """
    intent.scope.connection.require_subscription_of(intent.identity.arm_id)


def follow_accepted(intent: Intent) -> AcceptedPut | None:
    """Go on after an accepted PUT of the same body: a retry after a reconcile that
    failed after its PUT (D15).
    """
    scope, patcher, accepted = (
        intent.scope,
        intent.scope.patcher,
        intent.scope.memory.accepted,
    )
    if accepted is None or accepted.record.put != intent.rendered.fingerprint:
        return None
    patcher.set_ready(reconciling(patcher.generation), reason_aware=True)
    patcher.annotate(accept_claim(scope, intent.identity.arm_id))
    return attrs.evolve(accepted, generation=patcher.generation)


def show_progress(request: DecidedPut) -> None:
    """Show that the object is reconciled, and that its resource is gone: otherwise
    Ready stays True until the resource is back.
    """
    scope, patcher = request.scope, request.scope.patcher
    scope.memory.absent_since = None
    patcher.set_ready(reconciling(patcher.generation), reason_aware=True)
    if request.intent.is_sync and scope.context.is_known_absent:
        patcher.set_ready(recreating(patcher.generation))
