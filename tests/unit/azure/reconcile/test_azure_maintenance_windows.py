"""When maintenance windows are open, and which texts name none."""

import random
import time
from datetime import UTC, datetime, timedelta

import pytest

from asoreconcile.azure.reconcile.model.maintenance_windows import (
    WindowError,
    opens_at,
    parse_cron,
    parse_windows,
)


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def opens(windows, now):
    return opens_at(parse_windows(windows), at(now))


@pytest.mark.parametrize(
    ("windows", "now", "expected"),
    [
        # 2026-11-28 is a Saturday.
        ("0 2 * * sat 4h", "2026-11-28T02:00", None),
        ("0 2 * * sat 4h", "2026-11-28T05:59", None),
        ("0 2 * * sat 4h", "2026-11-28T06:00", "2026-12-05T02:00"),
        ("0 2 * * sat 4h", "2026-11-28T01:59", "2026-11-28T02:00"),
        ("0 2 * * 6 4h Europe/Berlin", "2026-11-28T01:00", None),
        ("0 2 * * 6 4h Europe/Berlin", "2026-11-28T00:59", "2026-11-28T01:00"),
        ("0 22 * * fri 10h", "2026-11-28T07:59", None),
        ("0 2 * * sat 1h; 0 3 * * wed 1h", "2026-11-25T03:30", None),
        ("0 2 * * sat 1h; 0 3 * * wed 1h", "2026-11-25T04:30", "2026-11-28T02:00"),
        ("0 0 1 jan * 24h", "2026-11-25T00:00", "2027-01-01T00:00"),
        ("0 0 29 2 * 1h", "2026-11-25T00:00", "2028-02-29T00:00"),
        ("*/15 * * * * 5m", "2026-11-25T00:16", None),
        ("*/15 * * * * 5m", "2026-11-25T00:21", "2026-11-25T00:30"),
        # The longest window began a month ago.
        ("0 0 1 11 * 744h", "2026-12-01T23:59", None),
        # Both fields are restricted: either names the day.
        ("0 0 13 * fri 1h", "2026-11-14T00:00", "2026-11-20T00:00"),
        ("0 0 */2 * fri 1h", "2026-11-14T00:00", "2026-11-27T00:00"),
        ("0 0 * * 7 1h", "2026-11-25T00:00", "2026-11-29T00:00"),
        ("0 0 * * sat-sun 1h", "2026-11-28T01:00", "2026-11-29T00:00"),
        ("0 0 * * 6-0 1h", "2026-11-29T01:00", "2026-12-05T00:00"),
        # West of UTC the local day is still yesterday.
        ("30 23 * * tue 2h America/Los_Angeles", "2026-11-25T08:00", None),
    ],
)
def test_ow7_a_window_opens_and_closes(windows, now, expected):
    assert opens(windows, now) == (None if expected is None else at(expected))


# In Berlin, 2026-03-29 has no 02:30, and 2026-10-25 has it twice.


def test_ow7_a_start_that_the_clock_skips_is_an_hour_later():
    window = "30 2 29 3 * 1h Europe/Berlin"
    assert opens(window, "2026-03-29T00:30") == at("2026-03-29T01:30")
    assert opens(window, "2026-03-29T01:30") is None


def test_ow7_a_start_that_occurs_twice_counts_once():
    window = "30 2 25 10 * 30m Europe/Berlin"
    assert opens(window, "2026-10-25T00:30") is None
    assert opens(window, "2026-10-25T01:30") == at("2027-10-25T00:30")


@pytest.mark.parametrize("seed", range(40))
def test_ow7_a_window_opens_exactly_when_it_says(seed):
    """Compare with a look at each minute."""
    rng = random.Random(seed)
    zone = rng.choice(["UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kathmandu"])
    hours, weekday = rng.choice([1, 5, 30]), rng.choice(["*", "mon", "2-4", "sat,sun"])
    text = (
        f"{rng.choice([0, 17, 59])} {rng.randrange(24)} * * {weekday} {hours}h {zone}"
    )
    windows = parse_windows(text)
    now = at("2026-03-20T00:00") + timedelta(minutes=rng.randrange(14 * 1440))
    opening = opens_at(windows, now)
    if opening is None:
        return
    assert opens_at(windows, opening) is None
    minute = now
    while minute < opening:
        assert opens_at(windows, minute) == opening
        minute += max(timedelta(minutes=1), (opening - minute) / 2)
    assert opens_at(windows, opening - timedelta(seconds=1)) == opening


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "names no window"),
        (" ; ", "names no window"),
        ("0 2 * * sat", "is no window"),
        ("0 2 * * sat 4h Europe/Berlin more", "is no window"),
        ("0 2 * * st 4h", "did you mean sat?"),
        ("0 2 * jann * 4h", "did you mean jan?"),
        ("60 2 * * * 4h", "write 0 to 59"),
        ("0 24 * * * 4h", "write 0 to 23"),
        ("0 2 0 * * 4h", "write 1 to 31"),
        ("0 2 * 13 * 4h", "write 1 to 12"),
        ("0 2 * * 8 4h", "write 0 to 7"),
        ("0 2 * * fri-mon 4h", "ends before it begins"),
        ("*/0 2 * * * 4h", "step of 0"),
        ("0 2 L * * 4h", "is no day of the month"),
        ("0 2 1,,2 * * 4h", "is no day of the month"),
        ("0 2 * * sat 4", "is no duration"),
        ("0 2 * * sat 30s", "too short or too long"),
        ("0 2 * * sat 1000h", "too short or too long"),
        ("0 2 * * sat 4h Europe/Berln", "did you mean Europe/Berlin?"),
        ("0 2 * * sat 4h Europe", "is no time zone"),
        ("0 2 * * sat 4h ../../etc/passwd", "is no time zone"),
        ("0 2 30 2 * 4h", "never opens"),
        ("0 2 * * sat 4h; x", "is no window"),
    ],
)
def test_ow7_what_is_no_window_is_told(text, part):
    with pytest.raises(WindowError) as raised:
        parse_windows(text)
    assert part in str(raised.value)


@pytest.mark.parametrize(
    ("fields", "times"),
    [
        ("0 2 * * *", [(2, 0)]),
        ("0,30 2-3 * * *", [(2, 0), (2, 30), (3, 0), (3, 30)]),
        ("5/25 2 * * *", [(2, 5), (2, 30), (2, 55)]),
        ("10-30/10 2 ? * ?", [(2, 10), (2, 20), (2, 30)]),
    ],
)
def test_ow7_the_times_of_a_day(fields, times):
    assert list(parse_cron(fields.split()).times) == times


def test_ow7_a_field_that_is_no_number_is_told():
    with pytest.raises(WindowError, match="is no minute"):
        parse_cron(["x", "*", "*", "*", "*"])


def all_starts(window, day):
    return [
        datetime(day.year, day.month, day.day, h, m, tzinfo=window.zone).astimezone(UTC)
        for h, m in window.cron.times
        if window.cron.is_on(day)
    ]


ZONES = ["UTC", "Europe/Berlin", "America/St_Johns", "Africa/Cairo", "Asia/Kolkata"]
# Changes of the clocks of these zones, and quiet days.
TIMES = ["2026-03-29", "2026-10-25", "2026-03-08", "2026-04-24", "2026-11-01"]


@pytest.mark.parametrize("seed", range(30))
def test_windows_are_found_as_by_looking_at_every_start(seed):
    chance = random.Random(seed)
    fields = [
        chance.choice(["*", "*/7", "0", "30", "0,59"]),
        chance.choice(["*", "*/5", "0", "1,2,3", "23", "22-23"]),
        chance.choice(["*", "*", "1-15", "29"]),
        "*",
        chance.choice(["*", "*", "sun", "mon-fri"]),
    ]
    duration = chance.choice(["1m", "59m", "4h", "26h", "100h"])
    zone = chance.choice(ZONES)
    (window,) = parse_windows(f"{' '.join(fields)} {duration} {zone}")
    for _ in range(12):
        now = datetime.fromisoformat(chance.choice(TIMES)).replace(tzinfo=UTC)
        now += timedelta(minutes=chance.randint(-2000, 2000))
        here = now.astimezone(window.zone).date()
        starts = [
            start
            for shift in range(-35, 35)
            for start in all_starts(window, here + timedelta(days=shift))
        ]
        is_open = any(s <= now < s + window.duration for s in starts)
        assert window.is_open(now) == is_open, (fields, duration, zone, now)
        later = [start for start in starts if start > now]
        if later:
            assert window.next_start(now) == min(later), (fields, zone, now)


def test_twenty_windows_are_the_most():
    one = "0 2 * * sat 4h"
    assert len(parse_windows("; ".join([one] * 20))) == 20
    with pytest.raises(WindowError, match="names 21 windows, and at most 20"):
        parse_windows("; ".join([one] * 21))


@pytest.mark.parametrize(
    "one",
    [
        "* * * * * 744h Europe/Berlin",
        "* * 29 2 * 744h Europe/Berlin",
        "* * 29 2 * 1m Europe/Berlin",
        "1-59,2-59,3-59 0-23,0-23 1-31,1-31 1-12 0-7 744h Asia/Kolkata",
    ],
)
def test_the_most_windows_are_evaluated_in_little_time(one):
    text = "; ".join([one] * 20)
    began = time.process_time()
    windows = parse_windows(text)
    for month in range(1, 6):
        opens_at(windows, datetime(2026, month, 1, 12, tzinfo=UTC))
    assert time.process_time() - began < 2.0  # 4 s for one evaluation before
