"""All informers of a process: one a kind, shared by everybody who asks."""

import threading

from asoreconcile.cache.informer import Informer
from asoreconcile.cache.reflector import Source
from asoreconcile.clock import Clock
from asoreconcile.kube.resources import ApiResource


class Informers:
    """Makes, starts and stops informers; a service of the manager. Thread-safe."""

    name = "informers"

    def __init__(self, client: Source, *, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._lock = threading.Lock()
        self._informers: dict[tuple[ApiResource, bool], Informer] = {}
        self._started = False

    def of(self, resource: ApiResource, *, metadata_only: bool = False) -> Informer:
        """The informer of a kind, made on first use; running if this set runs."""
        with self._lock:
            informer = self._informers.get((resource, metadata_only))
            if informer is None:
                informer = Informer(
                    self._client,
                    resource,
                    clock=self._clock,
                    metadata_only=metadata_only,
                )
                self._informers[resource, metadata_only] = informer
                if self._started:
                    informer.start()
            return informer

    def discard(self, informer: Informer) -> None:
        """Forget an informer that was stopped; the next `of` makes a new one."""
        with self._lock:
            self._informers = {
                key: one for key, one in self._informers.items() if one is not informer
            }

    def start(self) -> None:
        with self._lock:
            self._started = True
            informers = list(self._informers.values())
        for informer in informers:
            informer.start()

    def stop(self, timeout_seconds: float) -> list[str]:
        """Stop all; names those whose threads still run after the time."""
        with self._lock:
            informers = list(self._informers.values())
        for informer in informers:
            informer.ask_to_stop()
        deadline = self._clock.monotonic() + timeout_seconds
        running: list[str] = []
        for informer in informers:
            running += informer.join(max(0.0, deadline - self._clock.monotonic()))
        return running
