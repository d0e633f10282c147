"""Runs the extensions of kinds without ARM: checks before a write, and the deletion."""

from asoreconcile.azure.middleware.extension_points import DELETE
from asoreconcile.azure.middleware.requests import (
    DeleteRequest,
    DeleteResult,
    InProgress,
    ResourceDeleted,
)
from asoreconcile.azure.non_arm.resource import ExternalResource
from asoreconcile.azure.reconcile.model.decisions import (
    ReconcileOutcome,
    Requeue,
    Succeeded,
)
from asoreconcile.azure.reconcile.policies.checks import run_prechecks
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.base.errors import RetryError
from asoreconcile.base.objects import is_deleting


def require_permission(scope: ReconcileScope) -> None:
    """Make sure that the object, as it is now, permits a write. Unless the object is
    being deleted, the checks of extensions run first.

    An `ExternalResource` calls it before each write: reads of the outside may take
    long. Raises ConditionError `ReconciliationBlocked`, or RetryError if a check
    postpones the write; as `sending.confirm`.
    """
    if scope.is_checked:
        scope.patcher.confirm()  # the answer to an own write may show a change
        return
    if not is_deleting(scope.patcher.obj):
        postponed = run_prechecks(scope, scope.owner())
        if postponed is not None:
            seconds = postponed.after_seconds
            raise RetryError("an extension postpones the write", after_seconds=seconds)
    scope.permit()
    scope.is_checked = True


def delete_through_extensions(
    scope: ReconcileScope, resource: ExternalResource
) -> ReconcileOutcome:
    """Delete the external resource as the last link of the kind's deletion chain."""
    version = scope.patcher.version
    chain = scope.operator.extensions.chain(DELETE, version.group_kind)

    def perform() -> DeleteResult:
        outcome = resource.delete(scope)
        if isinstance(outcome, Requeue):
            return InProgress(outcome.after_seconds)
        return ResourceDeleted()

    result = chain(DeleteRequest(scope.context, scope.patcher.obj, perform=perform))
    if isinstance(result, InProgress):
        return Requeue(result.after_seconds)
    return Succeeded()
