"""The reconciler of one kind without ARM. It shares plan, claim and release with ARM
kinds.

As for ARM kinds, a claim ends the reconcile, because it must be stored before anything
outside the cluster is changed.
"""

import attrs

from asoreconcile.azure.non_arm.extension_points import delete_through_extensions
from asoreconcile.azure.non_arm.owner_in_azure import require_gone
from asoreconcile.azure.non_arm.resource import ExternalResource
from asoreconcile.azure.reconcile.engine.object_reconciler import ObjectReconciler
from asoreconcile.azure.reconcile.engine.plan import Step
from asoreconcile.azure.reconcile.engine.reconciler import STEPS, first_step, name_owner
from asoreconcile.azure.reconcile.identity.claim import require_valid
from asoreconcile.azure.reconcile.identity.owner_change import restore_owner
from asoreconcile.azure.reconcile.model.decisions import ReconcileOutcome, Succeeded
from asoreconcile.azure.reconcile.policies.checks import annotate_success, check_usable
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.writes.endings import release
from asoreconcile.base.objects import ObjectKey, spec


@attrs.frozen(eq=False)
class ExternalReconciler(ObjectReconciler):
    """`runtime.reconciler.Reconciler` for one kind without ARM."""

    _resource: ExternalResource

    def run(self, scope: ReconcileScope) -> ReconcileOutcome:
        """Run the planned step; the steps that write are those of the resource."""
        steps = {
            **STEPS,
            Step.PUT: self._put,
            Step.OBSERVE: self._observe,
            Step.DELETE: self._delete,
            Step.RELEASE: self._release,
        }
        step = first_step(scope)
        return name_owner(scope, step) or steps[step](scope)

    def forget(self, key: ObjectKey) -> None:
        """Remove the state of an object that no longer exists. Does not block."""
        super().forget(key)
        self._resource.forget(key)

    def _observe(self, scope: ReconcileScope) -> ReconcileOutcome:
        require_valid(scope.patcher.version, scope.patcher.obj)
        self._resource.observe(scope)
        return Succeeded()

    def _put(self, scope: ReconcileScope) -> ReconcileOutcome:
        require_valid(scope.patcher.version, scope.patcher.obj)
        if (written := restore_owner(scope, scope.owner())) is not None:
            return written
        outcome = self._resource.apply(scope)
        if isinstance(outcome, Succeeded):
            patcher, context = scope.patcher, scope.context
            extensions = scope.operator.extensions
            check_usable(patcher, context, extensions, scope.owner)
            annotate_success(patcher, context, extensions)
        return outcome

    def _delete(self, scope: ReconcileScope) -> ReconcileOutcome:
        if _owner_is_gone(scope):
            require_gone(scope)
            scope.event(
                "Normal",
                "OwnerGone",
                "The owner is gone: nothing is left to delete with it",
            )
            return self._release(scope)
        outcome = delete_through_extensions(scope, self._resource)
        return self._release(scope) if isinstance(outcome, Succeeded) else outcome

    def _release(self, scope: ReconcileScope) -> ReconcileOutcome:
        self._resource.forget(scope.patcher.key)
        return release(scope)


def _owner_is_gone(scope: ReconcileScope) -> bool:
    patcher = scope.patcher
    kind, reference = patcher.version.owner, spec(patcher.obj).get("owner")
    if kind is None or not isinstance(reference, dict):
        return False
    if not scope.operator.objects.is_installed(kind):
        return False  # the owner may exist
    name = str(reference.get("name") or "")
    key = ObjectKey(patcher.key.namespace, name)
    return scope.objects.get(kind, key) is None
