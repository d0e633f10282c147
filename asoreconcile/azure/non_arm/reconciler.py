"""The reconciler of one kind without ARM, within `azure.object_reconciler`.

As for ARM's kinds, the claim is a write that ends its reconcile: it must be stored
before any change outside the cluster.
"""

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.non_arm import plan
from asoreconcile.azure.non_arm.plan import Step
from asoreconcile.azure.non_arm.resource import ExternalResource
from asoreconcile.azure.reconcile.engine.object_reconciler import (
    ObjectReader,
    ObjectReconciler,
)
from asoreconcile.azure.reconcile.identity.claim import restored_owner
from asoreconcile.azure.reconcile.identity.claim_reads import claimable_owner
from asoreconcile.azure.reconcile.model.annotation_values import unknown_values
from asoreconcile.azure.reconcile.model.annotations import (
    OPERATOR_NAMESPACE,
    RECONCILE_POLICY,
)
from asoreconcile.azure.reconcile.model.decisions import (
    IN_PROGRESS_PRIORITY,
    Effect,
    ReconcileOutcome,
    Requeue,
    Stop,
    Succeeded,
)
from asoreconcile.azure.reconcile.scope.effects import apply
from asoreconcile.azure.reconcile.scope.reconcile_scope import (
    KindRuntime,
    ReconcileScope,
    SharedDependencies,
)
from asoreconcile.azure.reconcile.scope.validate import require_valid
from asoreconcile.base.objects import (
    ObjectKey,
    annotations,
    finalizers,
    labels,
    owner_references,
)
from asoreconcile.runtime.reconciler import Request, Result


class ExternalReconciler:
    """`runtime.reconciler.Reconciler` for one kind."""

    def __init__(
        self,
        operator: SharedDependencies,
        kind: KindRuntime,
        reader: ObjectReader,
        resource: ExternalResource,
    ) -> None:
        self._resource = resource
        self._objects = ObjectReconciler(
            operator, kind, reader, run=self._run, on_gone=resource.forget
        )

    def reconcile(self, request: Request) -> Result:
        """As `ObjectReconciler.reconcile`."""
        return self._objects.reconcile(request)

    def _run(self, scope: ReconcileScope) -> ReconcileOutcome:
        decided = plan.plan_of(
            scope.obj,
            policy=scope.policy,
            operator_namespace=scope.operator.namespace,
        )
        if decided.step is not Step.LEAVE:
            _apply(scope, _unknown_values(scope))
        _apply(scope, decided.effects)
        outcome = self._do(scope, decided.step)
        if not isinstance(outcome, Stop):
            scope.patcher.flush()
        return outcome

    def _do(self, scope: ReconcileScope, step: Step) -> ReconcileOutcome:
        match step:
            case Step.LEAVE:
                return Stop()
            case Step.CLAIM:
                return _claim(scope)
            case Step.APPLY:
                return self._put(scope)
            case Step.OBSERVE:
                require_valid(scope)
                self._resource.observe(scope)
                return Succeeded()
            case Step.DELETE:
                return self._delete(scope)
            case Step.RELEASE:
                return self._release(scope)

    def _put(self, scope: ReconcileScope) -> ReconcileOutcome:
        require_valid(scope)
        found, references = labels(scope.obj), owner_references(scope.obj)
        if decided := restored_owner(found, references, scope.owner()):
            _apply(scope, decided.effects)
            return _soon()
        scope.patcher.confirm()
        return self._resource.apply(scope)

    def _delete(self, scope: ReconcileScope) -> ReconcileOutcome:
        if _owner_is_gone(scope):
            scope.event(
                "Normal",
                "OwnerGone",
                "The owner is gone: nothing is left to delete with it",
            )
            return self._release(scope)
        outcome = self._resource.delete(scope)
        return self._release(scope) if isinstance(outcome, Succeeded) else outcome

    def _release(self, scope: ReconcileScope) -> ReconcileOutcome:
        scope.operator.forget(scope.kind, scope.key)
        self._resource.forget(scope.key)
        _apply(scope, plan.released(finalizers(scope.obj)))
        return Stop()


def _claim(scope: ReconcileScope) -> ReconcileOutcome:
    namespace = scope.operator.namespace
    is_marked = bool(annotations(scope.obj).get(OPERATOR_NAMESPACE))
    try:
        require_valid(scope)
        owner = claimable_owner(scope)
    except ConditionError:
        if is_marked:
            raise
        # The next reconcile raises it again, and shows it on an object that is ours.
        _apply(scope, plan.marked(operator_namespace=namespace))
        return _soon()
    effects = plan.claimed(
        finalizers=finalizers(scope.obj),
        owner_references=owner_references(scope.obj),
        owner=owner,
        build=scope.operator.build,
        operator_namespace=namespace,
    )
    _apply(scope, effects)
    return _soon()


def _owner_is_gone(scope: ReconcileScope) -> bool:
    kind = scope.version.owner
    reference = scope.obj.get("spec", {}).get("owner")
    if kind is None or not isinstance(reference, dict):
        return False
    if not scope.operator.objects.is_installed(kind):
        return False  # unknown
    key = ObjectKey(scope.key.namespace, str(reference.get("name") or ""))
    return scope.objects.get(kind, key) is None


def _unknown_values(scope: ReconcileScope) -> tuple[Effect, ...]:
    operator = scope.operator
    return unknown_values(
        annotations(scope.obj),
        operator.namespace_annotations(scope.key.namespace),
        defaults={RECONCILE_POLICY: operator.default_policy},
        known=scope.memory.unknown_values,
    )


def _apply(scope: ReconcileScope, effects: tuple[Effect, ...]) -> None:
    for effect in effects:
        apply(scope, effect)


def _soon() -> Requeue:
    return Requeue(0.0, priority=IN_PROGRESS_PRIORITY)
