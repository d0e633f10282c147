"""Deduplicates concurrent calls: callers with the same key share one call.

Twelve workers that need one token sign in once, and a failure releases all twelve at
once: with a lock they would fail one after another. No caller waits longer than its own
reconcile may take. Rule: TH-9.
"""

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

import attrs

from asoreconcile.base import reconcile_context
from asoreconcile.base.stop_signal import StopSignal

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class PatienceError(TimeoutError):
    """The caller's waiting time ended, while the shared call goes on."""


@attrs.define(eq=False)
class _Flight(Generic[T]):
    """A call that several callers wait for.

    abandoned: whether it ended because its caller ran out of time.
    """

    over: StopSignal = attrs.field(factory=StopSignal)
    answer: list[T] = attrs.field(factory=list)
    error: BaseException | None = None
    abandoned: bool = False


class SingleFlight(Generic[K, T]):
    """Calls in progress, by key. Safe from any thread; keeps no results.

    own_thread: whether to run each call on a daemon thread outside any reconcile. Use
    it for calls that cannot be cancelled: waiting callers leave in time, and the call
    goes on. Otherwise the first caller makes the call on its own thread, within its own
    time.
    """

    def __init__(self, *, own_thread: bool = False, name: str = "shared-call") -> None:
        """name: the threads' name."""
        self._own_thread = own_thread
        self._name = name
        self._lock = threading.Lock()
        self._flights: dict[K, _Flight[T]] = {}

    def forget_all(self) -> None:
        """Drop all calls, in a forked child: their threads do not exist here."""
        self._lock = threading.Lock()
        self._flights = {}

    def do(
        self,
        key: K,
        call: Callable[[], T],
        *,
        at_most_seconds: float | None = None,
    ) -> T:
        """Return the result of the key's call in progress, or else of this call.

        Raises the exception of the call to all its callers. Raises DeadlineError or
        StoppedError if this reconcile's own time ends first, and PatienceError after
        at_most_seconds of waiting for another thread's call.
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
            # Its caller had less time than this reconcile has: call again.

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
        except RuntimeError as error:  # no thread is available: call on this one
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
        """Give the result of a call to all waiting callers.

        The call is removed first, so that a later caller makes a new one.
        """
        flight.error = error
        with self._lock:
            del self._flights[key]
        flight.over.set()


def _outcome(flight: _Flight[T]) -> T:
    if flight.error is not None:
        # One error is raised on many threads: reset its traceback for each.
        raise flight.error.with_traceback(None)
    return flight.answer[0]
