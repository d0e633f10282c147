"""Delays around requests, watch events, handlers, threads and processes, from a seed.

Races that a quiet machine never shows come up in minutes. There are two kinds:

ASORECONCILE_DELAYS=SEED: short delays around every request, watch event and handler,
with a switch interval at which threads change all the time.

pytest --slow-machine=SEED (`new` draws one and prints it): a machine that is busy with
other work. Mostly nothing is delayed; now and then a request, the start of a thread or
the start of a process takes up to two seconds. Each test draws from its own name, so
that it draws the same when it runs alone.

Which delay meets which request depends on the threads; the seed decides what is drawn.
"""

import functools
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

from asoreconcile.cache.informer import WatchFeed
from asoreconcile.cache.processor import Processor
from asoreconcile.testing.http import HttpServer

_SWITCH_INTERVAL_SECONDS = 1e-6
# Share of calls, and the most seconds: mostly none, now and then long enough for others
# to overtake.
SHORT = ((0.70, 0.0), (0.25, 0.002), (0.05, 0.03))
SLOW = ((0.93, 0.0), (0.06, 0.02), (0.0085, 0.3), (0.0015, 2.0))


class Delays:
    """Delays its caller by a time that the seed decides."""

    def __init__(self, seed: str, kinds: Iterable[tuple[float, float]]) -> None:
        self._seed = seed
        self._shares, self._most = zip(*kinds, strict=True)
        self._wait = threading.Event().wait
        self.begin("")

    def begin(self, test: str) -> None:
        """Draw as this test does from now on."""
        self._dice = random.Random(f"delays/{self._seed}/{test}")

    def pause(self) -> None:
        dice = self._dice
        (longest,) = dice.choices(self._most, self._shares)
        if longest:
            self._wait(dice.uniform(0, longest))

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, with a delay before and after each call."""

        @functools.wraps(function)
        def delayed(*args: Any, **kwargs: Any) -> Any:
            self.pause()
            try:
                return function(*args, **kwargs)
            finally:
                self.pause()

        return delayed

    def install(self) -> None:
        """Delay requests, watch events and handlers of this process from now on."""
        _replace(WatchFeed, "apply", self.around(WatchFeed.apply))
        _replace(Processor, "_call", self.around(Processor._call))
        begin = HttpServer.__init__

        def with_delays(
            server: HttpServer, handle: Callable[..., Any], **options: Any
        ) -> None:
            begin(server, self.around(handle), **options)

        _replace(HttpServer, "__init__", with_delays)

    def install_starts(self) -> None:
        """Delay the starts of threads and processes of this process from now on."""
        start, delays = threading.Thread.start, self

        def start_later(thread: threading.Thread) -> None:
            run = thread.run

            def run_later() -> None:
                del thread.run  # which refers to the thread itself
                delays.pause()
                run()

            _replace(thread, "run", run_later)
            start(thread)
            delays.pause()

        _replace(threading.Thread, "start", start_later)
        _replace(subprocess.Popen, "__init__", self.around(subprocess.Popen.__init__))


def _replace(owner: object, name: str, function: Callable[..., Any]) -> None:
    """Give a class or an object another method, of any signature."""
    setattr(owner, name, function)


def install(seed: str) -> None:
    """Delay everything in this process shortly from now on."""
    sys.setswitchinterval(_SWITCH_INTERVAL_SECONDS)
    Delays(seed, SHORT).install()


def slow_machine(seed: str) -> Delays:
    """Make this process one of a slow machine from now on."""
    delays = Delays(seed, SLOW)
    delays.install()
    delays.install_starts()
    return delays
