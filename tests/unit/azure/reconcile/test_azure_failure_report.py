"""What a failure shows and tells, and when it is tried again, as a table over facts."""

import attrs
import pytest

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.arm.error_body import ErrorBody
from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.reconcile.engine.failure_report import (
    FailureFacts,
    after_failure,
    has_no_way_in,
    shown,
)
from asoreconcile.azure.reconcile.model.conditions import ReadyCondition
from asoreconcile.azure.reconcile.model.decisions import (
    EmitEvent,
    Requeue,
    SetReady,
)


def failure(reason="Failed", cause=None):
    error = ConditionError("It is wrong.", reason=reason)
    error.__cause__ = cause
    return error


def refusal(status=409):
    envelope = ErrorBody("Conflict", "No.")
    return ArmError(envelope, status=status, correlation_id="c-1")


def cut(sent):
    return ArmTransportError(
        "cut", sent=sent, method="PUT", url="", correlation_id="c-2"
    )


FACTS = FailureFacts(
    error=failure(),
    text="Failed: It is wrong.",
    deleting=False,
    is_repeated=False,
    seconds=0.0,
    owner_is_there=False,
    credential="",
    is_outdated=False,
    delay_seconds=8.0,
)


def decide(**given):
    return after_failure(attrs.evolve(FACTS, **given))


def texts(**given):
    return [told.message for told in decide(**given)[0]]


def test_the_condition_says_what_failed_of_which_spec():
    expected = ReadyCondition("False", "Failed", "Warning", "It is wrong.", 7)
    assert shown(failure(), 7) == SetReady(expected)


def test_a_failure_is_an_event_and_another_try():
    told = EmitEvent("Warning", "CreateOrUpdateActionError", "Failed: It is wrong.")
    assert decide() == ((told,), Requeue(8.0))
    assert decide(deleting=True)[0][0].reason == "DeleteActionError"


@pytest.mark.parametrize(
    ("delay", "outdated", "waits"),
    [(8.0, False, 8.0), (8.0, True, 0.001), (0.0, True, 0.0)],
)
def test_d5_what_is_outdated_is_tried_again_at_once(delay, outdated, waits):
    assert decide(delay_seconds=delay, is_outdated=outdated)[1] == Requeue(waits)


@pytest.mark.parametrize(
    ("reason", "seconds", "owner", "is_told"),
    [
        ("WaitingForOwner", 0.0, False, False),
        ("WaitingForOwner", 60.0, False, True),
        ("WaitingForOwner", 600.0, True, False),  # the owner says what is wrong
        ("SecretNotFound", 59.9, False, False),
        ("ConfigMapNotFound", 60.0, False, True),
        ("ReferenceNotFound", 0.0, False, False),
        ("Failed", 0.0, False, True),
    ],
)
def test_mere_waiting_is_no_warning(reason, seconds, owner, is_told):
    decided = decide(error=failure(reason), seconds=seconds, owner_is_there=owner)
    assert bool(decided[0]) == is_told


@pytest.mark.parametrize(
    ("cause", "given", "tail"),
    [
        (None, {}, ""),
        (refusal(), {}, " (correlation id c-1)"),
        (refusal(), {"is_repeated": True}, ""),
        (cut("maybe"), {}, " (correlation id c-2)"),
        (cut("no"), {}, ""),
        (
            refusal(403),
            {"credential": "ns/aso"},
            " (credential from ns/aso, correlation id c-1)",
        ),
        (
            refusal(403),
            {"credential": "ns/aso", "is_repeated": True},
            " (credential from ns/aso)",
        ),
    ],
)
def test_an_event_names_the_request_that_failed(cause, given, tail):
    assert texts(error=failure(cause=cause), **given) == [FACTS.text + tail]


def test_a_long_message_is_cut_before_the_id():
    (text,) = texts(error=failure(cause=refusal()), text="x" * 5_000)
    assert len(text) == 1_000
    assert text.endswith("x... (correlation id c-1)")


@pytest.mark.parametrize(
    ("cause", "expected"),
    [(refusal(401), True), (refusal(403), True), (refusal(409), False), (None, False)],
)
def test_who_was_not_let_in(cause, expected):
    assert has_no_way_in(failure(cause=cause)) == expected
