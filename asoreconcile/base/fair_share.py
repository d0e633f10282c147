"""Share few engines among many namespaces so that no namespace starves.

The engines are processes: those that evaluate expressions, and those that read keys.

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
from asoreconcile.base.recent_use import RecentUse

T = TypeVar("T")

MAX_WAIT_SECONDS = 10.0
_RETRY_SECONDS = 5.0
_SHARE_SECONDS = 1.0


class EngineBusyError(RetryError):
    """All engines are in use: retry later, while other objects continue."""

    def __init__(self, work: str) -> None:
        """work: plural noun for the waiting work: `expressions`."""
        super().__init__(
            f"the {work} of this namespace wait for one another",
            after_seconds=_RETRY_SECONDS,
        )


@attrs.define(eq=False)
class _Waiter(Generic[T]):
    ready: threading.Event = attrs.field(factory=threading.Event)
    taken: T | None = None


class FairShare(Generic[T]):
    """Lends out engines, the first free one first. Safe from any thread."""

    def __init__(self, engines: Sequence[T], *, clock: Clock, work: str) -> None:
        """work: plural noun for the work of the engines."""
        self._work = work
        self._engines = tuple(engines)
        self._clock = clock
        self._lock = threading.Lock()
        self._free = list(range(len(engines)))
        self._waiting: dict[str, deque[_Waiter[int]]] = {}
        self._use: RecentUse[str] = RecentUse(_SHARE_SECONDS)
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
                raise EngineBusyError(self._work)
        return waiter.taken, self._engines[waiter.taken]

    def release(self, number: int, namespace: str, seconds: float) -> None:
        """Return an engine. seconds: the time for which it was used."""
        now = self._clock.monotonic()
        with self._lock:
            _, began = self._used.pop(number)
            self._use.end(namespace, began, now, seconds)
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
            namespace = min(namespaces, key=lambda one: self._use.seconds(one, now))
            waiter = self._waiting[namespace][0]
            number = waiter.taken = self._free.pop(0)
            self._used[number] = (namespace, now)
            self._use.begin(namespace, now)
            self._leave(namespace, waiter)
            waiter.ready.set()

    def _may_have_more(self, namespace: str, now: float) -> bool:
        """Return whether an engine would be left for others. The caller holds
        the lock.
        """
        is_above = self._use.is_above_share
        if is_above(namespace, now):
            users = [one for one, _ in self._used.values() if is_above(one, now)]
        else:
            users = [one for one, _ in self._used.values() if one == namespace]
        return len(users) < max(1, len(self._engines) - 1)

    def _leave(self, namespace: str, waiter: _Waiter[int]) -> None:
        """Remove a waiting caller. The caller holds the lock.

        The namespace's other waiting callers go to the end of the line.
        """
        queue = self._waiting.pop(namespace)
        queue.remove(waiter)
        if queue:
            self._waiting[namespace] = queue
