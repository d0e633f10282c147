"""Exports: Secrets and ConfigMaps get the values of a read resource. The writing is in
`reconcile.exports`.
"""

from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.reconcile.exports.export import Exporter, FetchFailure
from asoreconcile.azure.reconcile.model.conditions import EXPORT_FAILED
from asoreconcile.azure.reconcile.policies.requests import SettleRequest
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope


def export_values(request: SettleRequest) -> None:
    """Export values of the resource. Raises as `Exporter.export`.

    After this phase nothing may fail, because the export record is written with the
    next write of metadata; without the record the secrets would be fetched again.
    """
    scope, patcher = request.scope, request.scope.patcher
    current = {**patcher.obj, "status": patcher.status}
    period = scope.sync_period_seconds
    exporter = Exporter(scope.operator, patcher, scope.context, scope.memory, period)
    exported = exporter.export(current)
    if exported.failure is not None:
        _show_failed_export(scope, exported.failure)
    elif exported.is_fetched:
        patcher.set_problem(EXPORT_FAILED)


def _show_failed_export(scope: ReconcileScope, failure: FetchFailure) -> None:
    """Show in a condition that the targets keep the values of the last export; Ready is
    unchanged.
    """
    match failure:
        case ArmError():
            why = str(scope.errors.read_failed(failure))
        case ArmTransportError():
            why = str(scope.errors.unreachable(failure))
        case _:
            why = str(failure)
    text = (
        "The exported Secrets and ConfigMaps keep the values of the last export, as "
        f"those of Azure could not be fetched: {why}"
    )
    scope.log.warning("Export failed", reason=why)
    scope.event("Warning", EXPORT_FAILED, text)
    scope.patcher.set_problem(EXPORT_FAILED, text)
