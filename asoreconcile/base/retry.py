"""Bounded retries for work off the hot path: start-up, sign-in, conflicts.

Workers do not wait here for a failed object: its key is requeued after the delay of a
rate limiter (`backoff`).
"""

import random
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import attrs

from asoreconcile.base.backoff import asked_delay
from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import StoppedError
from asoreconcile.base.log import Logger

if TYPE_CHECKING:
    from tenacity import RetryCallState

_T = TypeVar("_T")

_log = Logger(__name__)


@attrs.frozen
class Backoff:
    """The number of retries, and the pauses: `first_seconds * factor**n`, +- jitter.

    attempts: the most calls, including the first. max_seconds: the longest pause before
    jitter. jitter: at most this share of a pause is added or subtracted.
    """

    attempts: int = 5
    first_seconds: float = 0.01
    factor: float = 1.0
    max_seconds: float = 30.0
    jitter: float = 0.1

    def pause_seconds(
        self, failures: int, uniform: Callable[[float, float], float]
    ) -> float:
        """Return the pause after this many failures, from 1."""
        ramp = self.first_seconds * self.factor ** (failures - 1)
        return min(ramp, self.max_seconds) * uniform(1 - self.jitter, 1 + self.jitter)

    @property
    def bound_seconds(self) -> float:
        """The maximum total of all pauses, if no error asks for more."""
        return sum(
            self.pause_seconds(failures, lambda _, most: most)
            for failures in range(1, self.attempts)
        )


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

    when: whether to retry an error; others are raised at once, as is an error that asks
    for a longer pause (`backoff.asked_delay`) than `max_seconds`. The last error is
    raised. stop: ends a pause at once, with StoppedError. what: describes the call in a
    log record of each failed try; "" logs none.
    Blocks for the calls and the pauses: at most `backoff.bound_seconds`, or if errors
    ask for it, `max_seconds` per failed try.
    """

    def is_worth_it(error: BaseException) -> bool:
        return when(error) and asked_delay(error) <= backoff.max_seconds

    try:
        return call()
    except Exception as error:
        if not is_worth_it(error):
            raise
        failed = [error]
    # Imported on use: it imports asyncio (20 ms), which few programs need.
    from tenacity import Retrying, retry_if_exception, stop_after_attempt

    stop = stop or threading.Event()

    def attempt() -> _T:
        if failed:
            raise failed.pop()  # the call above was its first attempt
        return call()

    def pause_seconds(state: "RetryCallState") -> float:
        pause = backoff.pause_seconds(state.attempt_number, uniform)
        return max(pause, asked_delay(_error(state)))

    def sleep(seconds: float) -> None:
        if clock.wait(stop, seconds):
            raise StoppedError("stopped between two tries") from None

    def report(state: "RetryCallState") -> None:
        if what:
            _log.warning(
                "Trying again",
                what=what,
                error=str(_error(state)),
                retryIn=state.upcoming_sleep,
            )

    retrying = Retrying(
        sleep=sleep,
        stop=stop_after_attempt(backoff.attempts),
        wait=pause_seconds,
        retry=retry_if_exception(is_worth_it),
        before_sleep=report,
        reraise=True,
    )
    return retrying(attempt)


def _error(state: "RetryCallState") -> BaseException | None:
    return state.outcome.exception() if state.outcome else None
