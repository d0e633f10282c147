"""Share few engines among many namespaces so that no namespace starves.

A namespace that has used much time lately is served after those that have used little.
All such namespaces together leave one engine to the others, and no namespace ever has
all engines. Used time is halved every minute.
"""

import threading
from collections import deque
from collections.abc import Sequence
from typing import Generic, TypeVar

import attrs

from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import RetryError

T = TypeVar("T")

MAX_WAIT_SECONDS = 10.0
_RETRY_SECONDS = 5.0
_HALF_LIFE_SECONDS = 60.0
_HEAVY_SECONDS = 1.0
_FORGOTTEN_SECONDS = 0.001


class EngineBusyError(RetryError):
    """All engines are in use: retry later, while other objects continue."""

    def __init__(self) -> None:
        super().__init__(
            "the expressions of this namespace wait for one another",
            after_seconds=_RETRY_SECONDS,
        )


@attrs.define(eq=False)
class _Waiter(Generic[T]):
    ready: threading.Event = attrs.field(factory=threading.Event)
    taken: T | None = None


@attrs.frozen
class _Usage:
    """Seconds of engine time, as of a moment."""

    seconds: float
    at: float

    def now(self, now: float) -> float:
        return float(self.seconds * 0.5 ** ((now - self.at) / _HALF_LIFE_SECONDS))


class FairShare(Generic[T]):
    """Lends out engines, the first free one first. Safe from any thread."""

    def __init__(self, engines: Sequence[T], *, clock: Clock) -> None:
        self._engines = tuple(engines)
        self._clock = clock
        self._lock = threading.Lock()
        self._free = list(range(len(engines)))
        self._waiting: dict[str, deque[_Waiter[int]]] = {}
        self._usage: dict[str, _Usage] = {}
        self._used: dict[int, tuple[str, float]] = {}  # the user, and since when

    def acquire(self, namespace: str) -> tuple[int, T]:
        """Return an engine and its number, which `release` needs. Blocks for 10 s at
        most.

        Raises EngineBusyError.
        """
        waiter = _Waiter[int]()
        with self._lock:
            self._waiting.setdefault(namespace, deque()).append(waiter)
            self._assign()
        self._clock.wait(waiter.ready, MAX_WAIT_SECONDS)
        with self._lock:
            if waiter.taken is None:
                self._leave(namespace, waiter)
                raise EngineBusyError
        return waiter.taken, self._engines[waiter.taken]

    def release(self, number: int, namespace: str, seconds: float) -> None:
        """Return an engine. seconds: the time for which it was used."""
        now = self._clock.monotonic()
        with self._lock:
            del self._used[number]
            total = self._seconds(namespace, now) + seconds
            self._usage[namespace] = _Usage(total, now)
            self._free.append(number)
            self._free.sort()
            self._assign()

    def _assign(self) -> None:
        """Give free engines to waiting callers. The caller holds the lock."""
        now = self._clock.monotonic()
        while self._free:
            namespaces = [one for one in self._waiting if self._may_have_more(one, now)]
            if not namespaces:
                break
            # With equal use, the one that has waited longest: the mapping is in the
            # order of arrival.
            namespace = min(namespaces, key=lambda one: self._seconds(one, now))
            waiter = self._waiting[namespace][0]
            number = waiter.taken = self._free.pop(0)
            self._used[number] = (namespace, now)
            self._leave(namespace, waiter)
            waiter.ready.set()
        self._forget(now)

    def _may_have_more(self, namespace: str, now: float) -> bool:
        """Return whether an engine would be left for others. The caller holds
        the lock.
        """
        if self._is_heavy(namespace, now):
            users = [one for one, _ in self._used.values() if self._is_heavy(one, now)]
        else:
            users = [one for one, _ in self._used.values() if one == namespace]
        return len(users) < max(1, len(self._engines) - 1)

    def _is_heavy(self, namespace: str, now: float) -> bool:
        return self._seconds(namespace, now) >= _HEAVY_SECONDS

    def _leave(self, namespace: str, waiter: _Waiter[int]) -> None:
        """Remove a waiting caller. The caller holds the lock.

        The namespace's other waiting callers go to the end of the line.
        """
        queue = self._waiting.pop(namespace)
        queue.remove(waiter)
        if queue:
            self._waiting[namespace] = queue

    def _seconds(self, namespace: str, now: float) -> float:
        usage = self._usage.get(namespace)
        using = sum(now - at for one, at in self._used.values() if one == namespace)
        return using + (usage.now(now) if usage is not None else 0.0)

    def _forget(self, now: float) -> None:
        """Drop small amounts of used time. The caller holds the lock."""
        small = [n for n, s in self._usage.items() if s.now(now) < _FORGOTTEN_SECONDS]
        for namespace in small:
            del self._usage[namespace]
