"""Cron expressions: the days and times of day that five fields name. Pure."""

import re
from collections.abc import Sequence
from datetime import date

import attrs

from asoreconcile.azure.catalogue.suggestions import hint

_MONTHS = (
    *("jan", "feb", "mar", "apr", "may", "jun"),
    *("jul", "aug", "sep", "oct", "nov", "dec"),
)
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_SUNDAY = 7
_PART = re.compile(r"(?:(\*|\?)|(\w+)(?:-(\w+))?)(?:/(\d+))?")


@attrs.frozen
class _Field:
    """A field of an expression. names: names of the values from `low`."""

    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()


_MINUTE, _HOUR = _Field("minute", 0, 59), _Field("hour", 0, 23)
_DAY, _MONTH = _Field("day of the month", 1, 31), _Field("month", 1, 12, _MONTHS)
_WEEKDAY = _Field("weekday", 0, _SUNDAY, _WEEKDAYS)


class CronError(ValueError):
    """A text is not a cron expression; the message says which field is wrong."""


@attrs.frozen
class Cron:
    """A cron expression.

    times: hours and minutes, sorted. by_both: if true, a day counts if its date or its
    weekday is named, as when both fields are restricted; else both must be named.
    """

    times: tuple[tuple[int, int], ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    by_both: bool

    def is_on(self, day: date) -> bool:
        """Return whether the expression names a day."""
        if day.month not in self.months:
            return False
        by_date = day.day in self.days
        by_weekday = day.isoweekday() % 7 in self.weekdays
        return by_date or by_weekday if self.by_both else by_date and by_weekday


def parse_cron(fields: Sequence[str]) -> Cron:
    """Return the expression of five fields: minute, hour, day, month, weekday.

    Raises CronError.
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
            raise CronError(f"{part!r} is no {field.name}")
        every, start, end, step = match.groups()
        begin = field.low if every else _value(start, field)
        if every or (step and not end):
            last = field.high
        else:
            last = _value(end, field) if end else begin
        if field is _WEEKDAY and begin and not last:
            last = _SUNDAY  # sat-sun
        if begin > last:
            raise CronError(f"{part!r} ends before it begins in the {field.name}")
        if step is not None and int(step) == 0:
            raise CronError(f"{part!r} has a step of 0 in the {field.name}")
        found.update(range(begin, last + 1, int(step or 1)))
    return frozenset(found)


def _value(text: str, field: _Field) -> int:
    word = text.lower()
    if word in field.names:
        return field.names.index(word) + field.low
    if not word.isascii() or not word.isdigit():
        raise CronError(f"{text!r} is no {field.name}{hint(word, field.names)}")
    value = int(word)
    if not field.low <= value <= field.high:
        raise CronError(
            f"{value} is no {field.name}: write {field.low} to {field.high}"
        )
    return value
