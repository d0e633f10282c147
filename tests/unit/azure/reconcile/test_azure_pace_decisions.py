"""An object's own pace, as tables over annotations."""

from datetime import UTC, datetime

import pytest

from asoreconcile.azure.reconcile.model.annotation_table import reports
from asoreconcile.azure.reconcile.model.annotations import (
    MAINTENANCE_WINDOWS,
    PAUSED,
    RECONCILE_AT,
    RECONCILED_AT,
    SYNC_PERIOD,
)
from asoreconcile.azure.reconcile.model.pace import (
    closed_at,
    period_of,
    unhandled_request,
    why_paused,
)

NOW = datetime(2026, 11, 25, tzinfo=UTC)  # a Wednesday
SATURDAYS = "0 2 * * sat 4h"


@pytest.mark.parametrize(
    ("own", "inherited", "expected"),
    [
        (None, None, 3600.0),
        ("15m", None, 900.0),
        (None, "15m", 900.0),
        ("2m", "15m", 120.0),
        ("never", "15m", None),
        ("", "15m", 900.0),
        ("1m", None, 60.0),
        ("59s", None, 3600.0),
        ("often", "15m", 3600.0),
        ("-1h", None, 3600.0),
    ],
)
def test_ow7_the_narrowest_period_wins(own, inherited, expected):
    mine, theirs = (
        {SYNC_PERIOD: value} if value is not None else {} for value in (own, inherited)
    )
    assert period_of(mine, theirs, 3600.0) == expected


@pytest.mark.parametrize(
    ("own", "inherited", "is_paused"),
    [
        ({}, {}, False),
        ({PAUSED: "true"}, {}, True),
        ({}, {PAUSED: "true"}, True),
        ({PAUSED: "false"}, {PAUSED: "true"}, True),
        ({PAUSED: "false"}, {}, False),
        ({PAUSED: ""}, {}, False),
        ({PAUSED: "ture"}, {}, True),
    ],
)
def test_ow7_a_pause_is_a_switch(own, inherited, is_paused):
    assert bool(why_paused(own, inherited)) == is_paused


@pytest.mark.parametrize(
    ("own", "inherited", "is_closed"),
    [
        ({}, {}, False),
        ({MAINTENANCE_WINDOWS: SATURDAYS}, {}, True),
        ({}, {MAINTENANCE_WINDOWS: SATURDAYS}, True),
        ({MAINTENANCE_WINDOWS: "0 0 * * * 1h"}, {MAINTENANCE_WINDOWS: SATURDAYS}, False),
        ({MAINTENANCE_WINDOWS: "at night"}, {}, True),
    ],
    ids=["none", "own", "inherited", "own wins", "wrong"],
)  # fmt: skip
def test_ow7_outside_the_windows_nothing_may_be_changed(own, inherited, is_closed):
    closed = closed_at(NOW, own, inherited, is_asked=False)
    assert (closed is not None) == is_closed
    assert closed_at(NOW, own, inherited, is_asked=True) is None


def test_ow7_the_condition_says_until_when():
    closed = closed_at(NOW, {MAINTENANCE_WINDOWS: SATURDAYS}, {}, is_asked=False)
    assert closed.waits_for.endswith("that opens at 2026-11-28T02:00:00Z")
    assert closed.until == datetime(2026, 11, 28, 2, tzinfo=UTC)
    assert "until 2026-11-28T02:00:00Z" in closed.why
    assert RECONCILE_AT in closed.why


def test_ow7_a_request_is_handled_once():
    assert unhandled_request({}) == ""
    assert unhandled_request({RECONCILE_AT: "2"}) == "2"
    assert unhandled_request({RECONCILE_AT: "2", RECONCILED_AT: "1"}) == "2"
    assert unhandled_request({RECONCILE_AT: "2", RECONCILED_AT: "2"}) == ""


def test_ow7_each_wrong_value_is_told():
    own = {SYNC_PERIOD: "often", MAINTENANCE_WINDOWS: "0 2 * * st 4h"}
    found = reports(own, {SYNC_PERIOD: "15m"})
    assert "'often' is no period" in found[SYNC_PERIOD]
    assert "did you mean sat?" in found[MAINTENANCE_WINDOWS]
    assert reports({SYNC_PERIOD: "1h"}, {MAINTENANCE_WINDOWS: SATURDAYS}) == {}
