"""The effects of decisions: metadata, conditions, events, log lines and memory.

Only `PatchMetadata` and `PatchSharedMetadata` block: they write to the cluster. The
rest is kept for the end of the reconcile, or handed to threads of their own.
"""

from collections.abc import Iterable

from asoreconcile.azure.reconcile.model.decisions import (
    CountSync,
    Effect,
    EmitEvent,
    Log,
    SetDrifted,
    SetMetadata,
    UpdateMemory,
)
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope


def apply(scope: ReconcileScope, effects: Iterable[Effect]) -> None:
    """Apply effects in their order. Raises GoneError, ApiError."""
    patcher = scope.patcher
    for effect in effects:
        match effect:
            case SetMetadata(annotations, labels):
                patcher.annotate(annotations, labelled=labels)
            case SetDrifted(message):
                patcher.set_drifted(message)
            case EmitEvent(type_, reason, message):
                scope.event(type_, reason, message)
            case Log(level, text, reason):
                log = scope.log.warning if level == "warning" else scope.log.info
                log(text, **({"reason": reason} if reason else {}))
            case CountSync(cause, is_put=is_put):
                scope.operator.count_sync(cause, is_put)
            case UpdateMemory(repair_attempts):
                scope.memory.repair_attempts = repair_attempts
