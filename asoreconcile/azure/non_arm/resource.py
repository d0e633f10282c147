"""The interface that each kind without ARM implements."""

from typing import Protocol

from asoreconcile.azure.reconcile.model.decisions import ReconcileOutcome
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.base.objects import ObjectKey


class ExternalResource(Protocol):
    """The external side of one kind: a database server, a directory.

    Each call runs on a worker thread, never two at once for one object, and blocks at
    most until the reconcile's deadline. It raises ConditionError for a failure to show
    in the Ready condition, and RetryError for a state that resolves by itself.
    `scope.patcher` stores annotations (`record`, before the external side is changed)
    and the status (`replace_status`); `scope.references` reads Secrets; `scope.event`
    records events.
    """

    def apply(self, scope: ReconcileScope) -> ReconcileOutcome:
        """Create the resource, or make it match the spec.

        Returns Succeeded if the resource matches, Requeue if the change is in progress.
        """

    def observe(self, scope: ReconcileScope) -> None:
        """Only read the resource, because the policy is skip.

        Raises ConditionError `AzureResourceNotFound` if it does not exist.
        """

    def delete(self, scope: ReconcileScope) -> ReconcileOutcome:
        """Delete the resource. Its owner, if it has one, exists.

        Returns Succeeded if the resource no longer exists, so that the finalizer can be
        removed.
        """

    def forget(self, key: ObjectKey) -> None:
        """Remove the state of an object that is gone. Must not block."""
