"""`/debug`: what a process does at this moment, for who may read its metrics.

    /debug/threads     every thread's stack
    /debug/reconciles  what is reconciled now: since when, on which thread
    /debug/queues      how much waits, and for how long the longest is being worked on
    /debug/caches      objects and bytes by kind
    /debug/profile     where threads were, a hundred times a second: `?seconds=10`

Places in the code and names of objects, never values of variables or contents. Behind
the metrics' authorization alone: a role with `get` on the nonResourceURL `/debug/*`.
"""

import sys
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from types import FrameType
from typing import Any
from weakref import WeakSet

import attrs

from asoreconcile import jsontext
from asoreconcile.cache.informer import Informer
from asoreconcile.clock import Clock
from asoreconcile.runtime.controller import Controller
from asoreconcile.serving.messages import ServerResponse

PREFIX = "/debug"
_DEFAULT_SECONDS, _MOST_SECONDS = 10.0, 60.0
_EVERY_SECONDS = 0.01
_JSON = "application/json"
_TEXT = "text/plain; charset=utf-8"


@attrs.frozen
class _Page:
    text: str
    content_type: str = _TEXT
    status: int = 200


class DebugPages:
    """What one process shows. Safe from any thread."""

    def __init__(
        self, informers: Callable[[], Mapping[str, Informer]], *, clock: Clock
    ) -> None:
        """informers: those there are, by the name that metrics have them by."""
        self._informers = informers
        self._clock = clock
        self._controllers: WeakSet[Controller] = WeakSet()
        self._profiling = threading.Lock()
        self._stopped = threading.Event()

    def watch(self, controller: Controller) -> None:
        """Show a controller for as long as there is one."""
        self._controllers.add(controller)

    def stop(self) -> None:
        """End a profile that is being taken, and take no more."""
        self._stopped.set()

    def answer(
        self, path: str, query: Mapping[str, list[str]]
    ) -> ServerResponse | None:
        """The page at a path, None where there is none. A profile blocks for as long as
        it says.
        """
        if path == PREFIX:
            return _response(_Page("\n".join(sorted(_PAGES)) + "\n"))
        show = _PAGES.get(path)
        return None if show is None else _response(show(self, query))

    def threads(self, _query: Mapping[str, list[str]]) -> _Page:
        """The stack of each thread, by name."""
        names = {one.ident: one.name for one in threading.enumerate()}
        found = [
            f"{names.get(ident, '?')} ({ident})\n"
            + "".join(traceback.StackSummary.extract(_places(frame)).format())
            for ident, frame in _frames().items()
        ]
        return _Page("\n".join(sorted(found)))

    def reconciles(self, _query: Mapping[str, list[str]]) -> _Page:
        """What runs now, the longest first in each controller."""
        return _json({one.name: one.in_flight() for one in self._by_name()})

    def queues(self, _query: Mapping[str, list[str]]) -> _Page:
        """The numbers of each controller's queue."""
        return _json({one.name: one.queue_state() for one in self._by_name()})

    def caches(self, _query: Mapping[str, list[str]]) -> _Page:
        """How many objects each informer holds, and how large they are."""
        return _json(
            {label: _size(one) for label, one in sorted(self._informers().items())}
        )

    def profile(self, query: Mapping[str, list[str]]) -> _Page:
        """A line for each stack: its places, and in how many samples it was seen.

        As tools for flame graphs read it. One at a time: 429 beside another.
        """
        try:
            seconds = float((query.get("seconds") or [str(_DEFAULT_SECONDS)])[0])
        except ValueError:
            return _Page("seconds is no number\n", status=400)
        if not 0 < seconds <= _MOST_SECONDS:
            return _Page(f"seconds is more than {_MOST_SECONDS:g}\n", status=400)
        if not self._profiling.acquire(blocking=False):
            return _Page("another profile is being taken\n", status=429)
        try:
            return _Page(_folded(self._samples(seconds)))
        finally:
            self._profiling.release()

    def _samples(self, seconds: float) -> Iterable[str]:
        own = threading.get_ident()
        end = self._clock.monotonic() + seconds
        names = {one.ident: one.name for one in threading.enumerate()}
        while self._clock.monotonic() < end:
            for ident, frame in _frames().items():
                if ident != own:
                    yield f"{names.get(ident, '?')};{_stack(frame)}"
            if self._clock.wait(self._stopped, _EVERY_SECONDS):
                return

    def _by_name(self) -> list[Controller]:
        return sorted(self._controllers, key=lambda one: one.name)


_Show = Callable[[DebugPages, Mapping[str, list[str]]], _Page]
_PAGES: Mapping[str, _Show] = {
    f"{PREFIX}/threads": DebugPages.threads,
    f"{PREFIX}/reconciles": DebugPages.reconciles,
    f"{PREFIX}/queues": DebugPages.queues,
    f"{PREFIX}/caches": DebugPages.caches,
    f"{PREFIX}/profile": DebugPages.profile,
}


def _response(page: _Page) -> ServerResponse:
    return ServerResponse(page.status, page.text.encode(), page.content_type)


def _json(found: Mapping[str, Any]) -> _Page:
    return _Page(jsontext.dumps(found).decode() + "\n", _JSON)


def _size(informer: Informer) -> Mapping[str, Any]:
    keys = informer.keys()
    entries = [informer.entry(key) for key in keys]
    present = [entry for entry in entries if entry is not None]
    return {
        "objects": len(present),
        "bytes": sum(entry.size_bytes for entry in present),
        "synced": informer.has_synced(),
    }


def _frames() -> Mapping[int, FrameType]:
    return sys._current_frames()  # noqa: SLF001 - the only way to see other threads


def _places(frame: FrameType) -> Iterable[tuple[FrameType, int]]:
    """The frames of a stack, the outermost first."""
    return reversed(list(traceback.walk_stack(frame)))


def _stack(frame: FrameType) -> str:
    return ";".join(
        f"{one.f_globals.get('__name__', '?')}.{one.f_code.co_name}"
        for one, _ in _places(frame)
    )


def _folded(samples: Iterable[str]) -> str:
    counts = Counter(samples)
    return "".join(f"{stack} {count}\n" for stack, count in counts.most_common())
