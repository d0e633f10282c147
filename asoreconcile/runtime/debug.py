"""The pages of `/debug`, which show the present work of a process to users who may read
its metrics.

    /debug/threads     every thread's stack
    /debug/reconciles  reconciles in flight: since when, on which thread
    /debug/queues      queue depths, and the age of the longest reconcile
    /debug/caches      objects and bytes by kind
    /debug/profile     the threads' stacks, sampled 100 times a second: `?seconds=10`

The pages show code locations and object names, never variable values or object
contents. They are served only with metrics authorization: a role needs `get` on the
nonResourceURL `/debug/*`.
"""

import sys
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from types import FrameType
from typing import Any
from weakref import WeakSet

from asoreconcile.base import jsontext
from asoreconcile.base.clock import Clock
from asoreconcile.cache.informer import Informer
from asoreconcile.runtime.controller import Controller
from asoreconcile.serving.messages import ServerResponse

PREFIX = "/debug"
_DEFAULT_SECONDS, _MOST_SECONDS = 10.0, 60.0
_EVERY_SECONDS = 0.01


class DebugPages:
    """The debug pages of one process. Safe from any thread."""

    def __init__(
        self, informers: Callable[[], Mapping[str, Informer]], *, clock: Clock
    ) -> None:
        """informers: returns the informers by their label in the metrics."""
        self._informers = informers
        self._clock = clock
        self._controllers: WeakSet[Controller] = WeakSet()
        self._profiling = threading.Lock()
        self._stopped = threading.Event()

    def watch(self, controller: Controller) -> None:
        """Show a controller until it is garbage-collected, or removed by `forget`."""
        self._controllers.add(controller)

    def forget(self, controller: Controller) -> None:
        """Stop showing a controller."""
        self._controllers.discard(controller)

    def stop(self) -> None:
        """End a running profile, and refuse new ones."""
        self._stopped.set()

    def answer(
        self, path: str, query: Mapping[str, list[str]]
    ) -> ServerResponse | None:
        """Return the page at a path, or None. A profile blocks for the requested
        time.
        """
        if path == PREFIX:
            return _page("\n".join(sorted(_PAGES)) + "\n")
        show = _PAGES.get(path)
        return None if show is None else show(self, query)

    def threads(self, _query: Mapping[str, list[str]]) -> ServerResponse:
        """Return the stack of each thread, by name."""
        names = {one.ident: one.name for one in threading.enumerate()}
        found = [
            f"{names.get(ident, '?')} ({ident})\n"
            + "".join(traceback.StackSummary.extract(_places(frame)).format())
            for ident, frame in _frames().items()
        ]
        return _page("\n".join(sorted(found)))

    def reconciles(self, _query: Mapping[str, list[str]]) -> ServerResponse:
        """Return the reconciles in flight, the longest first in each controller."""
        return _json({one.name: one.in_flight() for one in self.controllers()})

    def queues(self, _query: Mapping[str, list[str]]) -> ServerResponse:
        """Return the numbers of each controller's queue."""
        return _json({one.name: one.queue_state() for one in self.controllers()})

    def caches(self, _query: Mapping[str, list[str]]) -> ServerResponse:
        """Return how many objects each informer holds, and how large they are."""
        return _json(
            {label: _size(one) for label, one in sorted(self._informers().items())}
        )

    def profile(self, query: Mapping[str, list[str]]) -> ServerResponse:
        """Return a profile, with one line for each stack: its frames and its number of
        samples.

        The format is that of flame graph tools. One profile at a time: 429 during
        another.
        """
        try:
            seconds = float((query.get("seconds") or [str(_DEFAULT_SECONDS)])[0])
        except ValueError:
            return _page("seconds is no number\n", 400)
        if not 0 < seconds <= _MOST_SECONDS:
            return _page(f"seconds is more than {_MOST_SECONDS:g}\n", 400)
        if not self._profiling.acquire(blocking=False):
            return _page("another profile is being taken\n", 429)
        try:
            return _page(_folded(self._samples(seconds)))
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

    def controllers(self) -> list[Controller]:
        """Return the live controllers, by name."""
        return sorted(self._controllers, key=lambda one: one.name)


_Show = Callable[[DebugPages, Mapping[str, list[str]]], ServerResponse]
_PAGES: Mapping[str, _Show] = {
    f"{PREFIX}/threads": DebugPages.threads,
    f"{PREFIX}/reconciles": DebugPages.reconciles,
    f"{PREFIX}/queues": DebugPages.queues,
    f"{PREFIX}/caches": DebugPages.caches,
    f"{PREFIX}/profile": DebugPages.profile,
}


def _page(text: str, status: int = 200) -> ServerResponse:
    return ServerResponse(status, text.encode(), "text/plain; charset=utf-8")


def _json(found: Mapping[str, Any]) -> ServerResponse:
    return ServerResponse(200, jsontext.dumps(found) + b"\n", "application/json")


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
    """Return the frames of a stack, the outermost first."""
    return reversed(list(traceback.walk_stack(frame)))


def _stack(frame: FrameType) -> str:
    return ";".join(
        f"{one.f_globals.get('__name__', '?')}.{one.f_code.co_name}"
        for one, _ in _places(frame)
    )


def _folded(samples: Iterable[str]) -> str:
    counts = Counter(samples)
    return "".join(f"{stack} {count}\n" for stack, count in counts.most_common())
