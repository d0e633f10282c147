"""The effects of a sync's decision: metadata, conditions, events, log lines, memory."""

from collections.abc import Callable, Iterable

from asoreconcile.azure.middleware.context import ReconcileContext
from asoreconcile.azure.reconcile.model.conditions import DRIFTED
from asoreconcile.azure.reconcile.model.decisions import (
    CountSync,
    Effect,
    EmitEvent,
    Log,
    SetDrifted,
    SetMetadata,
    SyncCause,
    UpdateMemory,
)
from asoreconcile.azure.reconcile.scope.patch_helper import PatchHelper
from asoreconcile.azure.reconcile.state.memory import ObjectMemory


def apply(
    effects: Iterable[Effect],
    patcher: PatchHelper,
    context: ReconcileContext,
    memory: ObjectMemory,
    count_sync: Callable[[SyncCause, bool], None],
) -> None:
    """Apply effects in their order. Never blocks: the object is written at the end of
    the reconcile.
    """
    for effect in effects:
        match effect:
            case SetMetadata(annotations):
                patcher.annotate(annotations)
            case SetDrifted(message):
                patcher.set_problem(DRIFTED, message)
            case EmitEvent(type_, reason, message):
                context.event(type_, reason, message)
            case Log(level, text, reason):
                log = context.log.warning if level == "warning" else context.log.info
                log(text, **({"reason": reason} if reason else {}))
            case CountSync(cause, is_put=is_put):
                count_sync(cause, is_put)
            case UpdateMemory(repair_attempts):
                memory.keep(repair_attempts)
