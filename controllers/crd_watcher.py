"""Start and stop kinds as their CRDs come and go, while the process runs.

A controller with one key for all kinds: after a CRD of an Azure kind has changed,
discovery returns the served kinds, and the running kinds are adjusted. Discovery may be
late, so a kind starts, stops or changes its version only if discovery and the kind's
CRD agree; discovery is asked again until they do. A kind that fails to start is
retried, and the others run. If the cluster does not respond, everything is retried.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Protocol

import attrs

from asoreconcile.azure.catalogue.kinds import Catalogue, KindVersion
from asoreconcile.azure.controllers.definitions import CrdState, Definitions
from asoreconcile.azure.controllers.discovery import Names, read_names, served_in
from asoreconcile.azure.controllers.kind_metrics import KindGauge
from asoreconcile.azure.controllers.leader_note import LeaderNote
from asoreconcile.base.backoff import ItemExponential
from asoreconcile.base.clock import Clock
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import GroupKind, ObjectKey
from asoreconcile.cache.informer import Informer
from asoreconcile.kube.client import KubeClient
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
_FIRST_RETRY_SECONDS = 0.5
_LAST_RETRY_SECONDS = 30.0
# How many kinds one line of the log names.
_SHOWN = 20


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


@attrs.frozen
class KindProblem:
    """A reason for which a kind does not run as it should.

    reason: a word for the metric: `failed`, `refused`, `missing`, `terminating`,
    `not-established` or `not-served`.
    """

    reason: str
    text: str


def late_kinds(
    served: Names, crds: Mapping[GroupKind, CrdState], kinds: Iterable[GroupKind]
) -> Collection[GroupKind]:
    """Return the kinds for which discovery and the CRDs disagree."""
    return {
        kind
        for kind in kinds
        if {*served.get(kind, ())} != (crds[kind].served if kind in crds else set())
    }


def problems(
    crds: Mapping[GroupKind, CrdState],
    *,
    expected: Iterable[GroupKind],
    running: Collection[GroupKind],
    late: Collection[GroupKind] = (),
) -> dict[GroupKind, KindProblem]:
    """Return the kinds whose CRDs keep them from running. Pure.

    expected: kinds that should run, whether their CRDs exist or not. late: the result
    of `late_kinds`.
    """
    found = {}
    for kind in {*expected, *crds}:
        crd = crds.get(kind)
        if crd is None:
            found[kind] = KindProblem("missing", "its CRD does not exist")
        elif crd.is_deleting:
            found[kind] = KindProblem("terminating", "its CRD is being deleted")
        elif crd.refused:
            found[kind] = KindProblem("not-established", crd.refused)
        elif kind in late and kind not in running:
            why = "discovery does not show the versions of its CRD yet"
            found[kind] = KindProblem("not-served", why)
        elif not crd.served:
            found[kind] = KindProblem("not-served", "its CRD serves no version")
    return found


@attrs.define(eq=False)
class CrdWatcher:
    """`runtime.reconciler.Reconciler` for one key, `ALL_KINDS`.

    crds: returns the existing CRDs of our kinds (`Definitions.states`); None if they
    are not listed yet. expected: kinds that should run, whether their CRDs exist or
    not. converts: whether this process, or another one of the cluster, serves
    conversion reviews. leader: returns the note of another process that leads.
    failed: kinds that are served and could not be started, each with the type of the
    exception; they are tried again.
    """

    _client: KubeClient
    _catalogue: Catalogue
    _kinds: Kinds
    _crds: Callable[[], Mapping[GroupKind, CrdState] | None]
    _clock: Clock
    _expected: Collection[GroupKind] = ()
    _converts: bool = False
    _leader: Callable[[], LeaderNote] = LeaderNote
    _was_ready: Callable[[], bool] = attrs.field(init=False, default=lambda: False)
    _late: Collection[GroupKind] = attrs.field(init=False, default=())
    _refused: Mapping[GroupKind, str] = attrs.field(init=False, factory=dict)
    _reported: Mapping[GroupKind, KindProblem] = attrs.field(init=False, factory=dict)
    failed: Mapping[GroupKind, str] = attrs.field(init=False, factory=dict)
    _backoff: ItemExponential = attrs.field(init=False)

    @_backoff.default
    def _retries(self) -> ItemExponential:
        first, last = _FIRST_RETRY_SECONDS, _LAST_RETRY_SECONDS
        return ItemExponential(first, last, clock=self._clock)

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
        # Once all CRDs are listed, also if none of them is ours.
        builder.controller.enqueue(ALL_KINDS.key)
        app.readyz.add("kinds", self.readiness)
        self._was_ready = lambda: app.readyz.have_passed
        app.registry.register(
            KindGauge(
                "asoreconcile_kind_not_running",
                "1 for a kind that does not run as it should, and why",
                lambda: {
                    (str(kind), problem.reason): 1.0
                    for kind, problem in self.problems().items()
                },
                labels=("kind", "reason"),
            )
        )
        self._kinds.on_failure = lambda: builder.controller.enqueue(ALL_KINDS.key)

    @property
    def running(self) -> Mapping[GroupKind, KindVersion]:
        """The running kinds, and the version of each."""
        return self._kinds.versions()

    def reconcile(self, request: Request) -> Result:  # noqa: ARG002 - there is but one
        """Call `sync`; repeat while discovery is late, and while a kind could not be
        started.
        """
        self.sync()
        if self.failed or self._late:
            return Result(requeue_after_seconds=self._backoff.delay("kinds"))
        self._backoff.forget("kinds")
        return Result()

    def sync(self) -> None:
        """Read the served kinds, and start and stop kinds accordingly. Blocking.

        Before the CRDs are listed, discovery decides alone. Kinds that could not be
        started are in `failed`; the others run. Raises as `read_names`.
        """
        names = read_names(self._client)
        crds = self._crds()
        known = [kind.group_kind for kind in self._catalogue.kinds()]
        late = set() if crds is None else late_kinds(names, crds, known)
        agreed = {kind: found for kind, found in names.items() if kind not in late}
        served = served_in(
            agreed,
            self._catalogue,
            converts=self._converts,
            stored={kind: crd.stored for kind, crd in (crds or {}).items()},
        )
        running = self._kinds.versions()
        self._expected = {*self._expected, *running}
        for group_kind, version in running.items():
            # By identity: the catalogue has one object for each version of a kind.
            if (
                group_kind not in late
                and served.versions.get(group_kind) is not version
            ):
                self._kinds.end(group_kind)
        self.failed = self._kinds.begin(
            version
            for group_kind, version in served.versions.items()
            if running.get(group_kind) is not version
        )
        # Before the CRDs are listed, it is unknown what objects are stored in.
        self._late, self._refused = late, {} if crds is None else served.refused
        self._report()

    def problems(self) -> Mapping[GroupKind, KindProblem]:
        """Return the kinds that do not run as they should, and why."""
        crds = self._crds()
        failed = {
            kind: KindProblem("failed", f"it did not start: {why}")
            for kind, why in self.failed.items()
        }
        refused = {
            kind: KindProblem("refused", why) for kind, why in self._refused.items()
        }
        if crds is None:
            return failed | refused
        return (
            problems(
                crds, expected=self._expected, running=self.running, late=self._late
            )
            | failed
            | refused
        )

    def readiness(self) -> CheckResult:
        """Report the kinds that do not run as they should, and why.

        Fails in a process that was never ready if it refuses a kind that the leader
        runs: a rollout to a release that cannot run that kind stops here, and the
        leader goes on.
        """
        found = [
            f"{kind}: {problem.reason}: {problem.text}"
            for kind, problem in self.problems().items()
        ]
        lost = self._refused.keys() & self._leader().kinds
        ok = not lost or self._was_ready()
        return CheckResult(ok=ok, details=tuple(sorted(found)))

    def _report(self) -> None:
        """Log the kinds whose problem is new, and the kinds whose problem has gone."""
        found = self.problems()
        new = {k: one for k, one in found.items() if self._reported.get(k) != one}
        for kind, problem in new.items():
            if problem.reason == "refused":
                _log.error("Kind refused", kind=str(kind), reason=problem.text)
        if new:
            shown = sorted(f"{kind}: {one.text}" for kind, one in new.items())
            _log.info("Kinds do not run", count=len(new), kinds=shown[:_SHOWN])
        if ended := sorted(map(str, self._reported.keys() - found.keys())):
            _log.info("Kinds run again", count=len(ended), kinds=ended[:_SHOWN])
        self._reported = found


def controller_options(clock: Clock) -> ControllerOptions:
    """Return the options of the watcher's controller."""
    return ControllerOptions(
        limiter=ItemExponential(_FIRST_RETRY_SECONDS, _LAST_RETRY_SECONDS, clock=clock),
        throttle=Throttle(_LOOKS_A_SECOND, 1, clock=clock),
        # Replicas that are not the leader keep their caches warm, and serve webhooks.
        needs_leader=False,
    )
