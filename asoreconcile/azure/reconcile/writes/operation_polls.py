"""Decides about polls of a recorded operation, a PUT's or a DELETE's. Pure.

A poll that fails says nothing about the operation: its token stays (D3).
"""

from collections.abc import Mapping
from urllib.parse import parse_qs, urlsplit

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.arm.outcomes import (
    ArmOutcome,
    Failed,
    OperationDone,
    Pending,
    PollState,
    ReadResource,
    Restart,
)
from asoreconcile.azure.arm.tokens import (
    Token,
    TokenError,
    TokenShape,
    concerns,
    dumps,
    is_near,
    is_signed_anew,
    loads,
)
from asoreconcile.azure.reconcile.model.annotations import (
    DELETE_POLLER,
    LATEST_RECONCILED_GENERATION,
    POLLER_ID,
    POLLER_MARK,
    POLLER_TOKEN,
    PUT_POLLER,
)
from asoreconcile.azure.reconcile.model.decisions import (
    Decision,
    Effect,
    EmitEvent,
    Fail,
    Log,
    OperationLost,
    PatchMetadata,
    Read,
    ReadAfter,
    Refused,
    RemoveFinalizer,
    Requeue,
    SetMetadata,
    SetObservedGeneration,
    UpdateMemory,
)
from asoreconcile.azure.reconcile.model.drift_baseline import OBSERVED, AcceptedPut
from asoreconcile.azure.reconcile.model.drift_baseline import loads as baseline
from asoreconcile.base.objects import JsonObject


def token_annotations(token: Token, poller: str) -> dict[str, str | None]:
    """Return the annotations that record a running operation.

    poller: `PUT_POLLER` or `DELETE_POLLER`, which tells ASO the kind of the operation.
    """
    return {POLLER_TOKEN: dumps(token), POLLER_ID: poller}


def recorded_token(
    stored: Mapping[str, str], *, arm_id: str, deleting: bool, is_marked: bool
) -> Token:
    """Return the recorded operation. stored: the object's annotations. is_marked:
    whether the token has the operator's mark.

    Raises TokenError when it cannot be read (R1.14), or is of another resource than
    this object's: an annotation can be copied from elsewhere. Without the mark an
    author can have written it: its monitor must be near the resource.
    """
    token = loads(stored.get(POLLER_TOKEN) or "")
    if not concerns(token, arm_id, deleting=deleting):
        raise TokenError("it belongs to another resource or another kind of request")
    if not is_marked and not is_near(token, arm_id):
        raise TokenError("its monitor is of another subscription or provider")
    return token


def clear_token(stored: Mapping[str, str]) -> tuple[Effect, ...]:
    """Return the effects that drop the recorded operation from memory and annotations
    (R2.2).

    stored: the object's annotations; only those that are set are removed, as a patch
    without a change would still cost a request.
    """
    cleared: dict[str, str | None] = {
        name: None
        for name in (POLLER_TOKEN, POLLER_ID, POLLER_MARK)
        if stored.get(name)
    }
    return UpdateMemory(poll=PollState()), SetMetadata(cleared)


def forget_put(stored: Mapping[str, str]) -> tuple[Effect, ...]:
    """Return the effects that drop the record of an accepted PUT whose operation failed
    or left no trace. stored: the object's annotations.
    """
    forgotten = UpdateMemory(accepted=None)
    record = baseline(stored.get(OBSERVED) or "")
    if record is None:
        return (forgotten,)
    return forgotten, SetMetadata({OBSERVED: record.withdrawn().dumps()})


_UNAUTHENTICATED = 401


@attrs.frozen
class PolledOperation:
    """The facts about an object whose operation is polled.

    stored: its annotations. is_marked: whether the recorded token has the operator's
    mark; otherwise ASO, or an author, wrote it. deleting: whether the operation is a
    DELETE's. poll: the poll state in memory. generation: of the spec.
    accepted: the PUT that Azure accepted last, if the process remembers it.
    now: `Clock.monotonic` seconds.
    """

    arm_id: str
    api_version: str
    stored: Mapping[str, str]
    is_marked: bool
    deleting: bool
    generation: int
    poll: PollState
    accepted: AcceptedPut | None
    now: float

    def token(self) -> Token:
        """Return the recorded operation, with the newest signature that is known (L19).

        Raises TokenError for a token that is unreadable or of another operation.
        """
        token = self.recorded()
        newest = self.poll.newest
        # The stored token decides: another process may have started another operation.
        if newest is None or not is_signed_anew(token, newest):
            return token
        return attrs.evolve(token, url=newest.url, location=newest.location)

    def recorded(self) -> Token:
        """The operation as the object's annotation has it. Raises as `token`."""
        return recorded_token(
            self.stored,
            arm_id=self.arm_id,
            deleting=self.deleting,
            is_marked=self.is_marked,
        )


def before_poll(facts: PolledOperation) -> Token | Decision:
    """Return the operation to poll now. If the token is unreadable or it is too early
    (D4, L17), as a watch event can trigger the reconcile sooner, return a decision.
    """
    try:
        token = facts.token()
    except TokenError as error:
        return _unreadable(facts, error)
    # The time is in memory only: after a restart the first poll is at once, and Azure's
    # answer gives a new delay.
    early = facts.poll.due - facts.now
    return Decision((), Requeue(early)) if early > 0 else token


def _unreadable(facts: PolledOperation, error: TokenError) -> Decision:
    forget = clear_token(facts.stored)
    if facts.deleting:
        # Start the deletion again: Azure accepts repeated DELETEs.
        log = Log("warning", "Dropping unreadable operation token", str(error))
        return Decision((log, *forget), Requeue())
    failure = ConditionError(
        f"the recorded Azure operation cannot be read ({error}); it is dropped and "
        "the resource is put again",
        reason="Failed",
    )
    return Decision((*forget_put(facts.stored), *forget), Fail(failure))


def after_poll(facts: PolledOperation, outcome: ArmOutcome) -> Decision:
    """Return the decision after a poll. If the monitor is gone or cannot be polled, the
    same reconcile reads the resource instead (L16).
    """
    if not (facts.is_marked or facts.recorded().shape is TokenShape.BODY):
        outcome = _withheld(outcome, deleting=facts.deleting)
    decided = (
        Decision((), outcome)
        if isinstance(outcome, ReadResource)
        else _after(facts, outcome)
    )
    if facts.deleting and not facts.poll.progress.polls:
        # One event a deletion, not one for each poll.
        text = "Continue monitoring deletion"
        event = EmitEvent("Normal", "MonitorDelete", text)
        return attrs.evolve(decided, effects=(event, *decided.effects))
    return decided


def _withheld(outcome: ArmOutcome, *, deleting: bool) -> ArmOutcome:
    """Return the outcome without the texts of the monitor, which may be about another
    resource: the operator reads them as itself, and the author reads the status.
    """
    match outcome:
        case Failed() | Restart():
            return ReadResource("record without our mark", deleting=deleting)
        case ReadResource():
            return attrs.evolve(outcome, error=None)
    return outcome


def after_judging(
    facts: PolledOperation, undecided: ReadResource, outcome: ArmOutcome
) -> Decision:
    """Return the decision after a read of the resource, when the monitor gave no
    result. A refusal by the monitor is always shown, never only logged (L16): if the
    resource answers, in an event of the caller.
    """
    refusal = undecided.error
    if refusal is None or not isinstance(outcome, Restart):
        return _after(facts, outcome)
    # A failed sign-in says nothing about the resource, so it is no reason for a PUT.
    if refusal.status == _UNAUTHENTICATED:
        return Decision((), Refused(refusal, "Monitor"))
    return _after(facts, attrs.evolve(outcome, error=refusal))


def _after(facts: PolledOperation, outcome: ArmOutcome) -> Decision:
    match outcome:
        case Pending():
            return _running(facts, outcome)
        case Failed(error=error):
            effects = _came_to_nothing(facts)
            if facts.deleting:
                return Decision(effects, Refused(error, "Delete"))
            return Decision(effects, Refused(error, "CreateOrUpdate"))
        case Restart():
            # The operation left no trace: send its request again (L16, R5.6).
            return Decision(_came_to_nothing(facts), OperationLost(outcome))
        case OperationDone() if facts.deleting:
            return Decision((), RemoveFinalizer())
        case ReadResource() if facts.deleting:
            return Decision(clear_token(facts.stored), Requeue(outcome.delay_seconds))
        case OperationDone() | ReadResource():
            read = Read(ReadAfter.OPERATION, _resource_read(facts, outcome))
            return Decision((*_followed(facts, None),), read)


def _running(facts: PolledOperation, running: Pending) -> Decision:
    effects: list[Effect] = []
    if running.read_error is not None:
        text = "Cannot read the operation"
        effects.append(Log("warning", text, str(running.read_error)))
    if not facts.deleting:
        effects += _followed(facts, running)
    due = facts.now + running.delay_seconds
    recorded = facts.recorded()
    is_news = _is_news(recorded, running.token)
    is_renewed = not is_news and not _is_polled_alike(recorded, running.token)
    newest = running.token if is_renewed else None
    effects.append(UpdateMemory(poll=PollState(running.progress, due, newest)))
    if is_news:
        poller = DELETE_POLLER if facts.deleting else PUT_POLLER
        notes = token_annotations(running.token, poller)
        if not facts.is_marked:
            notes[POLLER_MARK] = None
        effects.append(PatchMetadata(notes))
    return Decision((*effects,), Requeue(running.delay_seconds))


def _is_news(stored: Token, polled: Token) -> bool:
    """Return whether the newer token must be stored: with it, another process would
    poll differently.

    A new status word alone makes no difference, except that it can say that a resource
    which is its own monitor has been seen (L7). A new signature makes none: Azure
    renews those of some monitors with each answer, and accepts the older ones, too.
    """
    if not is_signed_anew(stored, polled):
        return True
    not_seen = stored.shape is TokenShape.BODY and stored.state == "InProgress"
    return not_seen and polled.state != stored.state


def _is_polled_alike(one: Token, other: Token) -> bool:
    return (one.url, one.location) == (other.url, other.location)


def _followed(facts: PolledOperation, running: Pending | None) -> list[Effect]:
    """Remember that the accepted PUT's operation is now `running`, or with None has
    succeeded.
    """
    if facts.accepted is None:
        return []
    return [UpdateMemory(accepted=attrs.evolve(facts.accepted, running=running))]


def _came_to_nothing(facts: PolledOperation) -> tuple[Effect, ...]:
    """Return the effects of an operation that failed.

    A PUT's failure is about the generation that it was started with, not about later
    edits.
    """
    if facts.deleting:
        return *clear_token(facts.stored), UpdateMemory(
            failed_operation_generation=facts.generation
        )
    text = facts.stored.get(LATEST_RECONCILED_GENERATION) or ""
    generation_sent = int(text) if text.isdecimal() else facts.generation
    return (
        *clear_token(facts.stored),
        *forget_put(facts.stored),
        UpdateMemory(failed_operation_generation=generation_sent),
        SetObservedGeneration(generation_sent),
    )


def _resource_read(
    facts: PolledOperation, outcome: OperationDone | ReadResource
) -> JsonObject | None:
    """The resource, if it was its own monitor, so that it need not be read again. None
    for another monitor, and for a poll at another api-version.
    """
    token = facts.token()
    if not isinstance(outcome, OperationDone) or token.shape is not TokenShape.BODY:
        return None
    query = parse_qs(urlsplit(token.url).query)
    asked_at_ours = query.get("api-version") == [facts.api_version]
    body = outcome.body if asked_at_ours else None
    return body if isinstance(body, dict) else None
