"""The event of a failure, as a table."""

import pytest

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.arm.error_body import ErrorBody
from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.reconcile.engine.failures import (
    event_message,
    is_access_refused,
    is_worth_an_event,
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


def message(error, **given):
    return event_message(
        error, "ns", **{"credential": "", "is_repeated": False, **given}
    )


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
    told = is_worth_an_event(failure(reason), seconds, owner_is_there=owner)
    assert told == is_told


@pytest.mark.parametrize(
    ("cause", "given", "tail"),
    [
        (None, {}, ""),
        (refusal(), {}, " (correlation id c-1)"),
        (refusal(), {"is_repeated": True}, ""),
        (cut("maybe"), {}, " (correlation id c-2)"),
        (cut("no"), {}, ""),
        (refusal(403), {"credential": "ns/aso"}, " (credential from ns/aso, correlation id c-1)"),
        (refusal(403), {"credential": "ns/aso", "is_repeated": True}, " (credential from ns/aso)"),
    ],
)  # fmt: skip
def test_an_event_names_the_request_that_failed(cause, given, tail):
    assert message(failure(cause=cause), **given) == f"Failed: It is wrong.{tail}"


def test_a_long_message_is_cut_before_the_id():
    text = message(failure("x" * 5_000, cause=refusal()))
    assert len(text) == 1_000
    assert text.endswith("... (correlation id c-1)")


@pytest.mark.parametrize(
    ("cause", "expected"),
    [(refusal(401), True), (refusal(403), True), (refusal(409), False), (None, False)],
)
def test_who_was_not_let_in(cause, expected):
    assert is_access_refused(failure(cause=cause)) == expected
