"""The reconciler of one ARM kind: plan and execute, within `object_reconciler`.

A reconcile makes at most one write to Azure or one poll, and never waits.
"""

from asoreconcile.azure.reconcile.engine.execute import execute
from asoreconcile.azure.reconcile.engine.object_reconciler import (
    ObjectReader,
    ObjectReconciler,
)
from asoreconcile.azure.reconcile.engine.plan import plan
from asoreconcile.azure.reconcile.model.annotation_values import unknown_values
from asoreconcile.azure.reconcile.model.annotations import RECONCILE_POLICY
from asoreconcile.azure.reconcile.model.decisions import (
    Decision,
    ReconcileOutcome,
    Stop,
    Succeeded,
)
from asoreconcile.azure.reconcile.model.sync_mode import SYNC_MODE
from asoreconcile.azure.reconcile.scope.reconcile_scope import (
    KindRuntime,
    ReconcileScope,
    SharedDependencies,
)
from asoreconcile.azure.reconcile.sync.note_writes import write_or_defer
from asoreconcile.base.objects import annotations
from asoreconcile.runtime.reconciler import Request, Result


class ArmReconciler:
    """`runtime.reconciler.Reconciler` for one kind."""

    def __init__(
        self, operator: SharedDependencies, kind: KindRuntime, reader: ObjectReader
    ) -> None:
        self._objects = ObjectReconciler(operator, kind, reader, run=_run)

    def reconcile(self, request: Request) -> Result:
        """As `ObjectReconciler.reconcile`."""
        return self._objects.reconcile(request)


def _run(scope: ReconcileScope) -> ReconcileOutcome:
    operator = scope.operator
    decided = plan(
        scope.obj,
        policy=scope.policy,
        operator_namespace=operator.namespace,
        can_delete="Delete" in scope.version.operations,
    )
    if not isinstance(decided.then, Stop):
        effects = unknown_values(
            annotations(scope.obj),
            scope.namespace_annotations,
            defaults={
                RECONCILE_POLICY: operator.default_policy,
                SYNC_MODE: operator.sync_mode,
            },
            known=scope.memory.unknown_values,
        )
        decided = Decision((*effects, *decided.effects), decided.then)
    outcome = execute(scope, decided)
    if isinstance(outcome, Succeeded):
        write_or_defer(scope)
    elif not isinstance(outcome, Stop):
        scope.patcher.flush()
    return outcome
