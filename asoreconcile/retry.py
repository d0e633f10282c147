"""Bounded retries, for what is done off the hot path: starting, signing in, conflicts.

Workers do not wait here for a failed object: its key goes back into the queue, and the
rate limiters of `backoff` say for how long.
"""

import random
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import attrs

from asoreconcile.backoff import asked_delay
from asoreconcile.clock import Clock
from asoreconcile.errors import StoppedError
from asoreconcile.log import Logger

if TYPE_CHECKING:
    from tenacity import RetryCallState

_T = TypeVar("_T")

_log = Logger(__name__)


@attrs.frozen
class Backoff:
    """How often, and how long in between: `first_seconds * factor**n`, +- jitter.

    attempts: calls at most, the first one included. max_seconds: the longest pause
    before jitter. jitter: this share of a pause is added or taken away at most.
    """

    attempts: int = 5
    first_seconds: float = 0.01
    factor: float = 1.0
    max_seconds: float = 30.0
    jitter: float = 0.1

    def pause_seconds(
        self, failures: int, uniform: Callable[[float, float], float]
    ) -> float:
        """The pause after so many failures, from 1."""
        ramp = self.first_seconds * self.factor ** (failures - 1)
        return min(ramp, self.max_seconds) * uniform(1 - self.jitter, 1 + self.jitter)

    @property
    def bound_seconds(self) -> float:
        """The longest that all pauses together take, where no error asks for more."""
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
    """Call until it raises nothing, or what no further try would mend.

    when: whether an error is worth another try; others are raised at once, and so is
    one that asks for a longer pause (`backoff.asked_delay`) than `max_seconds`. The
    last error is raised. stop: ends a pause at once, with StoppedError. what: is being
    done, for a log record of each try that failed; "" logs none.
    Blocks for the calls and the pauses: `backoff.bound_seconds` at most, or where
    errors ask for it `max_seconds` for each try that failed.
    """

    def is_worth_it(error: BaseException) -> bool:
        return when(error) and asked_delay(error) <= backoff.max_seconds

    try:
        return call()
    except Exception as error:
        if not is_worth_it(error):
            raise
        failed = [error]
    # Not before it is needed: it imports asyncio (20 ms), which few programs have.
    from tenacity import Retrying, retry_if_exception, stop_after_attempt

    stop = stop or threading.Event()

    def attempt() -> _T:
        if failed:
            raise failed.pop()  # what has just been seen is its first attempt
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
