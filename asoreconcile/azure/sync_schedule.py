"""When a resource in order is looked at: at its own place in each period. Pure.

The place follows from the object's uid, so that nothing has to be written at a sync,
another process goes on where the last one was, and any number of objects is spread
evenly however they came about.
"""

import hashlib
import math

# More bits than a float has: places are spread as evenly as they can be.
_DIGEST_BYTES = 8
_NEARER = 0.25
# How many times faster than usual missed places are worked off. Together with those
# whose places come meanwhile that is three times the reads of a quiet hour.
_CATCHING_UP = 2.0


def place_in_period(uid: str) -> float:
    """Where in a period an object is looked at, as a part of it: [0, 1)."""
    digest = hashlib.sha256(uid.encode()).digest()[:_DIGEST_BYTES]
    return int.from_bytes(digest) / 2.0 ** (8 * _DIGEST_BYTES)


def seconds_until_sync(
    uid: str, *, period_seconds: float, now: float, was_synced: bool
) -> float:
    """Seconds until an object's next place.

    now: seconds of the wall clock, since the epoch. was_synced: it was looked at now:
    then it comes nearer to its place by a quarter of a period at a time, so that from
    look to look it is never more or less than that from a period.
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
    """Seconds until an object is looked at whose place came while no process ran; None
    for one whose place did not.

    now, last_alive: seconds of the wall clock, since the epoch; the latter is when the
    last process was known to run, by a clock that may differ. The longest overdue is
    looked at now, and the others after it twice as fast as they would have been: all
    are done within half the time that nobody ran, and within half a period.
    """
    place = place_in_period(uid) * period_seconds
    overdue = (now - place) % period_seconds
    if now - overdue <= last_alive:
        return None
    return (min(now - last_alive, period_seconds) - overdue) / _CATCHING_UP


def is_put_due(uid: str, *, last_put: float, period_seconds: float, now: float) -> bool:
    """Whether the last PUT is so long ago that another one is due.

    Objects that were put together become due over a quarter of the period.
    """
    return now - last_put >= period_seconds * (1 + place_in_period(uid) / 4)
