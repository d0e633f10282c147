"""The protocol of a kind without ARM; all else is shared."""

from typing import Protocol

from asoreconcile.azure.reconcile.model.decisions import ReconcileOutcome
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.base.objects import ObjectKey


class ExternalResource(Protocol):
    """One kind's external system: a database server, a directory.

    Each call is made on a worker thread, never two at once for one object, and blocks
    at most until the reconcile's deadline. It raises ConditionError for an error in the
    Ready condition, RetryError for something that only needs time. `scope.patcher`
    writes annotations (`record`, before the external system is changed) and the status
    (`replace_status`); `scope.references` reads Secrets; `scope.event` records events.
    """

    def apply(self, scope: ReconcileScope) -> ReconcileOutcome:
        """Create it, or update it to the spec.

        Succeeded: it matches the spec. Requeue: it is in progress.
        """

    def observe(self, scope: ReconcileScope) -> None:
        """Only read it, as the policy is skip.

        Raises ConditionError `AzureResourceNotFound` if it does not exist.
        """

    def delete(self, scope: ReconcileScope) -> ReconcileOutcome:
        """Delete it. Succeeded: it is gone, and the finalizer may be removed. Its
        owner, if any, exists.
        """

    def forget(self, key: ObjectKey) -> None:
        """Drop the state of an object that is gone. Must not block."""

    def close(self) -> None:
        """Release everything; called after the last reconcile."""
