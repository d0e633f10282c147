"""Starts and stops kinds as their CRDs come and go, while the process runs.

One thread: it waits until a CRD changed, asks discovery what is served now, and brings
the running kinds in line. A kind that fails to start is tried again; the others run.
Whatever else goes wrong there, the thread is started again and looks again.
"""

import threading
from collections.abc import Iterable, Mapping
from typing import Protocol

from asoreconcile.backoff import ItemExponential
from asoreconcile.catalogue.kinds import Catalogue, KindVersion
from asoreconcile.clock import Clock
from asoreconcile.controllers.discovery import (
    DiscoveredKinds,
    DiscoveryReader,
    discover,
)
from asoreconcile.kube.errors import ApiError, TransportError
from asoreconcile.log import Logger
from asoreconcile.objects import GroupKind
from asoreconcile.runtime.health import CheckResult
from asoreconcile.threads import Threads

_log = Logger(__name__)
_COALESCE_SECONDS = 0.2
# Discovery follows a CRD a moment later, and nothing tells of that: look again.
_RECHECK_SECONDS = (2.0, 8.0)
_FIRST_RETRY_SECONDS = 0.5
_LAST_RETRY_SECONDS = 30.0


class Kinds(Protocol):
    """Starts and stops kinds (`controllers.lifecycle.Lifecycle`)."""

    def versions(self) -> Mapping[GroupKind, KindVersion]:
        """The kinds that run, at the version they run at."""

    def begin(self, versions: Iterable[KindVersion]) -> Mapping[GroupKind, str]:
        """Start kinds; returns those that could not be started, and why."""

    def end(self, group_kind: GroupKind) -> None:
        """Run a kind no more. Reconciles that run may go on until they are done."""


class CrdWatcher:
    """A service of the manager. `changed` may be called from any thread."""

    name = "kind supervisor"

    def __init__(
        self,
        client: DiscoveryReader,
        catalogue: Catalogue,
        kinds: Kinds,
        *,
        clock: Clock,
        threads: Threads,
        converts: bool = False,
    ) -> None:
        """converts: whether this process, or another one of the cluster that it works
        beside, answers conversion reviews.
        """
        self._threads = threads
        self._converts = converts
        self._client = client
        self._catalogue = catalogue
        self._kinds = kinds
        self._clock = clock
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._ended = threading.Event()
        self._refused: Mapping[GroupKind, str] = {}
        self.failed: Mapping[GroupKind, str] = {}
        """Kinds that are served and could not be started, and the type of what was
        raised; they are tried again."""
        self._backoff = ItemExponential(
            _FIRST_RETRY_SECONDS, _LAST_RETRY_SECONDS, clock=clock
        )

    @property
    def running(self) -> Mapping[GroupKind, KindVersion]:
        """The kinds that run, at the version they run at."""
        return self._kinds.versions()

    def changed(self) -> None:
        """A CRD came, changed or went."""
        self._wake.set()

    def sync(self) -> None:
        """Ask what is served, and start and stop kinds accordingly. Blocking.

        What could not be started is tried again later, and the others run. Raises
        ApiError, TransportError when the cluster cannot be asked.
        """
        served = discover(self._client, self._catalogue, converts=self._converts)
        running = self._kinds.versions()
        for group_kind, version in running.items():
            # By identity: the catalogue has one object for each version of a kind.
            if served.versions.get(group_kind) is not version:
                self._kinds.end(group_kind)
        self.failed = self._kinds.begin(
            version
            for group_kind, version in served.versions.items()
            if running.get(group_kind) is not version
        )
        if self.failed:
            # By a timer: a CRD that comes meanwhile does not wait for the next try.
            again = self._clock.monotonic() + self._backoff.delay("kinds")
            self._clock.call_at(again, self.changed)
        else:
            self._backoff.forget("kinds")
        self._report_refused(served)

    def readiness(self) -> CheckResult:
        """A readiness check that reports and never fails: what cannot run, and why."""
        failed = [f"{kind}: did not start: {why}" for kind, why in self.failed.items()]
        refused = [f"{kind}: refused: {why}" for kind, why in self._refused.items()]
        return CheckResult(ok=True, details=(*sorted(failed), *sorted(refused)))

    def start(self) -> None:
        """Begin to watch, on a thread of its own; returns at once."""
        self._threads.start(self.name, self._run, stopping=self._stopping)

    def stop(self, timeout_seconds: float) -> list[str]:
        """Stop; names what was still running after the time-out."""
        self._stopping.set()
        self._wake.set()
        ended = self._clock.wait(self._ended, timeout_seconds)
        return [] if ended else [self.name]

    def _run(self) -> None:
        self._ended.clear()
        try:
            self._supervise()
        except BaseException:
            self._wake.set()  # what it was about to do is still to be done
            raise
        finally:
            self._ended.set()

    def _supervise(self) -> None:
        rechecks: list[float] = []
        while True:
            if rechecks:
                changed = self._clock.wait(self._wake, rechecks.pop(0))
            else:
                changed = self._wake.wait()
            if changed:
                rechecks = list(_RECHECK_SECONDS)
            # CRDs come many at a time: one look is for all of them.
            if self._clock.wait(self._stopping, _COALESCE_SECONDS):
                return
            # Before the look: a CRD that comes while it lasts has it looked at once
            # more.
            self._wake.clear()
            try:
                self.sync()
                self._backoff.forget("discovery")
            except (ApiError, TransportError) as error:
                delay = self._backoff.delay("discovery", error)
                _log.warning("Discovery failed", reason=str(error), retryIn=delay)
                self._wake.set()
                if self._clock.wait(self._stopping, delay):
                    return

    def _report_refused(self, served: DiscoveredKinds) -> None:
        for group_kind, why in served.refused.items():
            if self._refused.get(group_kind) != why:
                _log.error("Kind refused", kind=str(group_kind), reason=why)
        self._refused = served.refused
