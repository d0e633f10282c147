"""Start and stop kinds, one by one and all together.

A runnable of the manager: before it starts, added kinds wait; after that, a kind runs
as soon as it is added. Informers start before controllers, for all kinds of a batch,
because a child must find its parent's kind.

A kind that cannot be started is left out, and the others of its batch run. If a kind is
restarted, such as when its CRD serves another version, its cache starts at once and its
controller after the former one's last reconcile has ended.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from functools import partial

import attrs

from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.controllers.kind_metrics import KindGauge
from asoreconcile.azure.controllers.kind_registry import KindRegistry, RunningKind
from asoreconcile.azure.controllers.ready_metrics import ReadyMetrics
from asoreconcile.base.clock import Clock
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import GroupKind
from asoreconcile.base.threads import Threads
from asoreconcile.runtime.application import Application
from asoreconcile.runtime.controller import Controller
from asoreconcile.runtime.health import CheckResult
from asoreconcile.runtime.runnable import RunnableGroup

_log = Logger(__name__)
_REPORT_SECONDS = 30.0


class FormerController:
    """A former controller of a kind whose last reconciles are awaited.

    Safe from any thread.
    """

    def __init__(
        self, group_kind: GroupKind, controller: Controller, *, clock: Clock
    ) -> None:
        """controller: controller that was retired before."""
        self.group_kind = group_kind
        self.controller = controller
        self._clock = clock
        self._since = clock.monotonic()
        self.watched = False
        """Whether somebody waits for it."""

    @property
    def seconds(self) -> float:
        """The seconds that it has taken so far."""
        return self._clock.monotonic() - self._since

    def running(self) -> list[str]:
        """The running reconciles, as `controller namespace/name (12.3 s)`; does not
        block.
        """
        return self.controller.wait_until_ended(0)

    def wait(self) -> None:
        """Block until all its reconciles have ended; logs twice a minute."""
        while running := self.controller.wait_until_ended(_REPORT_SECONDS):
            _log.warning(
                "A kind waits for its last reconcile",
                kind=str(self.group_kind),
                running=running,
                seconds=round(self.seconds, 1),
            )
        _log.info(
            "The last reconcile has ended",
            kind=str(self.group_kind),
            seconds=round(self.seconds, 1),
        )


# Idle workers need a moment to leave; more would hold up other kinds.
_LEAVE_SECONDS = 0.2


@attrs.define(eq=False)
class Lifecycle:
    """`controllers.crd_watcher.Kinds`, and a service of the manager.

    build: creates a kind's informer and controller, neither started. forget: drops the
    remaining state of a kind that has stopped. on_failure: called when a kind that was
    begun had to be taken out again, so that its caller begins it again; must not block.
    """

    _kinds: KindRegistry
    _build: Callable[[KindVersion], RunningKind]
    _forget: Callable[[RunningKind], None]
    _clock: Clock
    _threads: Threads
    name: str = attrs.field(init=False, default="kinds")
    on_failure: Callable[[], None] = attrs.field(init=False, default=lambda: None)
    _lock: threading.RLock = attrs.field(init=False, factory=threading.RLock)
    _leading: bool = attrs.field(init=False, default=False)
    _stopped: bool = attrs.field(init=False, default=False)
    _leaving: tuple[FormerController, ...] = attrs.field(init=False, default=())

    def setup_with(self, app: Application) -> None:
        """Register to start the controllers once the application leads, and to stop
        all.
        """
        app.manager.add(self, group=RunnableGroup.LEADER, after_caches=False)
        app.healthz.add("controllers", self.liveness)
        app.readyz.add("handovers", self.readiness)
        app.registry.register(
            KindGauge(
                "asoreconcile_kind_handover_seconds",
                "How long a kind waits for the last reconcile of its former version",
                self.handover_seconds,
            )
        )
        app.registry.register(ReadyMetrics(self._kinds.running, self._clock))

    def versions(self) -> Mapping[GroupKind, KindVersion]:
        """Return the version at which each kind runs."""
        return {gk: kind.version for gk, kind in self._kinds.running().items()}

    def begin(self, versions: Iterable[KindVersion]) -> Mapping[GroupKind, str]:
        """Run these kinds: caches at once, controllers once this process may write.

        Returns the kinds that could not be started, with the exceptions' types; no part
        of them runs.
        """
        failed: dict[GroupKind, str] = {}
        built: list[RunningKind] = []
        with self._lock:
            if self._stopped:
                return failed
            self._watch_leaving()
            for version in versions:
                try:
                    kind = self._build(version)
                except Exception as error:  # noqa: BLE001 - one kind's failure stays its own
                    failed[version.group_kind] = _log_failure(version, error)
                else:
                    # All of a batch are findable before the first starts: a child's
                    # first reconcile looks for its parent's kind.
                    self._kinds.add(kind)
                    built.append(kind)
            for step in (self._start_cache, self._start_controller):
                for kind in list(built):
                    problem = self._try(step, kind)
                    if problem:
                        failed[kind.version.group_kind] = problem
                        built.remove(kind)
        return failed

    def end(self, group_kind: GroupKind) -> None:
        """Stop a kind. Its reconciles run to their end, and the next controller waits
        for them.
        """
        with self._lock:
            kind = self._kinds.remove(group_kind)
            if kind is None:
                return
            _log.info("Stopping kind", kind=str(kind.version.gvk))
            kind.informer.ask_to_stop()
            self._forget(kind)
            kind.controller.retire()
            # Most kinds are idle when they end; then no hand-over is made at all.
            if not kind.controller.wait_until_ended(_LEAVE_SECONDS):
                return
            leaving = FormerController(group_kind, kind.controller, clock=self._clock)
            self._leaving = (*self._leaving, leaving)
            self._watch_leaving()

    def start(self) -> None:
        """Start the controllers: from now on the process may write."""
        with self._lock:
            # One lock covers this and the following lines, so that a kind which begins
            # at this moment is started exactly once.
            self._leading = True
            kinds = self._kinds.running().values()
            failed = [kind for kind in kinds if self._try(self._start_controller, kind)]
        if failed:
            self.on_failure()

    def liveness(self) -> CheckResult:
        """Check the liveness of all controllers."""
        results = [k.controller.liveness() for k in self._kinds.running().values()]
        details = tuple(line for result in results for line in result.details)
        return CheckResult(all(result.ok for result in results), details)

    def readiness(self) -> CheckResult:
        """Report the objects that a restarted kind waits for; this readiness check
        never fails.
        """
        details = [
            f"{one.group_kind}: waits for its last reconcile: {running}"
            for one in self._leaving
            for running in one.running()
        ]
        return CheckResult(ok=True, details=tuple(details))

    def handover_seconds(self) -> Mapping[tuple[str, ...], float]:
        """Return how long each kind has waited for its former controller's end."""
        seconds: dict[tuple[str, ...], float] = {}
        for one in self._leaving:
            kind = (str(one.group_kind),)
            seconds[kind] = max(one.seconds, seconds.get(kind, 0.0))
        return seconds

    def stop(self, timeout_seconds: float) -> list[str]:
        """Stop all controllers at once; return the names of those that still run
        afterwards.
        """
        with self._lock:
            # No kind may begin any more: a hand-over may be about to have one do so.
            self._stopped = True
            controllers = [
                *(kind.controller for kind in self._kinds.running().values()),
                *(leaving.controller for leaving in self._leaving),
            ]
        # No threads are used, because the machine may have none left. All controllers
        # are asked first, so that one that hangs does not take the others' time.
        deadline = self._clock.monotonic() + timeout_seconds
        for one in controllers:
            one.ask_to_stop(timeout_seconds)
        left: list[str] = []
        for one in controllers:
            remaining = max(0.0, deadline - self._clock.monotonic())
            left += one.wait_until_ended(remaining)
        return left

    def _try(self, step: Callable[[RunningKind], None], kind: RunningKind) -> str:
        """Return why a kind could not be started, or "". Caller holds the lock."""
        try:
            step(kind)
        except Exception as error:  # noqa: BLE001 - one kind's failure stays its own
            problem = _log_failure(kind.version, error)
            self.end(kind.version.group_kind)
            return problem
        return ""

    def _start_cache(self, kind: RunningKind) -> None:
        _log.info("Starting kind", kind=str(kind.version.gvk))
        kind.informer.start()

    def _start_controller(self, kind: RunningKind) -> None:
        """Start the controller, unless it must wait. Caller holds the lock."""
        group_kind = kind.version.group_kind
        if self._leading and not self._is_leaving(group_kind):
            kind.controller.start()

    def _is_leaving(self, group_kind: GroupKind) -> bool:
        return any(leaving.group_kind == group_kind for leaving in self._leaving)

    def _watch_leaving(self) -> None:
        """Start a thread that waits for each former controller. Caller holds
        the lock.
        """
        for leaving in self._leaving:
            if leaving.watched:
                continue
            name = f"hand-over of {leaving.group_kind}"
            try:
                self._threads.start(name, partial(self._hand_over, leaving))
            except RuntimeError:  # no thread to be had: `begin` tries again
                _log.exception(
                    "Cannot start a thread that waits for the last reconcile",
                    thread=name,
                )
                self.on_failure()
            else:
                leaving.watched = True

    def _hand_over(self, leaving: FormerController) -> None:
        """Wait for a controller's last reconcile, then start its replacement."""
        leaving.wait()
        with self._lock:
            self._leaving = tuple(one for one in self._leaving if one is not leaving)
            group_kind = leaving.group_kind
            replacement = self._kinds.running().get(group_kind)
            if self._stopped or replacement is None or self._is_leaving(group_kind):
                return
            problem = self._try(self._start_controller, replacement)
        if problem:
            self.on_failure()


def _log_failure(version: KindVersion, error: Exception) -> str:
    """Log the exception that is being handled, which kept a kind from starting."""
    _log.exception("Kind failed to start", kind=str(version.gvk))
    return type(error).__name__
