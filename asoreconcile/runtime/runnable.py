"""What a manager runs: things that start, and stop within a time."""

import threading
from collections.abc import Callable
from enum import IntEnum
from typing import Protocol, runtime_checkable

from asoreconcile.clock import Clock
from asoreconcile.errors import StoppedError
from asoreconcile.log import Logger
from asoreconcile.runtime.worker_pool import StartThread, start_daemon

_log = Logger(__name__)


class RunnableGroup(IntEnum):
    """When a service starts; within a group all at once. Rules: MG-1, MG-2.

    Servers come first so that probes are answered, webhooks before caches because
    listing may need a conversion, and what writes comes last, once elected.
    """

    SERVERS = 1
    WEBHOOKS = 2
    CACHES = 3
    OTHERS = 4
    LEADER = 5


STOP_ORDER = (
    RunnableGroup.OTHERS,
    RunnableGroup.LEADER,
    RunnableGroup.CACHES,
    RunnableGroup.WEBHOOKS,
    RunnableGroup.SERVERS,
)
"""Rule: MG-4."""


@runtime_checkable
class Runnable(Protocol):
    """Started once, then stopped once."""

    def start(self) -> None:
        """Begin; return soon. What it raises stops the manager."""

    def stop(self, timeout_seconds: float) -> list[str]:
        """End within the time; returns what still runs then, in words."""


@runtime_checkable
class WarmUpRunnable(Protocol):
    """A service with work to do before this process is elected. Rule: CT-7."""

    def warm_up(self) -> None:
        """Begin what needs no lease; return soon."""


class RunnableHooks:
    """A function that is called when its group starts, and done before the next.

    What it raises stops the manager.
    """

    def __init__(self, name: str, run: Callable[[], None]) -> None:
        self.name = name
        self._run = run

    def start(self) -> None:
        self._run()

    def stop(self, timeout_seconds: float) -> list[str]:  # noqa: ARG002 - a service's stop
        """The manager waits for starts that have not ended."""
        return []


class RunnableFunc:
    """A function with a thread of its own, as a service.

    run: gets the event that asks it to end; what it raises stops the manager, an early
    return is fine (MG-3).
    """

    def __init__(
        self,
        name: str,
        run: Callable[[threading.Event], None],
        *,
        clock: Clock,
        start_thread: StartThread = start_daemon,
    ) -> None:
        self.name = name
        self._run = run
        self._clock = clock
        self._start_thread = start_thread
        self._stop = threading.Event()
        self._ended = threading.Event()
        self.on_failure: Callable[[BaseException], None] | None = None

    def start(self) -> None:
        self._start_thread(self.name, self._guarded)

    def stop(self, timeout_seconds: float) -> list[str]:
        self._stop.set()
        return [] if self._clock.wait(self._ended, timeout_seconds) else [self.name]

    def _guarded(self) -> None:
        try:
            self._run(self._stop)
        except StoppedError:
            return
        except Exception as error:  # noqa: BLE001 - becomes the manager's failure
            _log.exception("Task failed", task=self.name)
            if self.on_failure is not None:
                self.on_failure(error)
        finally:
            self._ended.set()
