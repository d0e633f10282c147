"""Install the CRDs that the command line requests, and keep them in place."""

import threading

from asoreconcile.azure.catalogue.kinds import Catalogue, Kind
from asoreconcile.azure.catalogue.patterns import match
from asoreconcile.azure.controllers.crds import CrdInstaller
from asoreconcile.azure.controllers.options import Options
from asoreconcile.base.backoff import ItemExponential
from asoreconcile.base.clock import Clock
from asoreconcile.base.log import Logger
from asoreconcile.cache.events import Added, Deleted, Event
from asoreconcile.cache.informer import Informer
from asoreconcile.kube.client import KubeClient
from asoreconcile.runtime.application import Application
from asoreconcile.runtime.predicates import states_of
from asoreconcile.runtime.reconciler import Request, Result

_log = Logger(__name__)

# Another writer may undo each of our writes, for ever.
_FIRST_PAUSE_SECONDS, _LAST_PAUSE_SECONDS = 1.0, 1800.0
# After so long without a write, the other writer has ended.
_CALM_SECONDS = 3600.0


class CrdInstallation:
    """Installs all CRDs on the thread that calls `run`.

    A `runtime.reconciler.Reconciler` for single CRDs afterwards: one that disappears is
    installed again, one that was edited is repaired.
    """

    def __init__(
        self, options: Options, catalogue: Catalogue, client: KubeClient, clock: Clock
    ) -> None:
        self._options = options
        self._client = client
        self._catalogue = catalogue
        self._clock = clock
        self._run_kinds = list(catalogue.kinds())
        self._stopping = threading.Event()
        pattern = options.crd_pattern
        self._matched = match(pattern, self._run_kinds) if pattern else None
        self._by_name = {f"{kind.plural}.{kind.group}": kind for kind in self.kinds}
        self._installer: CrdInstaller | None = None
        self._pauses = ItemExponential(
            _FIRST_PAUSE_SECONDS, _LAST_PAUSE_SECONDS, clock=clock
        )
        # Times at which each CRD was written last, and may be written again.
        self._written: dict[str, tuple[float, float]] = {}

    def setup_with(self, app: Application) -> None:
        """Register the installation to run before everything that needs the CRDs.

        If there are several replicas, only the leader runs it (LE-5).
        """
        if self._options.leader_election is None:
            app.before_start("install CRDs", self.run)
        else:
            app.when_leading("CRDs", self.run, on_stop=self.stop)

    def keep_in_place(self, app: Application, crds: Informer) -> None:
        """Register to check a CRD of the pattern again when it changes or
        disappears.
        """
        if self._by_name:
            app.reconcile(crds, self, name="crdsinplace", when=self.needs_look)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds whose CRDs must exist; empty if no CRDs are installed."""
        return tuple(self._matched.kinds) if self._matched is not None else ()

    def run(self) -> None:
        """Install missing CRDs, and update existing ones. Blocking.

        Raises an AsoreconcileError: a pattern matches nothing, the cluster refuses.
        """
        if self._matched is not None:
            self._matched.require_all()
        options, kinds = self._options, self.kinds
        conversion = options.webhooks.client() if options.all_versions else None
        # As Azure Service Operator does, if its webhooks might convert.
        others = self._run_kinds if options.manages_crds and conversion else ()
        if not kinds and not others:
            return
        installer = CrdInstaller(
            self._client,
            conversion=conversion,
            crd_labels=options.crd_labels,
            is_stopping=self._stopping.is_set,
        )
        try:
            done = installer.install(kinds, others=others)
        finally:
            # The schemas of all kinds are not needed again, and the process may run for
            # months.
            self._catalogue.forget_shapes()
        self._installer = installer
        _log.info(
            "CRDs are in place",
            kinds=len(kinds),
            applied=done.applied,
            kept=len(done.kept),
        )

    def stop(self) -> None:
        """End early, between two CRDs. Any thread; does not wait."""
        self._stopping.set()

    def needs_look(self, event: Event) -> bool:
        """Return whether a CRD of the pattern may lack something after an event.

        `run` checks all CRDs that exist at the start. A change of the status does not
        count.
        """
        if not any(entry.key.name in self._by_name for entry in states_of(event)):
            return False
        if isinstance(event, Added | Deleted):
            return isinstance(event, Deleted)
        old, new = event.old, event.new
        return (
            (old.uid, old.generation) != (new.uid, new.generation)
            or old.labels != new.labels
            or not new.has_annotations_of(old)
        )

    def reconcile(self, request: Request) -> Result:
        """Install or repair one CRD; a CRD that is changed again and again is written
        after longer and longer pauses.

        Raises ApiError, TransportError.
        """
        name = request.key.name
        if self._installer is None:  # `run` looks at all of them soon
            return Result(requeue_after_seconds=_FIRST_PAUSE_SECONDS)
        now = self._clock.monotonic()
        last, next_ = self._written.get(name, (now, now))
        if now - last > _CALM_SECONDS:
            self._pauses.forget(name)
        if now < next_:
            return Result(requeue_after_seconds=next_ - now, not_before=True)
        try:
            is_written, _ = self._installer.bring(name, self._by_name[name])
        finally:
            self._catalogue.forget_shapes()
        if is_written:
            self._written[name] = (now, now + self._pauses.delay(name))
        return Result()
