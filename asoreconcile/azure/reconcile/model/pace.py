"""Annotations that decide when an object is reconciled: pause, maintenance windows,
sync period, reconcile now. Pure.

Rule: OW-7.
"""

from collections.abc import Callable, Mapping
from datetime import datetime

import attrs

from asoreconcile.azure.reconcile.model.annotations import (
    MAINTENANCE_WINDOWS,
    PAUSED,
    RECONCILE_AT,
    RECONCILED_AT,
    SYNC_PERIOD,
)
from asoreconcile.azure.reconcile.model.maintenance_windows import (
    WindowError,
    opens_at,
    parse_windows,
)
from asoreconcile.azure.reconcile.model.switches import switched_by
from asoreconcile.resources.values import parse_duration_text

OUTSIDE_WINDOW = "OutsideMaintenanceWindow"
PAUSED_REASON = "Paused"
_LEAST_SECONDS = 60.0
_NEVER = "never"


def unhandled_request(own: Mapping[str, str]) -> str:
    """Return the value of `reconcile-at` that no reconcile has handled yet, or ""."""
    asked = own.get(RECONCILE_AT) or ""
    return asked if asked != own.get(RECONCILED_AT) else ""


def why_paused(own: Mapping[str, str], inherited: Mapping[str, str]) -> str:
    """Return why an object is paused and how to resume it, or ""."""
    switch = switched_by(own, inherited, PAUSED)
    if not switch:
        return ""
    return (
        f"{switch} pauses this object: nothing is read or changed in Azure. The object "
        "goes on as soon as the annotation is removed"
    )


@attrs.frozen
class Closed:
    """A time at which nothing may be changed in Azure.

    until: when the next window opens, in UTC; None if the windows cannot be read.
    why: message for the condition.
    """

    until: datetime | None
    why: str


def closed_at(
    now: datetime, own: Mapping[str, str], inherited: Mapping[str, str]
) -> Closed | None:
    """Return why nothing may be changed now; None if it may.

    now: a time with its zone. Windows that cannot be read count as closed, because
    their author meant to forbid changes at some time.
    """
    text = own.get(MAINTENANCE_WINDOWS) or inherited.get(MAINTENANCE_WINDOWS)
    if not text or unhandled_request(own):
        return None
    override = f"To change it now, set {RECONCILE_AT} to a new value"
    try:
        opens = opens_at(parse_windows(text), now)
    except WindowError as error:
        return Closed(None, f"annotation {MAINTENANCE_WINDOWS}: {error}. {override}")
    if opens is None:
        return None
    return Closed(
        opens,
        f"nothing is changed in Azure until {opens:%Y-%m-%dT%H:%M:%SZ}, when the next "
        f"window of {MAINTENANCE_WINDOWS} opens. {override}",
    )


def parse_period(text: str) -> float | None:
    """Return the seconds of a sync period; None for `never`. Raises ValueError."""
    if text == _NEVER:
        return None
    try:
        seconds = parse_duration_text(text.strip()).total_seconds()
    except ValueError:
        raise ValueError(
            f"{text!r} is no period: write it as 15m or 6h, or write never"
        ) from None
    if seconds < _LEAST_SECONDS:
        raise ValueError(f"{text!r} is too short: write 1m or more")
    return seconds


def period_of(
    own: Mapping[str, str], inherited: Mapping[str, str], default: float | None
) -> float | None:
    """Return the sync period in force, in seconds; None if there are no syncs.

    A value that cannot be read counts as absent; `wrong_values` reports it.
    """
    text = own.get(SYNC_PERIOD) or inherited.get(SYNC_PERIOD)
    try:
        return parse_period(text) if text else default
    except ValueError:
        return default


def wrong_values(
    own: Mapping[str, str], inherited: Mapping[str, str]
) -> dict[str, str]:
    """Return a sentence for each value that cannot be read, by annotation."""
    found = {}
    period = own.get(SYNC_PERIOD) or inherited.get(SYNC_PERIOD)
    if period and (why := problem_in(parse_period, period)):
        found[SYNC_PERIOD] = f"{SYNC_PERIOD}: {why}. The operator's period is used"
    windows = own.get(MAINTENANCE_WINDOWS) or inherited.get(MAINTENANCE_WINDOWS)
    if windows and (why := problem_in(parse_windows, windows)):
        found[MAINTENANCE_WINDOWS] = f"{MAINTENANCE_WINDOWS}: {why}. No window opens"
    return found


def problem_in(parse: Callable[[str], object], text: str) -> str:
    """Return what is wrong with a text, by the error of its parser, or ""."""
    try:
        parse(text)
    except ValueError as error:
        return str(error)
    return ""
