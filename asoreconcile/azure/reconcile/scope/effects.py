"""The effects of decisions: metadata, conditions, events, log lines and memory.

Only `PatchMetadata` and `PatchSharedMetadata` block: they write to the cluster. The
rest is kept for the end of the reconcile, or handed to threads of their own.
"""

from collections.abc import Iterable

from asoreconcile.azure.reconcile.model.decisions import (
    AppendToMessages,
    CountSync,
    Effect,
    EmitEvent,
    EmitUnreadableEvent,
    Keep,
    Log,
    PatchMetadata,
    SetDrifted,
    SetMetadata,
    SetObservedGeneration,
    SetReady,
    UpdateMemory,
    WakeChildren,
)
from asoreconcile.azure.reconcile.scope.arm_errors import monitor_refused
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
            case SetReady(ready, reason_aware=reason_aware):
                patcher.set_ready(ready, reason_aware=reason_aware)
            case SetDrifted(message):
                patcher.set_drifted(message)
            case AppendToMessages(text):
                patcher.remark = text
            case SetObservedGeneration(generation):
                patcher.generation = generation
            case EmitEvent(type_, reason, message):
                scope.event(type_, reason, message)
            case EmitUnreadableEvent(refusal):
                message = str(monitor_refused(scope, refusal))
                scope.event("Warning", "OperationUnreadable", message)
            case Log():
                _log(scope, effect)
            case WakeChildren():
                scope.wake_children()
            case CountSync(cause, is_put=is_put):
                scope.operator.count_sync(cause, is_put)
            case UpdateMemory():
                _remember(scope.memory, effect)


def _log(scope: ReconcileScope, line: Log) -> None:
    log = scope.log.warning if line.level == "warning" else scope.log.info
    fields = {"reason": line.reason, "armId": line.arm_id}
    log(line.message, **{name: value for name, value in fields.items() if value})


def _remember(memory: ObjectMemory, change: UpdateMemory) -> None:
    if not isinstance(change.accepted, Keep):
        memory.accepted = change.accepted
    if not isinstance(change.poll, Keep):
        memory.poll = change.poll
    if not isinstance(change.precondition_failures, Keep):
        memory.precondition_failures = change.precondition_failures
    if not isinstance(change.failed_operation_generation, Keep):
        memory.record_failed_operation(change.failed_operation_generation)
    if not isinstance(change.repair_attempts, Keep):
        memory.repair_attempts = change.repair_attempts
    if not isinstance(change.credential, Keep):
        memory.credential = change.credential
    if not isinstance(change.unknown_values, Keep):
        memory.unknown_values = change.unknown_values
