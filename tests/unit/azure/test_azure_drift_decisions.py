"""What a sync that looks first decides, as tables over facts."""

import attrs
import pytest

from asoreconcile.azure.decisions import (
    Decision,
    EmitEvent,
    Fail,
    Follows,
    Log,
    Put,
    Read,
    SetMetadata,
    UpdateMemory,
)
from asoreconcile.azure.differences import Difference
from asoreconcile.azure.drift import SyncFacts, after_repair, at_sync
from asoreconcile.azure.drift_baseline import OBSERVED, DriftBaseline, marks
from asoreconcile.azure.repair_attempts import RepairAttempts
from asoreconcile.azure.sync_mode import SyncMode

PUT = Put("/id", {}, b"digest")
HAVE = {"id": "/id", "properties": {"provisioningState": "Succeeded"}}
CHANGED = Difference("properties/size", "value", 1, 2)
ABSENT = Difference("properties/password", "absent", "\0hidden")
MARKS = marks([CHANGED])
READ = Read(Follows.PUT, HAVE)
FACTS = SyncFacts(
    mode=SyncMode.COMPARE,
    put="p",
    observed=DriftBaseline("p"),
    have=HAVE,
    found=(),
    repair_attempts=RepairAttempts(),
)


def decide(**given):
    return at_sync(attrs.evolve(FACTS, **given), PUT)


def in_order(known=frozenset()):
    note = SetMetadata({OBSERVED: DriftBaseline("p", known).dumps()})
    return Decision((UpdateMemory(repair_attempts=RepairAttempts()), note), READ)


MOVING = {**HAVE, "properties": {"provisioningState": "Updating"}}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, in_order()),
        ({"have": None}, Decision((), PUT)),
        (
            {"observed": DriftBaseline("another"), "have": None},
            Decision((UpdateMemory(repair_attempts=RepairAttempts()),), PUT),
        ),
        # In transition nothing can be said.
        (
            {"have": MOVING, "found": [CHANGED]},
            Decision((), Read(Follows.PUT, MOVING)),
        ),
        # What the last PUT left is known.
        (
            {"observed": DriftBaseline("p", MARKS), "found": [CHANGED]},
            in_order(MARKS),
        ),
        # Never shown since the PUT that made it Ready.
        ({"observed": None, "found": [ABSENT]}, in_order(marks([ABSENT]))),
        ({"observed": None, "have": None}, Decision((), PUT)),
    ],
    ids=["same", "gone", "edited", "in transition", "known", "never shown", "first"],
)
def test_a_put_goes_out_for_what_it_may_mend_alone(given, expected):
    assert decide(**given) == expected


@pytest.mark.parametrize("observed", [DriftBaseline("p"), None])
def test_what_differs_is_put_again_and_told(observed):
    decided = decide(observed=observed, found=[CHANGED])
    counted, log, told = decided.effects
    assert counted == UpdateMemory(
        repair_attempts=RepairAttempts(MARKS, dict.fromkeys(MARKS, 1))
    )
    assert isinstance(log, Log)
    assert (told.type, told.reason) == ("Warning", "Drift")
    assert "at properties/size; it is put again" in told.message
    assert decided.then == PUT


def test_what_differs_is_left_alone_where_that_is_asked_for():
    decided = decide(mode=SyncMode.REPORT, found=[CHANGED])
    text = "Azure differs at properties/size; left as it is"
    assert decided == Decision((EmitEvent("Warning", "Drift", text),), READ)


@pytest.mark.parametrize(("times", "gives_up"), [(2, False), (3, True), (9, True)])
def test_what_comes_back_each_time_is_given_up(times, gives_up):
    tried = RepairAttempts(frozenset(), dict.fromkeys(MARKS, times))
    decided = decide(found=[CHANGED], repair_attempts=tried)
    assert decided.effects[0].repair_attempts.repairs == dict.fromkeys(MARKS, times + 1)
    assert isinstance(decided.then, Fail if gives_up else Put)
    if gives_up:
        assert decided.then.error.reason == "PersistentDrift"


def test_what_a_put_left_is_not_put_for_again():
    tried = RepairAttempts(MARKS, dict.fromkeys(MARKS, 1))
    judged, note, told = after_repair(tried, DriftBaseline("p"), [CHANGED, ABSENT])
    assert judged == UpdateMemory(repair_attempts=RepairAttempts())
    assert note == SetMetadata({OBSERVED: DriftBaseline("p", MARKS).dumps()})
    assert (told.reason, told.type) == ("ValueNotHonoured", "Warning")


def test_what_a_put_mended_is_counted_on():
    tried = RepairAttempts(MARKS, dict.fromkeys(MARKS, 2))
    (judged,) = after_repair(tried, DriftBaseline("p"), [ABSENT])
    assert judged == UpdateMemory(
        repair_attempts=RepairAttempts(frozenset(), tried.repairs)
    )


def test_the_most_stubborn_difference_counts():
    attempts = RepairAttempts().started(frozenset("ab")).started(frozenset("bc"))
    assert attempts.pending == frozenset("bc")
    assert attempts.max_attempts() == 2
    assert RepairAttempts().max_attempts() == 0
