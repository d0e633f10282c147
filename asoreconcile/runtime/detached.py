"""Runs an application on a separate thread within a `with` block, for tests and
scripts.

`wait_until_ready` waits until the application is ready.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from asoreconcile.base.clock import SystemClock
from asoreconcile.base.errors import AsoreconcileError, check_seconds
from asoreconcile.runtime.controller import Controller
from asoreconcile.runtime.health import HealthChecks
from asoreconcile.runtime.manager import Manager
from asoreconcile.runtime.worker_pool import start_daemon

# Short, mostly for tests: each start waits here.
_PAUSE_SECONDS = 0.02


@contextmanager
def detached(name: str, run: Callable[[], int], manager: Manager) -> Iterator[None]:
    """Run an application on a thread until the end of the `with` block.

    run: function that blocks and returns the exit code.

    Blocks at the end until everything has stopped. Raises RuntimeError if the exit code
    is not 0, caused by the error `run` raised. A process forked within the block leaves
    it at once: nothing runs there.
    """
    codes: list[int] = []
    raised: list[BaseException] = []
    runs_in = os.getpid()
    ended = threading.Event()

    def run_whole() -> None:
        try:
            codes.append(run())
        except BaseException as error:  # noqa: BLE001 - the block's end raises it
            raised.append(error)
        finally:
            ended.set()

    start_daemon(name, run_whole)
    try:
        yield
    finally:
        if runs_in == os.getpid():
            manager.stop()
            ended.wait()
    if runs_in != os.getpid():
        return
    if raised:
        raise RuntimeError(f"{name} ended badly: {raised[0]!r}") from raised[0]
    if codes != [0]:
        why = "some of it still ran after its grace time (see the log)"
        failure = why if manager.failure is None else repr(manager.failure)
        raise RuntimeError(f"{name} ended badly: {failure}")


class NotReadyError(AsoreconcileError):
    """The application stopped or was not ready in time; the text names what is
    missing.
    """


def wait_until_ready(
    manager: Manager,
    checks: HealthChecks,
    timeout_seconds: float,
    *,
    controllers: Callable[[], Iterable[Controller]] = tuple,
) -> None:
    """Block until everything has been started and all checks pass.

    controllers: controllers whose cache sync is checked here, because their timers do
    not fire with a stopped test clock. The timeout is in real seconds, even with a test
    clock: the wait is for threads and server responses. Raises NotReadyError with the
    failing checks after the timeout, and at once if the manager stops.
    """
    check_seconds("timeout_seconds", timeout_seconds)
    clock = SystemClock()
    deadline = clock.monotonic() + timeout_seconds
    while not (manager.started.is_set() and checks.report().status == 200):
        left = deadline - clock.monotonic()
        if manager.stopping.wait(max(0.0, min(_PAUSE_SECONDS, left))):
            why = f" because of {manager.failure!r}" if manager.failure else ""
            raise NotReadyError(f"stopped before it was ready{why}")
        if left <= 0:
            missing = (
                checks.report(verbose=True).text
                if manager.started.is_set()
                else "not everything has started: call run(), or wait inside running()"
            )
            raise NotReadyError(f"not ready after {timeout_seconds:g} s: {missing}")
    manager.check_caches()
    for controller in controllers():
        controller.check_synced()
