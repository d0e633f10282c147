"""The time at which a Ready resource is synced: at its own place in each period. Pure.

The place follows from the object's uid. So nothing has to be written at a sync, another
process continues where the last one was, and any number of objects is spread evenly,
even if all were created at once.
"""

import hashlib
import math

# More bits than a float has, so that places are spread as evenly as possible.
_DIGEST_BYTES = 8
_NEARER = 0.25
# Missed syncs are caught up so many times faster than usual. Together with the regular
# syncs that is three times the usual reads.
_CATCHING_UP = 2.0


def place_in_period(uid: str) -> float:
    """Return an object's time within a period, as a fraction: [0, 1)."""
    digest = hashlib.sha256(uid.encode()).digest()[:_DIGEST_BYTES]
    return int.from_bytes(digest) / 2.0 ** (8 * _DIGEST_BYTES)


def seconds_until_sync(
    uid: str, *, period_seconds: float, now: float, was_synced: bool
) -> float:
    """Return seconds until an object's next sync.

    now: seconds of the wall clock, since the epoch. was_synced: it was synced now: then
    the next sync moves towards its place by at most a quarter of a period, so that two
    syncs are always within that of one period.
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
    """Return seconds until the sync of an object whose place passed while no process
    ran; None if it did not pass.

    now, last_alive: seconds of the wall clock, since the epoch; the latter is when the
    last process was known to run, by a clock that may differ. The longest overdue
    object is synced now, and the others follow twice as fast as their places: all are
    done within half the time without a process, and within half a period.
    """
    place = place_in_period(uid) * period_seconds
    overdue = (now - place) % period_seconds
    if now - overdue <= last_alive:
        return None
    return (min(now - last_alive, period_seconds) - overdue) / _CATCHING_UP


def is_put_due(uid: str, *, last_put: float, period_seconds: float, now: float) -> bool:
    """Return whether the last PUT is so old that another one is due.

    Objects that were PUT together become due over a quarter of the period.
    """
    return now - last_put >= period_seconds * (1 + place_in_period(uid) / 4)
