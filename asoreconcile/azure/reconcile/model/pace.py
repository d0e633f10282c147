"""Annotations that decide when an object is reconciled: pause, maintenance windows,
sync period, reconcile now. Pure.

Rule: OW-7.
"""

from collections.abc import Mapping
from datetime import datetime

import attrs

from asoreconcile.azure.reconcile.model.annotation_row import (
    Annotation,
    Whose,
    any_text,
    choice,
)
from asoreconcile.azure.reconcile.model.annotations import (
    MAINTENANCE_WINDOWS,
    PAUSED,
    RECONCILE_AT,
    RECONCILED_AT,
    SYNC_PERIOD,
)
from asoreconcile.azure.reconcile.model.maintenance_windows import (
    Window,
    opens_at,
    parse_windows,
)
from asoreconcile.azure.reconcile.model.switches import Switch, switched_by
from asoreconcile.resources.values import parse_duration_text

OUTSIDE_WINDOW = "OutsideMaintenanceWindow"
PAUSED_REASON = "Paused"
# Between two values of `reconcile-at` that lift a wait.
ASKED_SECONDS = 60.0
_LEAST_SECONDS = 60.0
_NEVER = "never"


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


RECONCILE_AT_ROW: Annotation[str] = Annotation(
    RECONCILE_AT,
    says="when the value changes, the object is reconciled now",
    values="any text",
    section="#your-own-pace",
    effect="the value causes no reconcile",
    parse=any_text,
    whose=Whose.OBJECT,
    in_deletion=True,
    # It asks for one action, here and now.
    is_exported=False,
)
SYNC_PERIOD_ROW: Annotation[float | None] = Annotation(
    SYNC_PERIOD,
    says="how often a Ready object is looked at",
    values="`1m` or more, such as `6h`, or `never`",
    section="#your-own-pace",
    effect="the operator's period is used",
    parse=parse_period,
    setting="AZURE_SYNC_PERIOD",
    default=3600.0,
)
MAINTENANCE_WINDOWS_ROW: Annotation[tuple[Window, ...]] = Annotation(
    MAINTENANCE_WINDOWS,
    says="when something may be changed in Azure",
    values="windows such as `0 2 * * sat 4h Europe/Berlin`, separated by semicolons",
    section="#your-own-pace",
    effect="no window opens",
    parse=parse_windows,
    holds_writes=True,
    in_deletion=True,
)
PAUSED_ROW: Annotation[Switch] = Annotation(
    PAUSED,
    says="nothing is read or changed in Azure",
    values="`true`",
    section="#your-own-pace",
    effect="the object is paused",
    parse=choice(Switch),
    whose=Whose.EITHER,
    if_wrong=Switch.ON,
    default=Switch.OFF,
    holds_writes=True,
    in_deletion=True,
)
# Few objects have one of these, so that the others cost no more than a look at names.
PACE = frozenset(
    row.name
    for row in (RECONCILE_AT_ROW, SYNC_PERIOD_ROW, MAINTENANCE_WINDOWS_ROW, PAUSED_ROW)
)


def unhandled_request(own: Mapping[str, str]) -> str:
    """Return the value of `reconcile-at` that no reconcile has handled yet, or ""."""
    asked = RECONCILE_AT_ROW.value(own, {}, "") or ""
    return asked if asked != own.get(RECONCILED_AT) else ""


def why_paused(own: Mapping[str, str], inherited: Mapping[str, str]) -> str:
    """Return why an object is paused and how to resume it, or ""."""
    switch = switched_by(own, inherited, PAUSED_ROW)
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

    @property
    def waits_for(self) -> str:
        """Return what a change waits for, in words."""
        if self.until is None:
            return "a maintenance window that can be read"
        return f"the maintenance window that opens at {_shown(self.until)}"


def _shown(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def closed_at(
    now: datetime,
    own: Mapping[str, str],
    inherited: Mapping[str, str],
    *,
    is_asked: bool,
) -> Closed | None:
    """Return why nothing may be changed now; None if it may.

    now: a time with its zone. is_asked: whether a value of `reconcile-at` is attempted,
    which lifts the windows. Windows that cannot be read count as closed, because
    their author meant to forbid changes at some time.
    """
    stated = MAINTENANCE_WINDOWS_ROW.stated(own, inherited)
    if not stated or is_asked:
        return None
    text = stated[0].text
    override = f"To change it now, set {RECONCILE_AT} to a new value"
    if why := MAINTENANCE_WINDOWS_ROW.problem(text):
        return Closed(None, f"annotation {MAINTENANCE_WINDOWS}: {why}. {override}")
    opens = opens_at(parse_windows(text), now)
    if opens is None:
        return None
    return Closed(
        opens,
        f"nothing is changed in Azure until {_shown(opens)}, when the next "
        f"window of {MAINTENANCE_WINDOWS} opens. {override}",
    )


def period_of(
    own: Mapping[str, str], inherited: Mapping[str, str], default: float | None
) -> float | None:
    """Return the sync period in force, in seconds; None if there are no syncs.

    A value that cannot be read counts as absent (`annotation_table.reports` says so).
    """
    stated = SYNC_PERIOD_ROW.stated(own, inherited)
    if not stated or SYNC_PERIOD_ROW.problem(stated[0].text):
        return default
    return parse_period(stated[0].text)
