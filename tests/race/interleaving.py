"""Threads that run in turns, switched between two instructions by a seed: replayable.

    interleaving = Interleaving(seed)
    with interleaving.locks():
        shared = Thing()          # its threading.Lock()s hand over instead of blocking
    interleaving.run(first, second)

Threads are switched only in code below `asoreconcile/`. The test's own lines run
without a switch, so notes that a test makes next to a call are exact.
"""

import os
import random
import secrets
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any
from unittest import mock

import pytest

PACKAGE = f"{os.sep}asoreconcile{os.sep}"
_MOST_WAITS = 200_000


def seeds(fresh: int, *, kept: Sequence[int] = ()) -> list[int]:
    """Yield the seeds that failed once and that many new ones, or the requested seed.

    Use it in a loop of a test: parameters must be the same in every process that
    collects.
    """
    asked = os.environ.get("ASORECONCILE_RACE_SEED")
    if asked:
        return [int(asked)]
    # This is not `random`, because pytest-randomly gives that the same state for each
    # test.
    return [*kept, *(secrets.randbelow(2**32) for _ in range(fresh))]


class Interleaving:
    """One schedule.

    every: average number of instructions between two switches. By default the seed
    chooses it, because some races need many switches and others few.
    """

    def __init__(self, seed: int, *, every: int | None = None) -> None:
        if sys.version_info[:2] == (3, 12):
            pytest.skip(
                "Python 3.12 traces no instruction of the first thread, and crashes "
                "where several are traced (python/cpython#103615, mended in 3.13)"
            )
        self.seed = seed
        self._dice = random.Random(seed)
        self._every = every or self._dice.choice((4, 8, 30, 100))
        self._turns: dict[int, threading.Lock] = {}
        self._failures: list[BaseException] = []

    def run(self, *functions: Callable[[], object]) -> None:
        """Run functions together to their ends; raise the error of the first that
        failed.
        """
        threads = []
        for number, function in enumerate(functions):
            # This is a bare lock, never one of the schedule's own: a semaphore would
            # consist of those, and would give up its turn while it hands a turn over.
            self._turns[number] = turn = _Real()
            turn.acquire()
            threads.append(threading.Thread(target=self._run, args=(number, function)))
        for thread in threads:
            thread.start()
        self._pass_on()
        for thread in threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in threads), f"seed {self.seed}"
        if self._failures:
            self._failures[0].add_note(f"ASORECONCILE_RACE_SEED={self.seed}")
            raise self._failures[0]

    @contextmanager
    def locks(self) -> Iterator[None]:
        """Make locks and conditions, while the block runs, part of this schedule."""
        with (
            mock.patch("threading.Lock", partial(_Lock, self, _Real)),
            mock.patch("threading.RLock", partial(_ReentrantLock, self, _RealAgain)),
            mock.patch("threading.Condition", partial(_Condition, self)),
        ):
            yield

    def switch(self) -> None:
        """Let a random thread continue, possibly the calling one."""
        me = self._me.number
        chosen = self._dice.choice(list(self._turns))
        if chosen != me:
            self._turns[chosen].release()
            self._turns[me].acquire()

    def is_over(self, seconds: float) -> bool:
        """Return whether a wait of that many seconds is over: one second is 1,000
        switches.
        """
        return self._dice.random() * seconds < 0.001

    def stands_in(self) -> bool:
        """Return whether the calling thread belongs to this schedule."""
        return getattr(self._me, "number", None) is not None

    def _run(self, number: int, function: Callable[[], object]) -> None:
        self._me.number = number
        self._turns[number].acquire()
        sys.settrace(self._on_call)
        try:
            function()
        except BaseException as error:  # noqa: BLE001 - raised again by `run`
            self._failures.append(error)
        finally:
            sys.settrace(None)
            del self._turns[number]
            self._pass_on()

    def _pass_on(self) -> None:
        if self._turns:
            self._turns[self._dice.choice(list(self._turns))].release()

    def _on_call(self, frame: FrameType, event: str, argument: Any) -> Any:
        if PACKAGE not in frame.f_code.co_filename:
            return None
        frame.f_trace_opcodes = True
        return self._on_step

    def _on_step(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "opcode" and self._dice.randrange(self._every) == 0:
            self.switch()
        return self._on_step

    _me = threading.local()


_Real, _RealAgain = threading.Lock, threading.RLock
_RealCondition = threading.Condition


class _Lock:
    """A lock whose waiters give up their turn until it is free."""

    def __init__(self, interleaving: Interleaving, make: Callable[[], Any]) -> None:
        self._interleaving = interleaving
        self._real: Any = make()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if not self._interleaving.stands_in():
            return bool(self._real.acquire(blocking, timeout))
        for _ in range(_MOST_WAITS):
            if self._real.acquire(blocking=False):
                return True
            if not blocking:
                return False
            self._interleaving.switch()
        raise AssertionError("a deadlock")

    def release(self) -> None:
        self._real.release()

    def locked(self) -> bool:
        """Return whether it is locked. A Condition takes this over when it is made."""
        return bool(self._real.locked())

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *error: object) -> None:
        self.release()


class _ReentrantLock(_Lock):
    def _is_owned(self) -> bool:
        """Return whether it is held. A Condition calls this."""
        return bool(self._real._is_owned())


class _Ticket:
    is_called = False


class _Condition(_RealCondition):
    """A condition whose waiters give up their turn until they are notified,
    in order.
    """

    def __init__(self, interleaving: Interleaving, lock: Any = None) -> None:
        super().__init__(lock or threading.RLock())
        self._interleaving = interleaving
        self._tickets: list[_Ticket] = []

    def wait(self, timeout: float | None = None) -> bool:
        if not self._interleaving.stands_in():
            return super().wait(timeout)
        self._tickets.append(ticket := _Ticket())
        self.release()
        for _ in range(_MOST_WAITS):
            self._interleaving.switch()
            if ticket.is_called or (
                timeout is not None and self._interleaving.is_over(timeout)
            ):
                break
        else:
            raise AssertionError("nobody notifies")
        self.acquire()
        if not ticket.is_called:
            self._tickets.remove(ticket)
        return ticket.is_called

    def notify(self, n: int = 1) -> None:
        super().notify(n)
        woken, self._tickets = self._tickets[:n], self._tickets[n:]
        for ticket in woken:
            ticket.is_called = True

    def notify_all(self) -> None:
        super().notify_all()
        self.notify(len(self._tickets))
