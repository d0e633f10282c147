"""Computes delays: the delay that a server asked for, else a default. Pure; nothing
sleeps.

Rules: L17, T6, T9.
"""

import math
from collections.abc import Mapping
from datetime import UTC, datetime

from asoreconcile.azure.arm.response import parsed_date
from asoreconcile.base.backoff import exponential

# A shorter delay only causes load; a longer one would miss the end of an operation
# whose server has overestimated its time.
MIN_DELAY_SECONDS = 1.0
MAX_DELAY_SECONDS = 600.0
# ARM's longest window is an hour. A larger value is an error, such as milliseconds, and
# would stop all work in a subscription.
_MOST_ASKED_SECONDS = 3600.0
_MAX_OWN_DELAY_SECONDS = 30.0
# ARM refills 25 reads a second and principal; polls may always take half of it, as each
# operation that ends is followed by a read of its resource (T2, T9). Of the remaining
# reads that ARM reports, polls may take all but a reserve for others, at a rate that
# lasts ten seconds: as it shrinks, polls become fewer, down to that half.
_POLLS_PER_SECOND = 12.5
_RESERVED_READS = 100.0
_SPENT_OVER_SECONDS = 10.0
# All operations together need one round of polls: none waits longer than until ARM has
# refilled the reads for that round, and for one second of other requests. First polls
# may take all refilled reads: there are only as many as writes and deletes, which ARM
# limits to 10 a second each in the long run. Later polls of deletions leave a quarter
# of it to others, later ones of PUTs the half.
_LEFT_FOR_OTHERS = 25.0
_FIRST_READS_PER_SECOND = 23.75
_LATER_READS_PER_SECOND = 18.75


def retry_after_seconds(
    headers: Mapping[str, str], *, now: datetime | None = None
) -> float | None:
    """Return the delay that `retry-after` asks for, from 0 s to an hour; None without
    one.

    headers: keys in lower case. The value is a number of seconds (also with a fraction)
    or an HTTP date, which is compared with the response's own `date`, else with `now`.

    `retry-after-ms` and `x-ms-retry-after-ms` win over it. Invalid and negative values
    count as absent.
    """
    asked = _asked_seconds(headers, now=now)
    return None if asked is None else min(asked, _MOST_ASKED_SECONDS)


def _asked_seconds(headers: Mapping[str, str], *, now: datetime | None) -> float | None:
    for name in ("retry-after-ms", "x-ms-retry-after-ms"):
        milliseconds = _number(headers.get(name, ""))
        if milliseconds is not None:
            return milliseconds / 1000
    text = headers.get("retry-after", "").strip()
    if not text:
        return None
    seconds = _number(text)
    if seconds is not None:
        return seconds
    moment = parsed_date(text)
    if moment is None:
        return None
    reference = parsed_date(headers.get("date", "")) or now or datetime.now(UTC)
    return max(0.0, (moment - reference).total_seconds())


def next_poll_delay(
    headers: Mapping[str, str], polls: int, *, now: datetime | None = None
) -> float:
    """Return the seconds to wait before the next read of an operation's status. Rule:
    L17.

    headers: headers of the last response, keys in lower case.
    polls: number of polls already made, from 0; used only without a `retry-after`: then
    1, 2, 4, .. 30 s.

    The result is between 1.0 and 600.0.
    """
    asked = retry_after_seconds(headers, now=now)
    if asked is None:
        return own_delay(polls)
    return min(max(asked, MIN_DELAY_SECONDS), MAX_DELAY_SECONDS)


def own_delay(polls: int) -> float:
    """Return 1, 2, 4, .. 30 s, depending on the number of polls made. Rule: L17."""
    return exponential(1.0, max(polls, 0), _MAX_OWN_DELAY_SECONDS)


def stretched(
    delay_seconds: float,
    *,
    open_operations: int,
    reads_left: float | None = None,
    reads_to_end: int | None = None,
    is_first: bool = False,
) -> float:
    """Return a poll delay that is long enough for all operations to share the reads.
    Rule: T9.

    open_operations: number of running operations of this subscription and identity.
    reads_left: number of reads that ARM still allows for this identity; None if
    unknown, and then the delay is not stretched.
    reads_to_end: number of reads that each operation needs if it has ended by then,
    including the poll; None if it probably needs more.
    is_first: true if the operation has not been polled yet.

    The result is never shorter than `delay_seconds`.
    """
    if reads_left is None:
        return delay_seconds
    spare = max(reads_left - _RESERVED_READS, 0.0)
    polls_per_second = _POLLS_PER_SECOND + spare / _SPENT_OVER_SECONDS
    wait = open_operations / polls_per_second
    if reads_to_end is not None:
        rate = _FIRST_READS_PER_SECOND if is_first else _LATER_READS_PER_SECOND
        lacking = open_operations * reads_to_end + _LEFT_FOR_OTHERS - reads_left
        wait = min(wait, lacking / rate)
    return max(delay_seconds, wait)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None
