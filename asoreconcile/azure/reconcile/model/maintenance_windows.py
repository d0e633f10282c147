"""Maintenance windows: the times at which the operator may change something in Azure.

The annotation `asoreconcile/maintenance-windows` holds one or more windows, separated
by semicolons. A window is a cron expression, a duration and a time zone, as in
`0 2 * * sat 4h Europe/Berlin`; without a zone it is UTC. Pure. Rule: OW-7.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache

import attrs

from asoreconcile.azure.catalogue.suggestions import hint
from asoreconcile.azure.reconcile.model.cron import Cron, CronError, parse_cron
from asoreconcile.resources.values import parse_duration_text

_CRON_FIELDS = 5
_LEAST, _MOST = timedelta(minutes=1), timedelta(days=31)
# 29 February comes after eight years at the latest.
_LONGEST_SEARCH = 8 * 366
EXAMPLE = "0 2 * * sat 4h Europe/Berlin"


class WindowError(ValueError):
    """The text names no windows; the message says what is wrong."""


@attrs.frozen
class Window:
    """A recurring span of time.

    A start at a local time that a clock change skips is as much later as the clock is
    put forward; of a local time that occurs twice, the first one counts.
    """

    cron: Cron
    duration: timedelta
    zone: tzinfo

    def is_open(self, now: datetime) -> bool:
        """Return whether a time is within the window. now: aware."""
        here = now.astimezone(self.zone).date()
        # Two days more than needed, as local days differ in length.
        days = self.duration.days + 2
        return any(
            start <= now < start + self.duration
            for back in range(days + 1)
            for start in self._starts_on(here - timedelta(days=back))
        )

    def next_start(self, now: datetime) -> datetime | None:
        """Return the first start after a time, in UTC; None if no window starts
        within eight years.
        """
        here = now.astimezone(self.zone).date()
        for ahead in range(-1, _LONGEST_SEARCH):
            try:
                day = here + timedelta(days=ahead)
            except OverflowError:
                return None
            later = [start for start in self._starts_on(day) if start > now]
            if later:
                return min(later)
        return None

    def _starts_on(self, day: date) -> Iterator[datetime]:
        if not self.cron.is_on(day):
            return
        for hour, minute in self.cron.times:
            local = datetime(
                day.year, day.month, day.day, hour, minute, tzinfo=self.zone
            )
            yield local.astimezone(UTC)


@attrs.frozen
class MaintenanceWindows:
    """The windows of an object; it may be changed while one of them is open."""

    windows: tuple[Window, ...]

    def opens_at(self, now: datetime) -> datetime | None:
        """Return the start of the next window, in UTC; None while one is open. now:
        aware.
        """
        if any(window.is_open(now) for window in self.windows):
            return None
        starts = [window.next_start(now) for window in self.windows]
        # Parsing has refused windows that never open.
        return min((start for start in starts if start is not None), default=now)


@lru_cache(maxsize=256)
def parse_windows(text: str) -> MaintenanceWindows:
    """Return the windows that an annotation names. Raises WindowError."""
    parts = [part for part in text.split(";") if part.strip()]
    if not parts:
        raise WindowError(f"names no window: write it as {EXAMPLE!r}")
    return MaintenanceWindows(tuple(_window(part.split()) for part in parts))


def _window(words: list[str]) -> Window:
    cron_words, rest = words[:_CRON_FIELDS], words[_CRON_FIELDS:]
    if len(rest) not in (1, 2):
        raise WindowError(
            f"{' '.join(words)!r} is no window: write five fields of a cron "
            f"expression, a duration and a time zone, as in {EXAMPLE!r}"
        )
    try:
        cron = parse_cron(cron_words)
    except CronError as error:
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
