"""The effects of decisions: what is noted, shown, told and remembered.

Only `Record` and `Share` block: they write to the cluster. The rest is kept for the end
of the reconcile, or handed to threads of their own.
"""

from asoreconcile.azure.arm_errors import monitor_refused
from asoreconcile.azure.decisions import (
    Effect,
    JustWritten,
    Keep,
    KeepReady,
    Log,
    Note,
    PatchStatus,
    Record,
    Remark,
    Remember,
    Share,
    Show,
    SpeakOf,
    Tell,
    TellUnreadable,
)
from asoreconcile.azure.scope import ReconcileScope
from asoreconcile.kube.patch import apply_merge_patch


def apply(work: ReconcileScope, effect: Effect) -> None:
    """Raises GoneError, ApiError; ConflictError when the object changed (`Share`)."""
    session = work.session
    match effect:
        case Note(annotations, labels):
            session.annotate(annotations, labelled=labels)
        case Record(annotations, labels):
            session.record(annotations, labelled=labels)
        case Share(metadata):
            session.write_shared(metadata)
        case JustWritten():
            now = work.operator.clock.monotonic()
            work.memory.begun.note(work.obj, at=now)
        case Show(ready, reason_aware=reason_aware):
            session.set_ready(ready, reason_aware=reason_aware)
        case Remark(text):
            session.remark = text
        case KeepReady():
            session.restore_ready()
        case PatchStatus(patch):
            session.replace_status(apply_merge_patch(session.status, patch))
        case SpeakOf(generation):
            session.generation = generation
        case Tell(type_, reason, message):
            work.event(type_, reason, message)
        case TellUnreadable(refusal):
            told = str(monitor_refused(work, refusal))
            work.event("Warning", "OperationUnreadable", told)
        case Log():
            _log(work, effect)
        case Remember():
            _remember(work, effect)


def _log(work: ReconcileScope, line: Log) -> None:
    log = work.log.warning if line.level == "warning" else work.log.info
    fields = {"reason": line.reason, "armId": line.arm_id}
    log(line.message, **{name: value for name, value in fields.items() if value})


def _remember(work: ReconcileScope, change: Remember) -> None:
    memory = work.memory
    if not isinstance(change.accepted, Keep):
        memory.accepted = change.accepted
    if not isinstance(change.poll, Keep):
        memory.poll = change.poll
    if not isinstance(change.overtaken, Keep):
        memory.overtaken = change.overtaken
    if not isinstance(change.bad_end_of, Keep):
        memory.ended_badly(change.bad_end_of)
    if not isinstance(change.drifts, Keep):
        memory.drifts = change.drifts
    if not isinstance(change.credential, Keep):
        memory.credential = change.credential
    if not isinstance(change.misunderstood, Keep):
        memory.misunderstood = change.misunderstood
