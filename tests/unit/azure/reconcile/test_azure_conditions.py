"""Which of two Ready conditions is shown: rules R3.1-R3.7."""

from datetime import UTC, datetime

import pytest

from asoreconcile.azure.reconcile.model.conditions import (
    MAX_MESSAGE,
    ReadyCondition,
    find_ready,
    is_ready,
    merge_ready,
    succeeded,
)

THEN = datetime(2026, 1, 1, tzinfo=UTC)
NOW = datetime(2026, 1, 2, tzinfo=UTC)

TRUE = ReadyCondition("True", "Succeeded", observed_generation=1)
THEN_TEXT = "2026-01-01T00:00:00Z"
RECONCILING = ReadyCondition("False", "Reconciling", "Info", "m", 1)
WARNING = ReadyCondition("False", "Conflict", "Warning", "m", 1)
WAITING = ReadyCondition("False", "WaitingForOwner", "Warning", "m", 1)
ERROR = ReadyCondition("False", "LocationRequired", "Error", "m", 1)
UNKNOWN = ReadyCondition("Unknown", "Elsewhere", "", "m", 1)
DELETING = ReadyCondition("False", "Deleting", "Info", "m", 1)


def shown(old, new, *, reason_aware=False):
    conditions = merge_ready([], old, THEN)
    return find_ready(merge_ready(conditions, new, NOW, reason_aware=reason_aware))


@pytest.mark.parametrize(
    ("old", "new", "taken"),
    [
        pytest.param(TRUE, RECONCILING, False, id="R3.1-true-stays"),
        pytest.param(WARNING, RECONCILING, False, id="R3.4-arm-warning-stays"),
        pytest.param(WARNING, DELETING, False, id="R3.7-warning-hides-deleting"),
        pytest.param(RECONCILING, WARNING, True, id="info-gives-way"),
        pytest.param(WARNING, ERROR, True, id="equal-priority-is-replaced"),
        pytest.param(ERROR, TRUE, True, id="error-to-true"),
        pytest.param(WARNING, TRUE, True, id="warning-to-true"),
        pytest.param(RECONCILING, UNKNOWN, False, id="unknown-matters-least"),
        pytest.param(UNKNOWN, RECONCILING, True, id="unknown-gives-way"),
    ],
)
def test_same_generation(old, new, taken):
    assert (shown(old, new)["reason"] == new.reason) is taken


def test_higher_generation_always_wins():
    newer = ReadyCondition("False", "Reconciling", "Info", "m", 2)
    assert shown(TRUE, newer)["reason"] == "Reconciling"


def test_r3_3_curable_warning_gives_way_when_reason_aware():
    assert shown(WAITING, RECONCILING)["reason"] == "WaitingForOwner"
    assert shown(WAITING, RECONCILING, reason_aware=True)["reason"] == "Reconciling"
    assert shown(WARNING, RECONCILING, reason_aware=True)["reason"] == "Conflict"


def test_r3_5_d1_the_time_changes_with_the_status_alone():
    told = shown(WARNING, ReadyCondition("False", "Conflict", "Warning", "n", 1))
    assert (told["message"], told["lastTransitionTime"]) == ("n", THEN_TEXT)
    assert shown(TRUE, TRUE)["lastTransitionTime"] == THEN_TEXT
    other = ReadyCondition("False", "Other", "Warning", "m", 1)
    again = ReadyCondition("False", "Conflict", "Warning", "attempt 2", 2)
    assert shown(WARNING, other)["lastTransitionTime"] == THEN_TEXT
    assert shown(WARNING, again)["lastTransitionTime"] == THEN_TEXT
    assert shown(WARNING, WARNING)["lastTransitionTime"] == THEN_TEXT
    assert shown(WARNING, TRUE)["lastTransitionTime"] == "2026-01-02T00:00:00Z"


def test_a_condition_that_comes_back_to_what_is_stored_keeps_its_time():
    stored = merge_ready([], TRUE, THEN)
    newer = ReadyCondition("False", "Reconciling", "Info", "m", 2)
    between = merge_ready(stored, newer, NOW)
    assert find_ready(between)["reason"] == "Reconciling"
    (before,) = stored
    assert merge_ready(between, TRUE, NOW, stored=before, reason_aware=True) == stored


def test_success_carries_no_message_and_no_severity():
    assert find_ready(merge_ready(None, succeeded(3), NOW)) == {
        "type": "Ready",
        "status": "True",
        "reason": "Succeeded",
        "observedGeneration": 3,
        "lastTransitionTime": "2026-01-02T00:00:00Z",
    }


def test_is_ready_needs_the_condition():
    assert not is_ready({})
    assert not is_ready({"status": {"conditions": [RECONCILING.to_json("t")]}})
    assert is_ready({"status": {"conditions": [TRUE.to_json("t")]}})


def test_a_message_is_cut_at_its_bound_and_the_cut_one_is_equal_to_itself():
    endless = ReadyCondition("False", "Other", "Warning", "m" * (MAX_MESSAGE + 1), 1)
    (condition,) = merge_ready(None, endless, NOW)
    assert condition["message"] == "m" * (MAX_MESSAGE - 3) + "..."
    assert merge_ready([condition], endless, NOW) == [condition]
    assert (
        ReadyCondition("False", "Other", message="m" * MAX_MESSAGE).message[-1] == "m"
    )


def test_conditions_of_others_are_kept():
    theirs = {"type": "Synced", "status": "True"}
    before = [theirs, *merge_ready([], WARNING, THEN)]
    for new in (TRUE, RECONCILING):
        assert theirs in merge_ready(before, new, NOW)
    assert theirs in merge_ready([theirs], TRUE, NOW)
