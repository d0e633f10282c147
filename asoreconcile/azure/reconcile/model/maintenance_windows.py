"""Maintenance windows: the times at which the operator may change something in Azure.

The annotation `asoreconcile/maintenance-windows` holds one or more windows, separated
by semicolons. A window is a cron expression, a duration and a time zone, as in
`0 2 * * sat 4h Europe/Berlin`; without a zone it is UTC. Pure. Rule: OW-7.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache

import attrs

from asoreconcile.azure.catalogue.suggestions import hint
from asoreconcile.resources.values import parse_duration_text

_MONTHS = (
    *("jan", "feb", "mar", "apr", "may", "jun"),
    *("jul", "aug", "sep", "oct", "nov", "dec"),
)
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_SUNDAY = 7
_PART = re.compile(r"(?:(\*|\?)|(\w+)(?:-(\w+))?)(?:/(\d+))?")


@attrs.frozen
class _Field:
    """A field of a cron expression. names: names of its values, starting at `low`."""

    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()


_MINUTE, _HOUR = _Field("minute", 0, 59), _Field("hour", 0, 23)
_DAY, _MONTH = _Field("day of the month", 1, 31), _Field("month", 1, 12, _MONTHS)
_WEEKDAY = _Field("weekday", 0, _SUNDAY, _WEEKDAYS)


class WindowError(ValueError):
    """A text does not describe maintenance windows; the message says what is wrong."""


@attrs.frozen
class Cron:
    """A cron expression.

    times: hours and minutes, sorted. by_both: true if both the date and the weekday are
    restricted: then either is enough for a day to match; else both must match.
    """

    times: tuple[tuple[int, int], ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    by_both: bool

    def is_on(self, day: date) -> bool:
        """Return whether the expression includes a day."""
        if day.month not in self.months:
            return False
        by_date = day.day in self.days
        by_weekday = day.isoweekday() % 7 in self.weekdays
        return by_date or by_weekday if self.by_both else by_date and by_weekday


def parse_cron(fields: Sequence[str]) -> Cron:
    """Return the expression of five fields: minute, hour, day, month, weekday.

    Raises WindowError.
    """
    minute, hour, day, month, weekday = fields
    minutes, hours = _values(minute, _MINUTE), _values(hour, _HOUR)
    weekdays = _values(weekday, _WEEKDAY)
    return Cron(
        times=tuple((h, m) for h in sorted(hours) for m in sorted(minutes)),
        days=_values(day, _DAY),
        months=_values(month, _MONTH),
        weekdays=frozenset(one % _SUNDAY for one in weekdays),
        by_both=day[0] not in "*?" and weekday[0] not in "*?",
    )


def _values(text: str, field: _Field) -> frozenset[int]:
    found: set[int] = set()
    for part in text.split(","):
        match = _PART.fullmatch(part)
        if match is None:
            raise WindowError(f"{part!r} is no {field.name}")
        every, start, end, step = match.groups()
        begin = field.low if every else _value(start, field)
        if every or (step and not end):
            last = field.high
        else:
            last = _value(end, field) if end else begin
        if field is _WEEKDAY and begin and not last:
            last = _SUNDAY  # sat-sun
        if begin > last:
            raise WindowError(f"{part!r} ends before it begins in the {field.name}")
        if step is not None and int(step) == 0:
            raise WindowError(f"{part!r} has a step of 0 in the {field.name}")
        found.update(range(begin, last + 1, int(step or 1)))
    return frozenset(found)


def _value(text: str, field: _Field) -> int:
    word = text.lower()
    if word in field.names:
        return field.names.index(word) + field.low
    if not word.isascii() or not word.isdigit():
        raise WindowError(f"{text!r} is no {field.name}{hint(word, field.names)}")
    value = int(word)
    if not field.low <= value <= field.high:
        raise WindowError(
            f"{value} is no {field.name}: write {field.low} to {field.high}"
        )
    return value


_CRON_FIELDS = 5
_LEAST, _MOST = timedelta(minutes=1), timedelta(days=31)
# 29 February comes after eight years at the latest.
_LONGEST_SEARCH = 8 * 366
# No clock changes by more in our time.
_CLOCK_CHANGE = timedelta(hours=3)
_EARLY, _LATE = (3, 0), (21, 0)
MOST_WINDOWS = 20
EXAMPLE = "0 2 * * sat 4h Europe/Berlin"


@attrs.frozen
class Window:
    """A recurring span of time.

    If a clock change skips the local time of a start, the window starts later by the
    length of the change. If the local time occurs twice, the first one counts.
    """

    cron: Cron
    duration: timedelta
    zone: tzinfo

    def is_open(self, now: datetime) -> bool:
        """Return whether a time is within the window. now: a time with its zone."""
        local = now.astimezone(self.zone).replace(tzinfo=None)
        # Two days more than needed, as local days differ in length.
        for back in range(-1, self.duration.days + 2):
            day = local.date() - timedelta(days=back)
            starts = [s for s in self._near(day, local) if s <= now]
            if starts:
                # An earlier start ends earlier.
                return now < max(starts) + self.duration
        return False

    def next_start(self, now: datetime) -> datetime | None:
        """Return the first start after a time, in UTC; None if no window starts
        within eight years.
        """
        local = now.astimezone(self.zone).replace(tzinfo=None)
        for ahead in range(-1, _LONGEST_SEARCH):
            day = local.date() + timedelta(days=ahead)
            later = [start for start in self._near(day, local) if start > now]
            if later:
                return min(later)
        return None

    def _near(self, day: date, local: datetime) -> list[datetime]:
        """Return the starts of a day that may be the last before a local time, or the
        first after it, in UTC.

        A day may have a start each minute, so it is not enough to look at few days.
        """
        if not self.cron.is_on(day):
            return []
        # The starts of a day are in the order of their local times, except within a
        # change of the clock.
        times = self.cron.times
        first, last = 0, len(times)
        near = [local + shift for shift in (-_CLOCK_CHANGE, _CLOCK_CHANGE)]
        if near[0].date() == day:
            first = bisect_left(times, (near[0].hour, near[0].minute))
        elif near[0].date() > day:
            first = bisect_left(times, _LATE)
        if near[1].date() == day:
            last = bisect_right(times, (near[1].hour, near[1].minute))
        elif near[1].date() < day:
            last = bisect_right(times, _EARLY)
        # One more on either side, which is next if none is within the change.
        chosen = times[max(first - 1, 0) : last + 1]
        return [
            datetime(
                day.year, day.month, day.day, hour, minute, tzinfo=self.zone
            ).astimezone(UTC)
            for hour, minute in chosen
        ]


def opens_at(windows: Sequence[Window], now: datetime) -> datetime | None:
    """Return the start of the next window, in UTC; None while a window is open.

    now: a time with its zone.
    """
    if any(window.is_open(now) for window in windows):
        return None
    starts = [window.next_start(now) for window in windows]
    # Parsing has refused windows that never open.
    return min((start for start in starts if start is not None), default=now)


@lru_cache(maxsize=256)
def parse_windows(text: str) -> tuple[Window, ...]:
    """Return the windows that an annotation names. Raises WindowError."""
    parts = [part for part in text.split(";") if part.strip()]
    if not parts:
        raise WindowError(f"names no window: write it as {EXAMPLE!r}")
    if len(parts) > MOST_WINDOWS:
        raise WindowError(
            f"names {len(parts)} windows, and at most {MOST_WINDOWS} are allowed: one "
            "cron expression may list several times and days"
        )
    return tuple(_window(part.split()) for part in parts)


def _window(words: list[str]) -> Window:
    cron_words, rest = words[:_CRON_FIELDS], words[_CRON_FIELDS:]
    if len(rest) not in (1, 2):
        raise WindowError(
            f"{' '.join(words)!r} is no window: write five fields of a cron "
            f"expression, a duration and a time zone, as in {EXAMPLE!r}"
        )
    try:
        cron = parse_cron(cron_words)
    except WindowError as error:
        raise WindowError(f"{' '.join(words)!r}: {error}") from error
    zone = _zone(rest[1]) if len(rest) > 1 else UTC
    window = Window(cron, _duration(rest[0]), zone)
    if window.next_start(datetime(2024, 1, 1, tzinfo=UTC)) is None:
        raise WindowError(f"{' '.join(words)!r} never opens: there is no such day")
    return window


def _duration(text: str) -> timedelta:
    try:
        duration = parse_duration_text(text)
    except ValueError:
        raise WindowError(f"{text!r} is no duration: write it as 4h or 90m") from None
    if not _LEAST <= duration <= _MOST:
        raise WindowError(f"{text!r} is too short or too long: write 1m to 744h")
    return duration


def _zone(name: str) -> tzinfo:
    from zoneinfo import ZoneInfo, available_timezones

    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        # Absent, not a name, or a folder of zones.
        near = hint(name, available_timezones())
        raise WindowError(f"{name!r} is no time zone{near}") from None
