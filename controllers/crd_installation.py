"""Install the CRDs that the command line requests, at the start."""

import threading

from asoreconcile.azure.catalogue.kinds import Catalogue, Kind
from asoreconcile.azure.catalogue.patterns import match
from asoreconcile.azure.controllers.crds import CrdInstaller
from asoreconcile.azure.controllers.options import Options
from asoreconcile.base.log import Logger
from asoreconcile.kube.client import KubeClient
from asoreconcile.runtime.application import Application

_log = Logger(__name__)


class CrdInstallation:
    """Installs once, on the thread that calls `run`."""

    def __init__(
        self, options: Options, catalogue: Catalogue, client: KubeClient
    ) -> None:
        self._options = options
        self._client = client
        self._catalogue = catalogue
        self._run_kinds = list(catalogue.kinds())
        self._stopping = threading.Event()
        pattern = options.crd_pattern
        self._matched = match(pattern, self._run_kinds) if pattern else None

    def setup_with(self, app: Application) -> None:
        """Register it to run before everything that needs the CRDs.

        If there are several replicas, only the leader runs it (LE-5).
        """
        if self._options.leader_election is None:
            app.before_start("install CRDs", self.run)
        else:
            app.when_leading("CRDs", self.run, on_stop=self.stop)

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
        # As Azure Service Operator does, where it could be its webhooks that convert.
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
            # Nobody needs the schemas of all kinds again; the process may run for
            # months.
            self._catalogue.forget_shapes()
        _log.info(
            "CRDs are in place",
            kinds=len(kinds),
            applied=done.applied,
            kept=len(done.kept),
        )

    def stop(self) -> None:
        """End early, between two CRDs. Any thread; does not wait."""
        self._stopping.set()
