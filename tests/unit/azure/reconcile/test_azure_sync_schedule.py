"""Places in the sync period, and when a PUT is due again."""

from collections import Counter

import pytest

from asoreconcile.azure.reconcile.state.sync_schedule import (
    is_put_due,
    place_in_period,
    seconds_until_missed_sync,
    seconds_until_sync,
)

HOUR = 3600.0
NOW = 1_900_000_000.0


def until(uid, now, *, was_synced):
    return seconds_until_sync(uid, period_seconds=HOUR, now=now, was_synced=was_synced)


def test_any_number_of_objects_is_spread_evenly():
    minutes = Counter(int(place_in_period(f"u{i}") * 60) for i in range(60_000))
    assert sorted(minutes) == list(range(60))
    assert max(minutes.values()) < 1150
    assert min(minutes.values()) > 850


@pytest.mark.parametrize("uid", ["a", "b", "c", ""])
def test_an_object_comes_to_its_place_and_stays_there(uid):
    now, gaps = NOW + 1234.5, []
    for _ in range(5):
        gaps.append(until(uid, now, was_synced=True))
        now += gaps[-1]
    assert all(0.75 * HOUR <= gap <= 1.25 * HOUR for gap in gaps)
    assert gaps[3:] == pytest.approx([HOUR, HOUR])
    assert now % HOUR == pytest.approx(place_in_period(uid) * HOUR)


def test_another_process_goes_on_where_the_last_one_was():
    due = NOW + until("a", NOW, was_synced=False)
    for later in (1.0, 600.0):
        assert NOW + later + until("a", NOW + later, was_synced=False) in (
            pytest.approx(due),
            pytest.approx(due + HOUR),
        )
    assert 0.0 <= until("a", NOW, was_synced=False) <= HOUR


def until_missed(uid, *, gap, now=NOW):
    return seconds_until_missed_sync(
        uid, period_seconds=HOUR, now=now, last_alive=now - gap
    )


@pytest.mark.parametrize("gap", [1.0, 600.0, HOUR - 1])
def test_places_that_passed_while_nobody_ran_are_worked_off_in_their_order(gap):
    delays = {}
    for index in range(3000):
        uid = f"u{index}"
        # Where the last process would have looked at it next.
        due = until(uid, NOW - gap, was_synced=False)
        missed = until_missed(uid, gap=gap)
        assert (missed is not None) == (due <= gap)
        if missed is not None:
            assert missed == pytest.approx(due / 2, abs=1e-3)
            delays[uid] = missed
    assert len(delays) == pytest.approx(3000 * gap / HOUR, abs=60)
    assert all(0.0 <= delay <= gap / 2 for delay in delays.values())


@pytest.mark.parametrize("gap", [HOUR, 1.5 * HOUR, 1000 * HOUR])
def test_after_a_period_or_more_all_are_looked_at_within_half_a_period(gap):
    delays = [until_missed(f"u{index}", gap=gap) for index in range(3000)]
    halves = Counter(delay < HOUR / 4 for delay in delays)
    assert min(delays) >= 0.0
    assert max(delays) <= HOUR / 2
    assert min(halves.values()) > 1350


@pytest.mark.parametrize("gap", [0.0, -5.0, -2 * HOUR])
def test_nothing_was_missed_by_a_process_that_runs_or_whose_clock_is_ahead(gap):
    assert {until_missed(f"u{index}", gap=gap) for index in range(100)} == {None}


def test_a_look_at_a_missed_place_comes_before_the_next_place():
    for index in range(300):
        missed = until_missed(f"u{index}", gap=HOUR)
        assert missed <= until(f"u{index}", NOW, was_synced=False)


def test_a_put_is_due_after_its_period_and_up_to_a_quarter_more():
    def due(uid, since):
        return is_put_due(uid, since, period_seconds=HOUR)

    uids = [f"u{i}" for i in range(100)]
    assert not any(due(uid, HOUR - 1) for uid in uids)
    assert all(due(uid, 1.25 * HOUR) for uid in uids)
    assert 20 < sum(due(uid, 1.125 * HOUR) for uid in uids) < 80
