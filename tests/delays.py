"""Delays around every request, watch event and handler, drawn from a seed.

ASORECONCILE_DELAYS=SEED switches them on, in the tests (`conftest`) and in the managers
that they start (`operation`), with a switch interval at which threads change all the
time. Races that a quiet machine never shows come up in minutes.
Which delay meets which request hangs on the threads; the seed decides what is drawn.
"""

import random
import sys
import threading

from asoreconcile.cache.processor import Processor
from asoreconcile.cache.watch_feed import WatchFeed
from asoreconcile.testing.http import HttpServer
from asoreconcile.wire.pool import HandlePool

_SWITCH_INTERVAL_SECONDS = 1e-6
# Share of calls, and the most seconds: mostly none, now and then long enough for others
# to overtake.
_KINDS = ((0.70, 0.0), (0.25, 0.002), (0.05, 0.03))


class Delays:
    """Holds up whoever asks, for a time of the seed's choice."""

    def __init__(self, seed: str) -> None:
        self._dice = random.Random(f"delays/{seed}")
        self._wait = threading.Event().wait

    def pause(self) -> None:
        shares, most = zip(*_KINDS, strict=True)
        (longest,) = self._dice.choices(most, shares)
        if longest:
            self._wait(self._dice.uniform(0, longest))

    def around(self, function):
        """The function, with a delay before and after each call."""

        def delayed(*args, **kwargs):
            self.pause()
            try:
                return function(*args, **kwargs)
            finally:
                self.pause()

        return delayed


def install(seed: str) -> None:
    """Delay everything in this process from now on."""
    delays = Delays(seed)
    sys.setswitchinterval(_SWITCH_INTERVAL_SECONDS)
    WatchFeed.apply = delays.around(WatchFeed.apply)
    Processor._call = delays.around(Processor._call)
    HandlePool.exchange = delays.around(HandlePool.exchange)
    begin = HttpServer.__init__

    def with_delays(self, handle, **options):
        begin(self, delays.around(handle), **options)

    HttpServer.__init__ = with_delays
