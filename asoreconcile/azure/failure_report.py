"""What a reconcile that failed shows and tells, and when it is tried again. Pure.

Rules: R3.1-R3.7, R4.1-R4.3, R7.3.
"""

import attrs

from asoreconcile.arm.condition_error import ConditionError
from asoreconcile.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.conditions import ReadyCondition
from asoreconcile.azure.decisions import (
    AT_ONCE_SECONDS,
    Decision,
    EmitEvent,
    Requeue,
    SetReady,
)
from asoreconcile.errors import in_chain

# The API refuses events over 1,024 characters; the id at the end is what support asks
# for first, so it is the message that is cut.
_MAX_EVENT = 1_000
_NOT_LET_IN = frozenset({401, 403})
# Of what the cluster does not have yet, and of how long it may take to come.
_MAY_BE_ON_ITS_WAY = frozenset(
    {"ConfigMapNotFound", "ReferenceNotFound", "SecretNotFound", "WaitingForOwner"}
)
_PATIENCE_SECONDS = 60.0


def shown(error: ConditionError, generation: int) -> SetReady:
    """The condition of a failure. generation: of the spec that it speaks of."""
    text = str(error)
    return SetReady(
        ReadyCondition("False", error.reason, error.severity, text, generation)
    )


@attrs.frozen
class FailureFacts:
    """What is known of a failed reconcile.

    text: reason and message, without secrets. is_repeated: the condition said so
    before. seconds: for how long reconciles have failed. owner_is_there: in the
    cluster. credential: the Secret of the one in use, or "". is_outdated: the failure
    speaks of an older spec, or of older values in it. delay_seconds: what the error's
    class asks for.
    """

    error: ConditionError
    text: str
    deleting: bool
    is_repeated: bool
    seconds: float
    owner_is_there: bool
    credential: str
    is_outdated: bool
    delay_seconds: float


def after_failure(facts: FailureFacts) -> Decision:
    """A Warning, if it is worth one, and the next try; what is outdated is tried again
    at once (D5).

    The Warning comes each time: the event's count and last time are where a person
    reads of the latest attempt. The condition keeps the time of the first.
    """
    events: tuple[EmitEvent, ...] = ()
    if _is_worth_an_event(facts):
        action = "Delete" if facts.deleting else "CreateOrUpdate"
        events = (EmitEvent("Warning", f"{action}ActionError", _event_message(facts)),)
    delay = facts.delay_seconds
    if facts.is_outdated:
        delay = min(delay, AT_ONCE_SECONDS)
    return Decision(events, Requeue(delay))


def has_no_way_in(error: ConditionError) -> bool:
    """Whether Azure did not let the credential in: whose it is matters then."""
    fault = in_chain(error, ArmError)
    return fault is not None and fault.status in _NOT_LET_IN


def _is_worth_an_event(facts: FailureFacts) -> bool:
    """Objects that are applied together wait for each other for a moment: no trouble
    yet. And the trouble of an owner that is there is shown by the owner.
    """
    reason = facts.error.reason
    if reason == "WaitingForOwner" and facts.owner_is_there:
        return False
    return reason not in _MAY_BE_ON_ITS_WAY or facts.seconds >= _PATIENCE_SECONDS


def _event_message(facts: FailureFacts) -> str:
    """Reason and message, and of a request that Azure refused, or did not answer, its
    id, and whose credential it does not let in.

    A repeated event has no id, which is another each time (the log has it): so the
    failure stays one event, which is counted.
    """
    error, text = facts.error, facts.text
    fault = in_chain(error, ArmError) or in_chain(error, ArmTransportError)
    if fault is None:
        return text
    events = []
    if facts.credential:
        events.append(f"credential from {facts.credential}")
    is_unsent = isinstance(fault, ArmTransportError) and fault.sent == "no"
    if fault.correlation_id and not is_unsent and not facts.is_repeated:
        events.append(f"correlation id {fault.correlation_id}")
    if not events:
        return text
    tail = f" ({', '.join(events)})"
    room = _MAX_EVENT - len(tail)
    return (text if len(text) <= room else text[: room - 3] + "...") + tail
