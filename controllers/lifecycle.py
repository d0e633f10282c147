"""Starting and stopping kinds, one by one and all together.

A service of the manager: what is started before it only waits; after it, a kind runs
as soon as it is added. Informers come before controllers, for all kinds of a batch: a
child must not look for its parent among kinds that are only about to start.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from asoreconcile.catalogue.kinds import KindVersion
from asoreconcile.controllers.kind_set import KindSet, RunningKind
from asoreconcile.log import Logger
from asoreconcile.objects import GroupKind
from asoreconcile.runtime.health import Verdict

_log = Logger(__name__)
_STOP_SECONDS = 10.0
_STOP_THREADS = 16


class Lifecycle:
    """`controllers.supervisor.Kinds`, and a service of the manager."""

    name = "kinds"

    def __init__(
        self,
        kinds: KindSet,
        build: Callable[[KindVersion], RunningKind],
        forget: Callable[[RunningKind], None],
    ) -> None:
        """build: makes a kind's informer and controller, neither started.
        forget: lets go of what else was kept of a kind that has stopped.
        """
        self._kinds = kinds
        self._build = build
        self._forget = forget
        self._lock = threading.Lock()
        self._leading = False
        self._stopped = False

    def versions(self) -> Mapping[GroupKind, KindVersion]:
        return {gk: kind.version for gk, kind in self._kinds.running().items()}

    def begin(self, versions: Iterable[KindVersion]) -> None:
        """Run these kinds: caches at once, controllers once this process may write."""
        with self._lock:
            if self._stopped:
                return
            built = [self._build(version) for version in versions]
            for kind in built:
                self._kinds.add(kind)
            for kind in built:
                _log.info("Starting kind", kind=str(kind.version.gvk))
                kind.informer.start()
            for kind in built:
                if self._leading:
                    kind.controller.start()
                else:
                    kind.controller.warm_up()

    def end(self, group_kind: GroupKind) -> None:
        """Run a kind no more; waits for its reconciles, a few seconds at most."""
        kind = self._kinds.remove(group_kind)
        if kind is None:
            return
        _log.info("Stopping kind", kind=str(kind.version.gvk))
        left = kind.controller.stop(_STOP_SECONDS)
        if left:
            _log.warning("Kind stopped with work still running", running=left)
        kind.informer.stop(_STOP_SECONDS)
        self._forget(kind)

    def start(self) -> None:
        """Start the controllers: from now on the process may write."""
        with self._lock:
            self._leading = True
            for kind in self._kinds.running().values():
                kind.controller.start()

    def progress(self) -> Verdict:
        """A liveness check over all controllers."""
        verdicts = [k.controller.progress() for k in self._kinds.running().values()]
        details = tuple(line for verdict in verdicts for line in verdict.details)
        return Verdict(all(verdict.ok for verdict in verdicts), details)

    def stop(self, timeout_seconds: float) -> list[str]:
        """Stop all controllers at once; names what is still running afterwards."""
        with self._lock:
            self._stopped = True
            kinds = list(self._kinds.running().values())
        if not kinds:
            return []
        with ThreadPoolExecutor(min(_STOP_THREADS, len(kinds))) as pool:
            left = list(
                pool.map(lambda kind: kind.controller.stop(timeout_seconds), kinds)
            )
        return [line for lines in left for line in lines]
