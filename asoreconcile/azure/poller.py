"""The running operation, kept on the object so that any process can go on with it."""

import attrs

from asoreconcile.arm.errors import ArmError, ArmTransportError
from asoreconcile.arm.outcomes import (
    Outcome,
    Pending,
    PollState,
    Progress,
    ReadResource,
    Restart,
)
from asoreconcile.arm.tokens import Token, TokenError, concerns, dumps, loads
from asoreconcile.azure.annotations import INPUTS, POLLER_ID, POLLER_TOKEN
from asoreconcile.azure.arm_errors import monitor_refused
from asoreconcile.azure.scope import ReconcileScope
from asoreconcile.errors import RetryError
from asoreconcile.objects import is_deleting

_UNAUTHENTICATED = 401


def store_poller(
    work: ReconcileScope,
    poller_id: str,
    running: Pending,
    *,
    notes: dict[str, str | None] | None = None,
    labelled: dict[str, str] | None = None,
) -> None:
    """Record an operation, durably before this returns; annotations (notes) and labels
    go in the same write.
    """
    due = work.operator.clock.monotonic() + running.delay_seconds
    work.memory.poll = PollState(running.progress, due)
    work.session.record(
        {POLLER_TOKEN: dumps(running.token), POLLER_ID: poller_id, **(notes or {})},
        labelled=labelled,
    )


def clear_poller(
    work: ReconcileScope, *, notes: dict[str, str | None] | None = None
) -> None:
    """Forget the recorded operation (R2.2), with the next write of metadata; notes:
    annotations of the same write.
    """
    work.memory.poll = PollState()
    present = {
        name: None
        for name in (POLLER_TOKEN, POLLER_ID, INPUTS)
        if work.session.annotation(name)
    }
    work.session.annotate({**present, **(notes or {})})


def load_poller(work: ReconcileScope) -> Token:
    """The recorded operation.

    Raises TokenError when it cannot be read (R1.14), or speaks of another resource than
    this object's: an annotation can be copied from elsewhere.
    """
    token = loads(work.session.annotation(POLLER_TOKEN))
    if not concerns(token, work.arm_id, deleting=is_deleting(work.obj)):
        raise TokenError("it belongs to another resource or another kind of request")
    return token


def poll(work: ReconcileScope, token: Token) -> Outcome:
    """Poll the operation once; not before its time (D4, L17): an event may
    have brought the reconcile forward.

    A monitor that is gone or cannot be asked is replaced by reading the resource
    itself, in the same reconcile (L16). Never ReadResource, but for a DELETE whose
    resource is still going. Raises ArmError when that read is refused,
    ArmTransportError, and ConditionError when a monitor refused before: its words tell
    more.
    """
    client = work.connection.client
    progress = work.memory.poll.progress
    early = work.memory.poll.due - work.operator.clock.monotonic()
    if early > 0:
        return Pending(token, early, progress)
    outcome = client.poll(token, progress)
    if isinstance(outcome, ReadResource):
        outcome = _judged(work, outcome, progress)
    if isinstance(outcome, Pending) and outcome.trouble is not None:
        work.log.warning("Cannot read the operation", reason=str(outcome.trouble))
    return outcome


def _judged(
    work: ReconcileScope, undecided: ReadResource, progress: Progress
) -> Outcome:
    """What the resource says of an operation whose monitor does not. What a monitor
    refused with is shown whatever comes of it, never only logged (L16).
    """
    refusal = undecided.error
    refused = {"error": str(refusal)} if refusal else {}
    work.log.info(
        "Reading the resource instead of its monitor", why=undecided.reason, **refused
    )
    try:
        outcome = work.connection.client.judge(
            work.arm_id,
            work.version.api_version,
            deleting=undecided.deleting,
            progress=progress,
        )
    except (ArmError, ArmTransportError, RetryError) as unread:
        if refusal is None:
            raise
        raise monitor_refused(work, refusal, unread) from refusal
    if refusal is None:
        return outcome
    if isinstance(outcome, Restart):
        if refusal.status == _UNAUTHENTICATED:
            raise monitor_refused(work, refusal) from refusal
        return attrs.evolve(outcome, error=refusal)
    work.event("Warning", "OperationUnreadable", str(monitor_refused(work, refusal)))
    return outcome
