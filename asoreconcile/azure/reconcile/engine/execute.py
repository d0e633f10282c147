"""Performs decisions, action after action, until an ending."""

from contextlib import ExitStack

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.reconcile.model.decisions import (
    Decision,
    Fail,
    OperationLost,
    ReconcileOutcome,
    Refused,
    Requeue,
    Stop,
    Succeeded,
)
from asoreconcile.azure.reconcile.scope.arm_errors import (
    delete_failed,
    monitor_refused,
    operation_lost,
    put_failed,
)
from asoreconcile.azure.reconcile.scope.effects import apply
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.writes.actions import Actions
from asoreconcile.azure.reconcile.writes.success import after_error
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import annotations


def execute(scope: ReconcileScope, decision: Decision) -> ReconcileOutcome:
    """Perform a decision and those that follow. One PUT, DELETE or poll at most
    (R1.12).

    Raises ConditionError for endings that are failures; ArmError, ArmTransportError,
    Pending, GoneError, StaleError, ConflictError; RetryError when a write of a parent
    or a child interferes.
    """
    with ExitStack() as stack:
        actions = Actions(scope, stack)
        while True:
            for effect in decision.effects:
                apply(scope, effect)
            match decision.then:
                case Succeeded() | Requeue() | Stop() as outcome:
                    return outcome
                case Fail() | Refused() | OperationLost() as failure:
                    raise _error_of(scope, failure)
                case action:
                    try:
                        decision = actions.do(action)
                    except AsoreconcileError as error:
                        for effect in after_error(
                            action, error, annotations(scope.obj)
                        ):
                            apply(scope, effect)
                        raise


def _error_of(
    scope: ReconcileScope, failure: Fail | Refused | OperationLost
) -> ConditionError:
    match failure:
        case Fail(error):
            return error
        case Refused(refusal, "CreateOrUpdate"):
            return put_failed(scope, refusal)
        case Refused(refusal, "Delete"):
            return delete_failed(scope, refusal)
        case Refused(refusal):
            return monitor_refused(scope, refusal)
        case OperationLost(operation):
            return operation_lost(scope, operation)
