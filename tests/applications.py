"""Applications of a test in this process, which are always stopped."""

import threading
import time
from collections.abc import Callable
from queue import Queue
from typing import Any

from asoreconcile.base.objects import ObjectKey
from asoreconcile.runtime.application import Application
from asoreconcile.runtime.reconciler import Request, Result


class Noting:
    """A reconciler that records the keys with which it is called."""

    def __init__(self) -> None:
        self.keys: Queue[ObjectKey] = Queue()

    def reconcile(self, request: Request) -> Result:
        self.keys.put(request.key)
        return Result()


class Applications:
    """The applications of a test on one cluster. End with `close`."""

    def __init__(self, kubeconfig: str) -> None:
        self._kubeconfig = kubeconfig
        self._made: list[Application] = []
        self._threads: list[threading.Thread] = []

    def make(self, **options: Any) -> Application:
        app = Application("tests", cluster=self._kubeconfig, **options)
        self._made.append(app)
        return app

    def start(self, app: Application) -> Queue[int]:
        """Run an application on a thread; return a queue that gets its exit code."""
        codes: Queue[int] = Queue()
        thread = threading.Thread(target=lambda: codes.put(app.run(signals=False)))
        thread.start()
        self._threads.append(thread)
        return codes

    def close(self) -> None:
        for app in self._made:
            app.stop()
            app.close()
        for thread in self._threads:
            thread.join(30)


def until(condition: Callable[[], bool]) -> None:
    poll, deadline = threading.Event(), time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        poll.wait(0.005)
