"""Runs watches in a test's own time: their pauses are waits of the test's clock."""

import threading
from types import SimpleNamespace
from typing import Any

from asoreconcile.base.threads import Threads


class WatchThread:
    """A runner of watches (`cache.watch_runner`), with a thread for each of them."""

    def __init__(self, client: Any, clock: Any) -> None:
        self.source = client.in_steps(Threads(clock))
        self._clock = clock

    def start(self, name: str, reflector: Any) -> SimpleNamespace:
        """Run a watch until it is stopped; returns an object that waits for its end."""
        woken = threading.Event()

        def run() -> None:
            for pause in reflector.steps(woken.set):
                if pause is None:
                    woken.wait()
                    woken.clear()
                else:
                    self._clock.wait(reflector.stopping, pause)

        def join(seconds: float) -> bool:
            thread.join(seconds)
            return not thread.is_alive()

        thread = threading.Thread(target=run, name=name, daemon=True)
        thread.start()
        return SimpleNamespace(join=join)
