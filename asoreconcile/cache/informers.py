"""The informers of a process, shared: one for each kind and selection."""

import threading
from collections.abc import Mapping

import attrs

from asoreconcile.base.clock import Clock
from asoreconcile.base.threads import Threads
from asoreconcile.cache.informer import Informer
from asoreconcile.cache.initial_list import StreamingSupport
from asoreconcile.cache.scope import EVERYTHING, CacheOptions
from asoreconcile.cache.unreadable import ReportUnreadable, unreported
from asoreconcile.cache.watch_runner import SharedThreads
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.resources import ApiResource


@attrs.frozen
class _Wanted:
    resource: ApiResource
    metadata_only: bool
    label_selector: str | None
    field_selector: str | None


class Informers:
    """Creates, starts and stops informers; a service for the manager. Thread-safe."""

    name = "informers"

    def __init__(
        self,
        client: KubeClient,
        options: CacheOptions | None = None,
        *,
        clock: Clock,
        report: ReportUnreadable = unreported,
        threads: Threads | None = None,
    ) -> None:
        """options: options that select the objects to cache; None for all. report:
        function called with each object that cannot be read. threads: starter of the
        watch threads; with None, threads that die are restarted without a report. Rule:
        CA-2.
        """
        options = options or CacheOptions()
        self._client = client
        self._clock = clock
        self._default = options
        self._kinds = options.kinds
        threads = threads or Threads(clock)
        self._shared = SharedThreads(client, clock=clock, threads=threads)
        self._streaming = StreamingSupport(expected=options.streaming)
        self._report = report
        self._lock = threading.Lock()
        self._informers: dict[_Wanted, Informer] = {}
        self._wanted: dict[Informer, _Wanted] = {}
        self._started = False

    def of(
        self,
        resource: ApiResource,
        *,
        metadata_only: bool = False,
        label_selector: str | None = None,
        field_selector: str | None = None,
    ) -> Informer:
        """Return the informer of a kind, created on first use; started if this set is
        running.

        Each selection has its own cache. None takes the selector of the kind's scope,
        or the default. Raises RuntimeError if no thread can be started.
        """
        wanted = _Wanted(resource, metadata_only, label_selector, field_selector)
        with self._lock:
            informer = self._informers.get(wanted)
            if informer is None:
                informer = self._informers[wanted] = self._made(wanted)
                self._wanted[informer] = wanted
            # Under the lock: `start` may run concurrently, and one of the two must
            # start it. Also for a known informer: its first start may have failed for
            # lack of threads.
            if self._started:
                informer.start()
            return informer

    def find(
        self, resource: ApiResource, *, metadata_only: bool = False
    ) -> Informer | None:
        """Return the existing informer of a kind without extra selectors, or None.

        Never creates one: a read must not start a watch. Rule: CA-1.
        """
        with self._lock:
            return self._informers.get(_Wanted(resource, metadata_only, None, None))

    def _made(self, wanted: _Wanted) -> Informer:
        scope = self._kinds.get(wanted.resource.group_kind, EVERYTHING)
        label, field = wanted.label_selector, wanted.field_selector
        if label is not None:
            scope = attrs.evolve(scope, label_selector=label)
        if field is not None:
            scope = attrs.evolve(scope, field_selector=field)
        return Informer(
            self._client,
            wanted.resource,
            scope,
            clock=self._clock,
            metadata_only=wanted.metadata_only,
            default=self._default,
            streaming=self._streaming,
            report=self._report,
            runner=self._shared,
        )

    def all(self) -> list[Informer]:
        """Return the informers requested so far."""
        with self._lock:
            return list(self._informers.values())

    def discard(self, informer: Informer) -> None:
        """Forget a stopped informer; the next `of` creates a new one."""
        with self._lock:
            # By identity: a new informer of the kind may have replaced it already.
            wanted = self._wanted.pop(informer, None)
            if wanted is not None:
                del self._informers[wanted]

    def renew(self, since: float) -> int:
        """Call `Informer.renew` of all informers; returns the sum."""
        return sum(informer.renew(since) for informer in self.all())

    def held_up(self) -> Mapping[str, float]:
        """Return the watches that have waited for a handler for a second or more, with
        the seconds.

        Handlers should only enqueue.
        """
        return self._shared.workers.held_up()

    def start(self) -> None:
        """Start all informers requested so far; later ones start when requested."""
        with self._lock:
            self._started = True
            informers = list(self._informers.values())
        for informer in informers:
            informer.start()

    def stop(self, timeout_seconds: float) -> list[str]:
        """Stop all informers. Returns the names of those whose threads still run after
        the timeout.
        """
        informers = self.all()
        # Ask all before waiting for any, so that they stop in parallel.
        for informer in informers:
            informer.ask_to_stop()
        deadline = self._clock.monotonic() + timeout_seconds
        running: list[str] = []
        for informer in informers:
            running += informer.join(max(0.0, deadline - self._clock.monotonic()))
        self._shared.stop()
        return running
