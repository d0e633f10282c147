"""Several engine processes behind one interface, shared fairly by the namespaces."""

import os
from collections.abc import Callable, Sequence

from asoreconcile.azure.expressions.fair_share import FairShare
from asoreconcile.azure.expressions.process import EngineProcess
from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import JsonObject

PROCESSES = 3
"""Each takes 30 MB once it is needed; the first does alone while nobody has to wait."""


class EnginePool:
    """Handles a few requests at a time. Safe from any thread, blocking."""

    def __init__(
        self,
        *,
        clock: Clock,
        make: Callable[[], EngineProcess] = EngineProcess,
        processes: int = PROCESSES,
    ) -> None:
        self._clock = clock
        self._made_in = os.getpid()
        self._engines: Sequence[EngineProcess] = [make() for _ in range(processes)]
        self._fair_share = FairShare(self._engines, clock=clock)

    def ask(self, request: JsonObject, *, namespace: str) -> JsonObject:
        """Return the response to one request. namespace: the namespace whose share is
        used.

        Raises EngineMissingError, EngineLimitError, EngineBusyError.
        Raises RuntimeError in a process that was forked since: two processes on one
        channel would get each other's responses.
        """
        if self._made_in != os.getpid():
            raise RuntimeError(
                "these engines belong to the process that this one was forked from:"
                " make some here"
            )
        number, engine = self._fair_share.acquire(namespace)
        began = self._clock.monotonic()
        try:
            return engine.ask(request)
        finally:
            seconds = self._clock.monotonic() - began
            self._fair_share.release(number, namespace, seconds)

    def close(self) -> None:
        """End the processes; a later request starts one again.

        In a process that was forked since, this does nothing: the processes are not its
        own, and a lock that another thread held at the fork is never released there.
        """
        if self._made_in != os.getpid():
            return
        for engine in self._engines:
            engine.close()
