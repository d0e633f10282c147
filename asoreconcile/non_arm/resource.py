"""What one kind without ARM does; everything else is the same for all of them."""

from typing import Protocol

from asoreconcile.azure.decisions import ReconcileOutcome
from asoreconcile.azure.reconcile_scope import ReconcileScope
from asoreconcile.objects import ObjectKey


class ExternalResource(Protocol):
    """One kind's outside: a server of a database, a directory.

    Each call is made on a worker thread, never two at once for one object, and blocks
    for as long as the reconcile's deadline allows at most. It raises ConditionError for
    what a person is to read in the Ready condition, RetryError for what comes about on
    its own. `scope.patcher` keeps annotations (`record`, before the outside is changed)
    and the status (`replace_status`); `scope.references` reads Secrets; `scope.event`
    tells.
    """

    def apply(self, scope: ReconcileScope) -> ReconcileOutcome:
        """Create it, or bring it in line with the spec.

        Succeeded: it is as wanted. Requeue: it is under way.
        """

    def observe(self, scope: ReconcileScope) -> None:
        """Look only, as the policy is skip.

        Raises ConditionError `AzureResourceNotFound` where there is nothing.
        """

    def delete(self, scope: ReconcileScope) -> ReconcileOutcome:
        """Delete it. Succeeded: it is gone, and the finalizer may go. Its owner, where
        it has one, is there.
        """

    def forget(self, key: ObjectKey) -> None:
        """Let go of what is kept of an object that is gone. Must not block."""

    def close(self) -> None:
        """Let go of everything, once nothing runs any more."""
