"""Values that Azure may have moved for a reason, and that a sync does not put back.

A version, a key, a priority, a region or a replica of a data store is put back only if
a client is known to have changed it: Azure upgrades, rotates and fails over, and taking
that back is an outage. The table is `type_facts.json`. Pure. Rule: OW-8.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from asoreconcile.azure.catalogue.body_shape import plain_path
from asoreconcile.azure.catalogue.type_facts import MovingValue, facts_of
from asoreconcile.azure.reconcile.model.differences import Difference
from asoreconcile.base.objects import JsonObject, dig

# Kinds of clients in `systemData`; Azure's own services write none.
_CLIENTS = frozenset({"user", "application", "managedidentity", "key"})
# The clocks of Azure and of this machine differ, and a PUT takes a while to be noted.
_TOLERANCE = timedelta(minutes=5)


def guarded_differences(
    arm_type: str, found: Sequence[Difference], have: JsonObject, put_at: str
) -> list[Difference]:
    """Return the differences that a sync leaves alone.

    have: the resource. put_at: the time of the last accepted PUT, in ISO format; "" if
    there is none on record, so that nothing is guarded.
    """
    rows = facts_of(arm_type).guarded
    if not rows or not put_at or was_changed_by_client(have, put_at):
        return []
    return [one for one in found if is_in(rows, one)]


def is_in(rows: Iterable[MovingValue], found: Difference) -> bool:
    """Return whether a difference is at the place of one of the rows."""
    return any(_is_at(row, found) for row in rows)


def rows_of(arm_type: str, held: Sequence[Difference]) -> tuple[MovingValue, ...]:
    """Return the rows of the table that contain one of the differences."""
    rows = facts_of(arm_type).guarded
    return tuple(row for row in rows if any(_is_at(row, one) for one in held))


def was_changed_by_client(have: JsonObject, since: str) -> bool:
    """Return whether the resource says that a client has changed it since a time; False
    if it does not say who changed it last, and when.
    """
    kind = str(dig(have, "systemData.lastModifiedByType") or "").casefold()
    try:
        before = datetime.fromisoformat(since)
        changed = datetime.fromisoformat(str(dig(have, "systemData.lastModifiedAt")))
        return kind in _CLIENTS and changed > before + _TOLERANCE
    # Without a time, without a zone, or at the end of the calendar.
    except (TypeError, ValueError, OverflowError):
        return False


def _is_at(row: MovingValue, found: Difference) -> bool:
    path = f"{row.inside}/{row.moved}" if row.inside else row.moved
    return f"{plain_path(found.path)}/".startswith(f"{path.casefold()}/")
