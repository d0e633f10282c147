"""A handler that records an informer's events, for tests to wait for."""

import threading
from collections.abc import Callable
from typing import Any

WAIT_SECONDS = 20.0


class Heard:
    """Events in order. It registers itself at the informer when it is made."""

    def __init__(self, informer: Any = None, **options: Any) -> None:
        self.events: list[Any] = []
        self.informer = informer
        self.changed = threading.Condition()
        self.registration = None
        if informer is not None:
            self.registration = informer.add_handler(self, **options)

    def __call__(self, event: Any) -> None:
        with self.changed:
            self.events.append(event)
            self.changed.notify_all()

    def until(self, done: Callable[[list[Any]], bool]) -> None:
        """Wait for `done(events)`, which may change only with an event."""
        with self.changed:
            assert self.changed.wait_for(lambda: done(self.events), WAIT_SECONDS), (
                self.shown()
            )

    def until_named(self, name: str) -> None:
        """Wait for an event of an object, which ends the effects of a
        test's actions.
        """
        self.until(lambda events: any(one.key.name == name for one in events))

    def until_synced(self) -> None:
        """Wait for the informer's first state."""
        self._until_informer(self.informer.has_synced)

    def until_healthy(self) -> None:
        """Wait until the informer has synced and is healthy, which comes after its
        handlers.
        """
        informer = self.informer
        self._until_informer(
            lambda: informer.has_synced() and informer.last_error == ""
        )

    def _until_informer(self, holds: Callable[[], bool]) -> None:
        tick = threading.Event()
        for _ in range(int(WAIT_SECONDS / 0.002)):
            if holds():
                return
            tick.wait(0.002)
        raise AssertionError(self.informer.last_error)

    def clear(self) -> None:
        with self.changed:
            self.events.clear()

    def shown(self) -> list[str]:
        return [f"{type(one).__name__} {one.key.name}" for one in self.events]
