"""The effects of decisions: metadata, conditions, events, log lines and memory.

Only `PatchMetadata` and `PatchSharedMetadata` block: they write to the cluster. The
rest is kept for the end of the reconcile, or handed to threads of their own.
"""

from collections.abc import Iterable

import attrs

from asoreconcile.azure.reconcile.model.decisions import (
    CountSync,
    Effect,
    EmitEvent,
    Keep,
    Log,
    PatchMetadata,
    SetDrifted,
    SetMetadata,
    SetObservedGeneration,
    UpdateMemory,
)
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.state.memory import ObjectMemory


def apply(scope: ReconcileScope, effects: Iterable[Effect]) -> None:
    """Apply effects in their order. Raises GoneError, ApiError."""
    patcher = scope.patcher
    for effect in effects:
        match effect:
            case SetMetadata(annotations, labels):
                patcher.annotate(annotations, labelled=labels)
            case PatchMetadata(annotations, labels):
                marked = scope.operations.marked(annotations)
                patcher.record(marked, labelled=labels)
            case SetDrifted(message):
                patcher.set_drifted(message)
            case SetObservedGeneration(generation):
                patcher.generation = generation
            case EmitEvent(type_, reason, message):
                scope.event(type_, reason, message)
            case Log(level, text, reason):
                log = scope.log.warning if level == "warning" else scope.log.info
                log(text, **({"reason": reason} if reason else {}))
            case CountSync(cause, is_put=is_put):
                scope.operator.count_sync(cause, is_put)
            case UpdateMemory():
                _remember(scope.memory, effect)


def _remember(memory: ObjectMemory, change: UpdateMemory) -> None:
    for name, value in attrs.asdict(change, recurse=False).items():
        if isinstance(value, Keep):
            continue
        if name == "failed_operation_generation":
            memory.record_failed_operation(value)
        else:
            setattr(memory, name, value)
