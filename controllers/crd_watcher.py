"""Start and stop kinds as their CRDs come and go, while the process runs.

A controller with one key for all kinds: after a CRD of ours has changed, discovery
returns the served kinds, and the running kinds are adjusted. A kind that fails to start
is retried, and the others run. If the cluster does not respond, everything is retried.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from asoreconcile.azure.catalogue.kinds import Catalogue, KindVersion
from asoreconcile.azure.controllers.definitions import Definitions
from asoreconcile.azure.controllers.discovery import (
    DiscoveredKinds,
    DiscoveryReader,
    discover,
)
from asoreconcile.azure.controllers.kind_metrics import KindGauge
from asoreconcile.base.backoff import ItemExponential
from asoreconcile.base.clock import Clock
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import GroupKind, ObjectKey
from asoreconcile.cache.informer import Informer
from asoreconcile.runtime.application import Application
from asoreconcile.runtime.handlers import map_to
from asoreconcile.runtime.health import CheckResult
from asoreconcile.runtime.options import ControllerOptions
from asoreconcile.runtime.predicates import concerns
from asoreconcile.runtime.reconciler import Request, Result
from asoreconcile.runtime.worker import Throttle

_log = Logger(__name__)

ALL_KINDS = Request(ObjectKey("", "kinds"))
"""What is asked for: there is but one."""

# CRDs come many at a time, and one look is for all of them.
_LOOKS_A_SECOND = 5.0
# Discovery follows a CRD a moment later, and nothing tells of that: look again.
_RECHECK_SECONDS = (2.0, 8.0)
_FIRST_RETRY_SECONDS = 0.5
_LAST_RETRY_SECONDS = 30.0


class Kinds(Protocol):
    """Starts and stops kinds (`controllers.lifecycle.Lifecycle`).

    on_failure: called if a kind that was started had to be removed again.
    """

    on_failure: Callable[[], None]

    def versions(self) -> Mapping[GroupKind, KindVersion]:
        """Return the running kinds, and the version of each."""

    def begin(self, versions: Iterable[KindVersion]) -> Mapping[GroupKind, str]:
        """Start kinds; return those that could not be started, and why."""

    def end(self, group_kind: GroupKind) -> None:
        """Stop a kind. Running reconciles may continue to their end."""


class CrdWatcher:
    """`runtime.reconciler.Reconciler` for one key, `ALL_KINDS`."""

    def __init__(
        self,
        client: DiscoveryReader,
        catalogue: Catalogue,
        kinds: Kinds,
        *,
        crds: Callable[[], Mapping[str, str]],
        clock: Clock,
        converts: bool = False,
    ) -> None:
        """crds: returns the existing CRDs of our kinds (`Definitions.versions`).
        converts: whether this process, or another one of the cluster, serves conversion
        reviews.
        """
        self._client = client
        self._catalogue = catalogue
        self._kinds = kinds
        self._crds = crds
        self._converts = converts
        self._looked_at: Mapping[str, str] = {}
        self._rechecks: tuple[float, ...] = ()
        self._refused: Mapping[GroupKind, str] = {}
        self.failed: Mapping[GroupKind, str] = {}
        """Kinds that are served and could not be started, and the type of what was
        raised; they are tried again."""
        self._backoff = ItemExponential(
            _FIRST_RETRY_SECONDS, _LAST_RETRY_SECONDS, clock=clock
        )

    def setup_with(
        self, app: Application, crds: Informer, definitions: Definitions
    ) -> None:
        """Register to run on each replica, and once before everything else.

        Problems with the kinds then end the start, and readiness counts all kinds.
        """
        app.before_start("discover kinds", self.sync)
        builder = app.reconcile(
            None, self, name="crds", options=controller_options(app.clock)
        )
        builder.watches(
            crds, map_to(lambda _: (ALL_KINDS,)), when=concerns(definitions.is_ours)
        )
        app.readyz.add("kinds", self.readiness)
        app.registry.register(
            KindGauge(
                "asoreconcile_kind_failed",
                "1 for a kind that is served and could not be started",
                lambda: dict.fromkeys(self.failed, 1.0),
            )
        )
        self._kinds.on_failure = lambda: builder.controller.enqueue(ALL_KINDS.key)

    @property
    def running(self) -> Mapping[GroupKind, KindVersion]:
        """The running kinds, and the version of each."""
        return self._kinds.versions()

    def reconcile(self, request: Request) -> Result:  # noqa: ARG002 - there is but one
        """Call `sync`; repeat while discovery may lag, and while a kind could not be
        started.
        """
        # Read before the sync, so that changes during it count as new.
        crds = self._crds()
        if crds != self._looked_at:
            self._looked_at, self._rechecks = crds, _RECHECK_SECONDS
        self.sync()
        delays, self._rechecks = self._rechecks[:1], self._rechecks[1:]
        if self.failed:
            delays = (*delays, self._backoff.delay("kinds"))
        else:
            self._backoff.forget("kinds")
        return Result(requeue_after_seconds=min(delays, default=None))

    def sync(self) -> None:
        """Read the served kinds, and start and stop kinds accordingly. Blocking.

        Kinds that could not be started are in `failed`; the others run. Raises
        ApiError, TransportError if the cluster cannot be asked.
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
        self._report_refused(served)

    def readiness(self) -> CheckResult:
        """Report the kinds that cannot run, and why; this readiness check never
        fails.
        """
        failed = [f"{kind}: did not start: {why}" for kind, why in self.failed.items()]
        refused = [f"{kind}: refused: {why}" for kind, why in self._refused.items()]
        return CheckResult(ok=True, details=(*sorted(failed), *sorted(refused)))

    def _report_refused(self, served: DiscoveredKinds) -> None:
        for group_kind, why in served.refused.items():
            if self._refused.get(group_kind) != why:
                _log.error("Kind refused", kind=str(group_kind), reason=why)
        self._refused = served.refused


def controller_options(clock: Clock) -> ControllerOptions:
    """Return the options of the watcher's controller."""
    return ControllerOptions(
        limiter=ItemExponential(_FIRST_RETRY_SECONDS, _LAST_RETRY_SECONDS, clock=clock),
        throttle=Throttle(_LOOKS_A_SECOND, 1, clock=clock),
        # Replicas that are not the leader keep their caches warm, and serve webhooks.
        needs_leader=False,
    )
