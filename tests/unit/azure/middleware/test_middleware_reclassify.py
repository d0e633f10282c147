"""Error predicates and what they change."""

import pytest

from asoreconcile.azure.arm.classification import Classification
from asoreconcile.azure.arm.condition_error import RetryClass
from asoreconcile.azure.middleware.factories import (
    code,
    message_contains,
    message_matches,
    reclassify,
)
from asoreconcile.azure.middleware.requests import ClassifyError
from asoreconcile.azure.testing.extensions import arm_fault, fake_version, returns

FATAL = Classification("Error", RetryClass.VERY_SLOW, "Odd", "as Azure said", 9.0)
ODD = arm_fault(400, "Odd", "The disk d was not found, nor region r")


@pytest.mark.parametrize(
    ("match", "expected"),
    [
        (code("Odd"), True),
        (code("Even", "Odd"), True),
        (code("odd"), False),
        (message_contains("was not found"), True),
        (message_contains("was not found", "region"), True),
        (message_contains("was not found", "planet"), False),
        (message_contains("Was Not Found"), False),
        (message_matches("disk.*found"), True),
        (message_matches("^found"), False),
        (message_matches("(?i)DISK"), True),
        (code("Odd") & message_contains("disk"), True),
        (code("Even") & message_contains("disk"), False),
    ],
)
def test_predicates(match, expected):
    assert match.matches(ODD) is expected


def judged(match, **changes):
    classify = reclassify(match, **changes)
    return classify(ClassifyError(fake_version(), ODD), returns(FATAL))


def test_a_match_becomes_a_warning_retried_slowly_and_keeps_what_azure_said():
    assert judged(code("Odd")) == Classification(
        "Warning", RetryClass.SLOW, "Odd", "as Azure said", 9.0
    )


def test_a_match_can_be_made_an_error():
    answer = judged(code("Odd"), severity="Error", retry=RetryClass.VERY_SLOW)
    assert answer.severity == "Error"


def test_no_match_leaves_the_next_links_judgement():
    assert judged(code("Even")) is FATAL
