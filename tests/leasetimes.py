"""Times of a lease that this machine can keep while it is as busy as it is now.

A lease of two seconds is soon over, so that a test need not wait long; on a machine with
a load of 40 it is over before a renewal has had its turn. So the time of a known piece
of work is measured first, and all times and bounds are multiples of that.
"""

import subprocess
import sys
import time

from asoreconcile.runtime.leaderelection.lease import LeaseTiming

_SHORTEST_SECONDS, _LONGEST_SECONDS = 3.0, 60.0


def short_timing() -> LeaseTiming:
    """A Timing as short as it can be. Blocks for a second or so, to measure."""
    began = time.monotonic()
    program = "import asoreconcile.runtime.application"
    subprocess.run([sys.executable, "-c", program], check=True)
    seconds = 4 * (time.monotonic() - began)  # alone on a machine: 1 s
    lease = min(max(seconds, _SHORTEST_SECONDS), _LONGEST_SECONDS)
    return LeaseTiming(lease, 0.7 * lease, 0.05 * lease)


def election_flags(timing: LeaseTiming) -> tuple[str, ...]:
    """The flags of a manager that keeps its lease by these times."""
    seconds = (
        timing.lease_seconds,
        timing.renew_deadline_seconds,
        timing.retry_seconds,
    )
    return ("--enable-leader-election", "--leader-election-seconds", *map(str, seconds))


def at_once(timing: LeaseTiming) -> float:
    """Return the seconds in which work that waits for no lease ends, even if it is busy."""
    return 10 + 5 * timing.lease_seconds
