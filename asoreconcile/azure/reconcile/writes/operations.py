"""Polls the recorded operation of an object, a PUT's or a DELETE's.

A failed poll says nothing about the operation, so its token is kept (D3).
"""

from urllib.parse import parse_qs, urlsplit

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.arm.outcomes import (
    ArmOutcome,
    Failed,
    OperationDone,
    Pending,
    PollState,
    ReadResource,
    Restart,
)
from asoreconcile.azure.arm.tokens import Token, TokenError, TokenShape
from asoreconcile.azure.reconcile.model.annotations import (
    DELETE_POLLER,
    LATEST_RECONCILED_GENERATION,
    POLLER_MARK,
    POLLER_TOKEN,
    PUT_POLLER,
)
from asoreconcile.azure.reconcile.model.decisions import (
    ReadAfter,
    ReconcileOutcome,
    Requeue,
)
from asoreconcile.azure.reconcile.policies import order
from asoreconcile.azure.reconcile.policies.phase import run
from asoreconcile.azure.reconcile.policies.requests import RefusedRequest
from asoreconcile.azure.reconcile.scope.patch_helper import PatchHelper
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.scope.recorded_operation import (
    clear_token,
    forget_put,
    is_news,
    is_polled_alike,
    newest_token,
    recorded_token,
    withheld,
)
from asoreconcile.azure.reconcile.state.memory import ObjectMemory
from asoreconcile.azure.reconcile.sync.put_record import has_other_inputs
from asoreconcile.azure.reconcile.sync.rendering import rendered_again
from asoreconcile.azure.reconcile.writes.endings import release, settle
from asoreconcile.base.errors import RetryError
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import JsonObject, is_deleting

_UNAUTHENTICATED = 401


def poll(scope: ReconcileScope) -> ReconcileOutcome:
    """Poll once, unless it is too early, and act on the answer.

    Raises ConditionError for an operation that failed or left no trace, and the
    exceptions of `settle`.
    """
    patcher, memory = scope.patcher, scope.memory
    deleting = is_deleting(patcher.obj)
    is_marked = scope.operations.has_mark(POLLER_TOKEN)
    try:
        recorded = recorded_token(
            patcher.annotations,
            arm_id=patcher.arm_id,
            deleting=deleting,
            is_marked=is_marked,
        )
    except TokenError as error:
        return _unreadable(patcher, memory, scope.log, error)
    # A watch event can trigger the reconcile sooner (D4, L17). The time is in memory
    # only: after a restart the first poll is at once, and Azure's answer gives a new
    # delay.
    early = memory.poll.due - scope.operator.clock.monotonic()
    if early > 0:
        return Requeue(early)
    token, before = newest_token(recorded, memory.poll.newest), memory.poll.progress
    outcome = scope.connection.client.poll(token, before)
    # The end of an operation is a write by Azure: a list that was started before may
    # not show it (Q8).
    if not isinstance(outcome, Pending):
        scope.operator.note_write(patcher.arm_id)
    if not (is_marked or recorded.shape is TokenShape.BODY):
        outcome = withheld(outcome, deleting=deleting)
    if deleting and not before.polls:
        # One event a deletion, not one for each poll.
        scope.event("Normal", "MonitorDelete", "Continue monitoring deletion")
    if isinstance(outcome, ReadResource):
        outcome = _inferred(scope, outcome)
    match outcome:
        case Pending():
            return _running(scope, recorded, outcome, is_marked=is_marked)
        case Failed() | Restart():
            return _ended_badly(scope, outcome, deleting=deleting)
        case OperationDone() if deleting:
            return release(scope)
        case ReadResource() if deleting:
            clear_token(patcher, memory)
            return Requeue(outcome.delay_seconds)
        case OperationDone() | ReadResource():
            if memory.accepted is not None:
                memory.accepted = attrs.evolve(memory.accepted, running=None)
            body = _resource_read(token, outcome, patcher.version.api_version)
            if scope.context.get is not None:
                body = None  # an extension may read something else
            return settle(scope, ReadAfter.OPERATION, body=body)


def _unreadable(
    patcher: PatchHelper, memory: ObjectMemory, log: Logger, error: TokenError
) -> Requeue:
    """Drop an unreadable record of an operation, so that its request is sent again.

    Raises ConditionError if it is the record of a PUT.
    """
    if is_deleting(patcher.obj):
        # Start the deletion again: Azure accepts repeated DELETEs.
        log.warning("Dropping unreadable operation token", reason=str(error))
        clear_token(patcher, memory)
        return Requeue()
    forget_put(patcher, memory)
    clear_token(patcher, memory)
    raise ConditionError(
        f"the recorded Azure operation cannot be read ({error}); it is dropped and "
        "the resource is put again",
        reason="Failed",
    )


def _inferred(scope: ReconcileScope, undecided: ReadResource) -> ArmOutcome:
    """Infer the state of an operation from its resource, without its monitor (L16).

    A refusal by the monitor is always shown, never only logged.
    """
    patcher, refusal = scope.patcher, undecided.error
    refused = {"error": str(refusal)} if refusal else {}
    scope.log.info(
        "Reading the resource instead of its monitor",
        why=undecided.reason,
        **refused,
    )
    try:
        outcome = scope.connection.client.judge(
            patcher.arm_id,
            patcher.version.api_version,
            deleting=undecided.deleting,
            progress=scope.memory.poll.progress,
        )
    except (ArmError, ArmTransportError, RetryError) as unread:
        if refusal is None:
            raise
        # The monitor's message is more useful.
        raise scope.errors.monitor_refused(refusal, unread) from refusal
    if refusal is None:
        return outcome
    if isinstance(outcome, Restart):
        return attrs.evolve(outcome, error=refusal)
    text = str(scope.errors.monitor_refused(refusal))
    scope.event("Warning", "OperationUnreadable", text)
    return outcome


def _running(
    scope: ReconcileScope, recorded: Token, running: Pending, *, is_marked: bool
) -> Requeue:
    """Remember the answer to a poll, and record what another process needs."""
    patcher, memory = scope.patcher, scope.memory
    deleting = is_deleting(patcher.obj)
    if running.read_error is not None:
        text = "Cannot read the operation"
        scope.log.warning(text, reason=str(running.read_error))
    if memory.accepted is not None and not deleting:
        memory.accepted = attrs.evolve(memory.accepted, running=running)
    is_new = is_news(recorded, running.token)
    is_renewed = not is_new and not is_polled_alike(recorded, running.token)
    due = scope.operator.clock.monotonic() + running.delay_seconds
    newest = running.token if is_renewed else None
    memory.poll = PollState(running.progress, due, newest)
    if is_new:
        poller = DELETE_POLLER if deleting else PUT_POLLER
        unmarked: dict[str, None] = {} if is_marked else {POLLER_MARK: None}
        scope.operations.record(running.token, poller, unmarked)
    return Requeue(running.delay_seconds)


def _ended_badly(
    scope: ReconcileScope, outcome: Failed | Restart, *, deleting: bool
) -> ReconcileOutcome:
    """Raise the ConditionError of an operation that failed or left no trace; return the
    outcome if the resource of a refused PUT is deleted and made again.
    """
    patcher, memory, generation = scope.patcher, scope.memory, scope.patcher.generation
    is_outdated, followed = False, None
    if not deleting:
        # A failed PUT may have been made of inputs that have changed since.
        rendered = rendered_again(scope)
        is_outdated = has_other_inputs(patcher, rendered)
        if isinstance(outcome, Failed) and rendered is not None and not is_outdated:
            failed_put = RefusedRequest(scope, outcome.error, rendered)
            followed = run(order.REFUSED, failed_put, _shown)
    refusal = outcome.error if isinstance(outcome, Restart) else None
    if refusal is not None and refusal.status == _UNAUTHENTICATED:
        # A failed sign-in says nothing about the resource, so it does not lead to a
        # PUT.
        failure = scope.errors.monitor_refused(refusal)
    else:
        clear_token(patcher, memory)
        if not deleting:
            forget_put(patcher, memory)
            # The failure is about the generation that the PUT was started with.
            text = patcher.annotations.get(LATEST_RECONCILED_GENERATION) or ""
            generation = int(text) if text.isdecimal() else generation
            patcher.generation = generation
        memory.record_failed_operation(generation)
        if followed is not None:
            return followed
        if isinstance(outcome, Restart):
            failure = scope.errors.operation_lost(
                outcome
            )  # it is sent again (L16, R5.6)
        else:
            errors = scope.errors
            failed = errors.delete_failed if deleting else errors.put_failed
            failure = failed(outcome.error)
    failure.is_outdated = is_outdated
    raise failure


def _shown(_: RefusedRequest) -> ReconcileOutcome | None:
    """Let a refusal become a condition."""
    return None


def _resource_read(
    token: Token, outcome: OperationDone | ReadResource, api_version: str
) -> JsonObject | None:
    """Return the resource if the poll has read it, so that it need not be read again.

    That is so if the resource is its own monitor. None for another monitor, and for a
    poll at another api-version.
    """
    if not isinstance(outcome, OperationDone) or token.shape is not TokenShape.BODY:
        return None
    query = parse_qs(urlsplit(token.url).query)
    asked_at_ours = query.get("api-version") == [api_version]
    body = outcome.body if asked_at_ours else None
    return body if isinstance(body, dict) else None
