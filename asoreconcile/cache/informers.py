"""All informers of a process: one a kind and selection, shared by all who ask."""

import threading
from collections.abc import Sequence

from asoreconcile.cache.informer import Informer
from asoreconcile.cache.source import Selection, Source
from asoreconcile.cache.state import StreamingSupport
from asoreconcile.clock import Clock
from asoreconcile.kube.resources import ApiResource


class Informers:
    """Makes, starts and stops informers; a service of the manager. Thread-safe."""

    name = "informers"

    def __init__(
        self,
        client: Source,
        *,
        clock: Clock,
        namespaces: Sequence[str] | None = None,
        streaming: bool = True,
    ) -> None:
        """namespaces: the only ones to watch, for kinds that have a namespace; None
        watches the whole cluster. streaming: get initial state by stream where the
        server can, and by lists else.
        """
        self._client = client
        self._clock = clock
        self._namespaces = namespaces
        self._streaming = StreamingSupport(expected=streaming)
        self._lock = threading.Lock()
        self._informers: dict[Selection, Informer] = {}
        self._started = False

    def of(
        self,
        resource: ApiResource,
        *,
        metadata_only: bool = False,
        label_selector: str = "",
        field_selector: str = "",
    ) -> Informer:
        """The informer of a kind, made on first use; running if this set runs.

        Each selection has a cache of its own.
        """
        selection = Selection(
            resource,
            label_selector=label_selector,
            field_selector=field_selector,
            metadata_only=metadata_only,
        )
        with self._lock:
            informer = self._informers.get(selection)
            if informer is None:
                informer = self._informers[selection] = self._made(selection)
                if self._started:
                    informer.start()
            return informer

    def _made(self, selection: Selection) -> Informer:
        return Informer(
            self._client,
            selection.resource,
            clock=self._clock,
            metadata_only=selection.metadata_only,
            namespaces=self._namespaces if selection.resource.namespaced else None,
            label_selector=selection.label_selector,
            field_selector=selection.field_selector,
            streaming=self._streaming,
        )

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
