"""Bounded retries for work off the hot path: start-up, sign-in, conflicts.

Workers do not wait here for a failed object: its key is requeued after the delay of a
rate limiter (`backoff`).
"""

import random
import threading
from collections.abc import Callable
from typing import TypeVar

import attrs

from asoreconcile.base.backoff import asked_delay
from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import StoppedError, check_is, check_number
from asoreconcile.base.log import Logger

_T = TypeVar("_T")

_log = Logger(__name__)


@attrs.frozen
class Backoff:
    """The number of retries, and the pauses: `first_seconds * factor**n`, +- jitter.

    attempts: the most calls, including the first. max_seconds: the longest pause before
    jitter. jitter: at most this share of a pause is added or subtracted.
    Raises TypeError or ValueError for numbers that cannot work.
    """

    attempts: int = 5
    first_seconds: float = 0.01
    factor: float = 1.0
    max_seconds: float = 30.0
    jitter: float = 0.1

    def __attrs_post_init__(self) -> None:
        check_is("attempts", self.attempts, int)
        check_number("attempts", self.attempts, least=1)
        check_number("first_seconds", self.first_seconds, least=0)
        check_number("factor", self.factor, least=0, above=True)
        check_number("max_seconds", self.max_seconds, least=0)
        check_number("jitter", self.jitter, least=0)
        if self.jitter > 1:
            raise ValueError(f"jitter is {self.jitter:g}: give a share, 0 to 1")

    def pause_seconds(
        self, failures: int, uniform: Callable[[float, float], float]
    ) -> float:
        """Return the pause after this many failures, from 1."""
        ramp = self.first_seconds * self.factor ** (failures - 1)
        return min(ramp, self.max_seconds) * uniform(1 - self.jitter, 1 + self.jitter)


def retry(
    call: Callable[[], _T],
    *,
    backoff: Backoff,
    when: Callable[[BaseException], bool],
    clock: Clock,
    stop: threading.Event | None = None,
    uniform: Callable[[float, float], float] = random.uniform,
    what: str = "",
) -> _T:
    """Call until it succeeds, or fails with an error that a retry cannot fix.

    when: returns whether to retry an error; other errors are raised at once, as is an
    error that asks for a longer pause (`backoff.asked_delay`) than `max_seconds`. The
    last error is raised. stop: ends a pause at once, with StoppedError. what: describes
    the call in a log record of each failed try; "" logs none. Blocks for the calls and
    the pauses: those of the back-off, or if errors ask for it, `max_seconds` per failed
    try.
    """
    stop = stop or threading.Event()
    failures = 0
    while True:
        try:
            return call()
        except Exception as error:
            failures += 1
            asked = asked_delay(error)
            if (
                failures >= backoff.attempts
                or asked > backoff.max_seconds
                or not when(error)
            ):
                raise
            pause = max(backoff.pause_seconds(failures, uniform), asked)
            if what:
                _log.warning("Trying again", what=what, error=str(error), retryIn=pause)
        if clock.wait(stop, pause):
            raise StoppedError("stopped between two tries")
