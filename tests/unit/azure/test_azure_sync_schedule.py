"""Places in the sync period, and when a PUT is due again."""

from collections import Counter

import pytest

from asoreconcile.azure.sync_schedule import (
    is_put_due,
    place_in_period,
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


def test_a_put_is_due_after_its_period_and_up_to_a_quarter_more():
    def due(uid, since):
        return is_put_due(uid, last_put=NOW - since, period_seconds=HOUR, now=NOW)

    uids = [f"u{i}" for i in range(100)]
    assert not any(due(uid, HOUR - 1) for uid in uids)
    assert all(due(uid, 1.25 * HOUR) for uid in uids)
    assert 20 < sum(due(uid, 1.125 * HOUR) for uid in uids) < 80
