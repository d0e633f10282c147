"""All informers of a process: one a kind and selection, shared by all who ask."""

import threading
from collections.abc import Mapping

import attrs

from asoreconcile.cache.informer import Informer
from asoreconcile.cache.initial_list import StreamingSupport
from asoreconcile.cache.scope import EVERYTHING, CacheOptions
from asoreconcile.cache.source import ListerWatcher, StreamingClient
from asoreconcile.cache.unreadable import ReportUnreadable, unreported
from asoreconcile.cache.watch_runner import SharedThreads
from asoreconcile.clock import Clock
from asoreconcile.kube.resources import ApiResource
from asoreconcile.threads import Threads


@attrs.frozen
class _Wanted:
    resource: ApiResource
    metadata_only: bool
    label_selector: str | None
    field_selector: str | None


class Informers:
    """Makes, starts and stops informers; a service of the manager. Thread-safe."""

    name = "informers"

    def __init__(
        self,
        client: ListerWatcher,
        options: CacheOptions | None = None,
        *,
        clock: Clock,
        report: ReportUnreadable = unreported,
        threads: Threads | None = None,
    ) -> None:
        """options: what is watched and kept; None is everything. report: called with
        objects that cannot be read. threads: where watches run, a few for all of
        them if the client knows steps; None looks after them all the same, and shows
        nobody. Rule: CA-2.
        """
        options = options or CacheOptions()
        self._client = client
        self._clock = clock
        self._default = options.default()
        self._kinds = options.kinds
        self._threads = threads or Threads.timed_by(clock)
        self._shared = (
            SharedThreads(client, clock=clock, threads=self._threads)
            if isinstance(client, StreamingClient)
            else None
        )
        self._streaming = StreamingSupport(expected=options.streaming)
        self._report = report
        self._lock = threading.Lock()
        self._informers: dict[_Wanted, Informer] = {}
        self._started = False

    def of(
        self,
        resource: ApiResource,
        *,
        metadata_only: bool = False,
        label_selector: str | None = None,
        field_selector: str | None = None,
    ) -> Informer:
        """The informer of a kind, made on first use; running if this set runs.

        Each selection has a cache of its own. None leaves a selector to the kind's
        scope, or to the default. Raises RuntimeError if the machine gives no thread.
        """
        wanted = _Wanted(resource, metadata_only, label_selector, field_selector)
        with self._lock:
            informer = self._informers.get(wanted)
            if informer is None:
                informer = self._informers[wanted] = self._made(wanted)
            # Under the lock: `start` may run beside it, and one of the two has to. Also
            # one that is known: there may have been no thread for it.
            if self._started:
                informer.start()
            return informer

    def find(
        self, resource: ApiResource, *, metadata_only: bool = False
    ) -> Informer | None:
        """The informer of all there is of a kind here, if anybody has asked for it.

        Never makes one: a read must not start a watch. Rule: CA-1.
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
            threads=self._threads,
            runner=self._shared,
        )

    def discard(self, informer: Informer) -> None:
        """Forget an informer that was stopped; the next `of` makes a new one."""
        with self._lock:
            # By identity: a new one of the kind may have taken its place already.
            self._informers = {
                key: one for key, one in self._informers.items() if one is not informer
            }

    def renew(self, since: float) -> int:
        """Call `Informer.renew` of all informers; returns the sum."""
        with self._lock:
            informers = list(self._informers.values())
        return sum(informer.renew(since) for informer in informers)

    def held_up(self) -> Mapping[str, float]:
        """Watches that wait for a handler to return, and for how many seconds by now: a
        second or more. Handlers are to enqueue.
        """
        return {} if self._shared is None else self._shared.workers.held_up()

    def start(self) -> None:
        """Start all that were asked for so far; later ones start when they are asked
        for.
        """
        with self._lock:
            self._started = True
            informers = list(self._informers.values())
        for informer in informers:
            informer.start()

    def stop(self, timeout_seconds: float) -> list[str]:
        """Stop all; names those whose threads still run after the time."""
        with self._lock:
            informers = list(self._informers.values())
        # All are asked before any is waited for, so that they end side by side.
        for informer in informers:
            informer.ask_to_stop()
        deadline = self._clock.monotonic() + timeout_seconds
        running: list[str] = []
        for informer in informers:
            running += informer.join(max(0.0, deadline - self._clock.monotonic()))
        if self._shared is not None:
            self._shared.stop()
        return running
