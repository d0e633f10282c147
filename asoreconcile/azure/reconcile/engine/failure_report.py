"""The condition, the event and the retry time of a failed reconcile.

Pure. Rules: R3.1-R3.7, R4.1-R4.3, R7.3.
"""

import math

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.reconcile.model.conditions import ReadyCondition
from asoreconcile.azure.reconcile.model.decisions import (
    AT_ONCE_SECONDS,
    EmitEvent,
    Requeue,
    SetReady,
)
from asoreconcile.base.errors import in_chain

# The API refuses events over 1,024 characters; the id at the end is what support asks
# for first, so it is the message that is cut.
_MAX_EVENT = 1_000
_NOT_LET_IN = frozenset({401, 403})
# Reasons of missing objects, and how long they may take to appear.
_MAY_BE_ON_ITS_WAY = frozenset(
    {"ConfigMapNotFound", "ReferenceNotFound", "SecretNotFound", "WaitingForOwner"}
)
_PATIENCE_SECONDS = 60.0


def shown(error: ConditionError, generation: int) -> SetReady:
    """Return the condition of a failure. generation: the spec's generation."""
    text = str(error)
    return SetReady(
        ReadyCondition("False", error.reason, error.severity, text, generation)
    )


@attrs.frozen
class FailureFacts:
    """The facts about a failed reconcile.

    text: reason and message, without secrets. is_repeated: the condition was the same
    before. seconds: for how long reconciles have failed. owner_is_there: whether the
    owner is in the cluster. credential: the Secret of the credential in use, or "".
    is_outdated: the failure is about an older spec, or older values in it.
    delay_seconds: of the error's class.
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


def after_failure(facts: FailureFacts) -> tuple[tuple[EmitEvent, ...], Requeue]:
    """A Warning event, if it is worth one, and the retry; an outdated failure is
    retried at once (D5).

    The event is recorded each time: its count and last time show the latest attempt.
    The condition keeps the time of the first one.
    """
    events: tuple[EmitEvent, ...] = ()
    if _is_worth_an_event(facts):
        action = "Delete" if facts.deleting else "CreateOrUpdate"
        events = (EmitEvent("Warning", f"{action}ActionError", _event_message(facts)),)
    delay = facts.delay_seconds
    if facts.is_outdated:
        delay = min(delay, AT_ONCE_SECONDS)
    return events, Requeue(delay)


def has_no_way_in(error: ConditionError) -> bool:
    """Return whether Azure refused the credential: the event then names it."""
    fault = in_chain(error, ArmError)
    return fault is not None and fault.status in _NOT_LET_IN


def _is_worth_an_event(facts: FailureFacts) -> bool:
    """Return whether a failure gets an event. A short wait gets none: objects that
    are applied together wait for each other. None either if the owner exists: the
    owner shows its own failure.
    """
    reason = facts.error.reason
    # Nothing is wrong: the object waits, as for a maintenance window.
    if facts.error.severity == "Info":
        return False
    if reason == "WaitingForOwner" and facts.owner_is_there:
        return False
    return reason not in _MAY_BE_ON_ITS_WAY or facts.seconds >= _PATIENCE_SECONDS


def _event_message(facts: FailureFacts) -> str:
    """Reason and message; the id of a request that Azure refused or did not answer; and
    the credential if Azure refused it.

    A repeated event has no request id, as that differs each time (the log has it): so
    the failure stays one counted event.
    """
    error, text = facts.error, facts.text
    fault = in_chain(error, ArmError) or in_chain(error, ArmTransportError)
    if fault is None:
        return text
    events = []
    if isinstance(fault, ArmError) and fault.is_transient and fault.retry_after_seconds:
        # `asoctl explain` reads it.
        events.append(f"Azure asked to wait {math.ceil(fault.retry_after_seconds)} s")
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
