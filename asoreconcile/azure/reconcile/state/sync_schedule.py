"""Decides when a Ready resource is synced: once in each period, at the object's own
place. Pure.

The place is computed from the object's uid. So nothing has to be written at a sync,
another process continues where the last one was, and any number of objects is spread
evenly, even if all were created at once.
"""

import hashlib
import math
from zlib import crc32

# More bits than a float has, so that places are spread as evenly as possible.
_DIGEST_BYTES = 8
_NEARER = 0.25
# Missed syncs are caught up so many times faster than usual. Together with the regular
# syncs that is three times the usual reads.
_CATCHING_UP = 2.0
# A reconcile sooner than the shortest period after the last one is not a periodic sync.
_OF_THE_PERIOD = 0.7
# Without a sync period.
_PERIOD_SECONDS = 3600.0
# One of so many syncs uses a GET although there are lists.
_LISTED_IN_A_ROW = 128


def place_in_period(uid: str) -> float:
    """Return an object's time within a period, as a fraction: [0, 1)."""
    digest = hashlib.sha256(uid.encode()).digest()[:_DIGEST_BYTES]
    return int.from_bytes(digest) / 2.0 ** (8 * _DIGEST_BYTES)


def seconds_until_sync(
    uid: str, *, period_seconds: float, now: float, was_synced: bool
) -> float:
    """Return seconds until an object's next sync.

    now: seconds of the wall clock, since the epoch. was_synced: whether the object was
    synced just now. Then the next sync moves towards the object's place by at most a
    quarter of a period, so that the time between two syncs differs from the period by
    at most a quarter.
    """
    place = place_in_period(uid) * period_seconds
    earliest = now + period_seconds / 2 if was_synced else now
    periods = math.ceil((earliest - place) / period_seconds)
    seconds = max(0.0, place + periods * period_seconds - now)
    if not was_synced:
        return seconds
    least, most = period_seconds * (1 - _NEARER), period_seconds * (1 + _NEARER)
    return min(max(seconds, least), most)


def seconds_until_missed_sync(
    uid: str, *, period_seconds: float, now: float, last_alive: float
) -> float | None:
    """Return the seconds until the sync of an object whose place passed while no
    process ran; None if it did not pass.

    now: present time in seconds since the epoch. last_alive: time at which a process
    was last known to run, by a clock that may differ. The longest overdue object is
    synced at once, and the others follow at twice the usual rate: all are synced within
    half the time without a process, and within half a period.
    """
    place = place_in_period(uid) * period_seconds
    overdue = (now - place) % period_seconds
    if now - overdue <= last_alive:
        return None
    return (min(now - last_alive, period_seconds) - overdue) / _CATCHING_UP


def is_put_due(
    uid: str, age_seconds: float | None, *, period_seconds: float | None
) -> bool:
    """Return whether the last PUT is so old that a value which Azure does not show is
    put again.

    age_seconds: age of the last PUT; None if not known. period_seconds: longest age;
    None for never. Objects that were PUT together become due at different times, over a
    quarter of the period.
    """
    if period_seconds is None or age_seconds is None:
        return period_seconds is not None
    return age_seconds >= period_seconds * (1 + place_in_period(uid) / 4)


def may_list(
    arm_id: str, age_seconds: float, *, period_seconds: float, now: float
) -> bool:
    """Return whether a sync may read the resource from a list.

    Only periodic syncs may, and one in many uses a GET anyway, in case lists do not
    show every change.

    age_seconds: age of the last read. now: seconds of the wall clock.
    """
    turn = int(now // period_seconds) + crc32(arm_id.encode())
    is_periodic = age_seconds >= _OF_THE_PERIOD * period_seconds
    return is_periodic and turn % _LISTED_IN_A_ROW != 0


def is_period_over(age_seconds: float | None, period_seconds: float | None) -> bool:
    """Return whether the last PUT is about a sync period old, or its age is not known.

    period_seconds: None or 0 stands for an hour.
    """
    period = period_seconds or _PERIOD_SECONDS
    return age_seconds is None or age_seconds >= _OF_THE_PERIOD * period
