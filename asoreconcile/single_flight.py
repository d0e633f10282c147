"""One call for all who want its answer at the same time.

Twelve workers that need one token sign in once, and a failure frees all twelve at once:
under a lock they would fail one after another. Nobody waits longer than the own
reconcile may take. Rule: TH-9.
"""

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

import attrs

from asoreconcile import reconcile_context
from asoreconcile.stop_signal import StopSignal

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class PatienceError(TimeoutError):
    """The call goes on, but who waited for it had no more time for that."""


@attrs.define(eq=False)
class _Flight(Generic[T]):
    """abandoned: it ended because the time of whoever made it did."""

    over: StopSignal = attrs.field(factory=StopSignal)
    answer: list[T] = attrs.field(factory=list)
    error: BaseException | None = None
    abandoned: bool = False


class SingleFlight(Generic[K, T]):
    """Calls under way, by key. Safe from any thread; keeps nothing once they are over.

    own_thread: a call runs on a daemon thread that belongs to no reconcile. For calls
    that cannot be broken off: whoever waits goes in time, the call ends when it does.
    Otherwise the first who comes makes the call on its own thread, within its own time.
    """

    def __init__(self, *, own_thread: bool = False, name: str = "shared-call") -> None:
        """name: of the threads."""
        self._own_thread = own_thread
        self._name = name
        self._lock = threading.Lock()
        self._flights: dict[K, _Flight[T]] = {}

    def forget_all(self) -> None:
        """Begin anew, in a process that was just forked: the calls under way are made
        by threads that are not here.
        """
        self._lock = threading.Lock()
        self._flights = {}

    def do(
        self,
        key: K,
        call: Callable[[], T],
        *,
        at_most_seconds: float | None = None,
    ) -> T:
        """The answer of the call under way for a key, or else of this one.

        Raises what the call raised, the same to all who wait. Raises DeadlineError or
        StoppedError when this reconcile's own time is over before, and PatienceError
        after at_most_seconds of waiting for another thread's call.
        """
        while True:
            flight, is_first = self._flight(key)
            if is_first and not self._own_thread:
                self._run(key, flight, call)
            elif is_first:
                self._start(key, flight, call)
            if not reconcile_context.wait(flight.over, at_most_seconds):
                raise PatienceError
            if is_first or not flight.abandoned:
                return _outcome(flight)
            # Its maker had less time than this reconcile has: that says nothing.

    def _flight(self, key: K) -> tuple[_Flight[T], bool]:
        with self._lock:
            flight = self._flights.get(key)
            if flight is not None:
                return flight, False
            flight = self._flights[key] = _Flight()
            return flight, True

    def _start(self, key: K, flight: _Flight[T], call: Callable[[], T]) -> None:
        thread = threading.Thread(
            target=self._run, args=(key, flight, call), name=self._name, daemon=True
        )
        try:
            thread.start()
        except RuntimeError as error:  # no more threads: an answer all the same
            self._land(key, flight, error)

    def _run(self, key: K, flight: _Flight[T], call: Callable[[], T]) -> None:
        try:
            flight.answer.append(call())
        except BaseException as error:  # noqa: BLE001 - raised again, to all who wait
            context = reconcile_context.current()
            flight.abandoned = context is not None and context.is_over
            self._land(key, flight, error)
        else:
            self._land(key, flight, None)

    def _land(self, key: K, flight: _Flight[T], error: BaseException | None) -> None:
        """In this order: who comes now makes a call of its own."""
        flight.error = error
        with self._lock:
            del self._flights[key]
        flight.over.set()


def _outcome(flight: _Flight[T]) -> T:
    if flight.error is not None:
        # One error, raised on many threads: each traceback starts again.
        raise flight.error.with_traceback(None)
    return flight.answer[0]
