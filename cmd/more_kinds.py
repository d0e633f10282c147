"""The kinds that no manifest needs, installed while somebody looks around."""

import threading

from asoreconcile.azure.catalogue.webhookclient import WebhookClient
from asoreconcile.azure.cmd.local_cluster import LocalCluster
from asoreconcile.azure.cmd.manifests import AppliedManifests
from asoreconcile.base.errors import AsoreconcileError


class MoreKinds:
    """Installs all other kinds of the catalogue on a thread, once `begin` is called."""

    def __init__(
        self,
        manifests: AppliedManifests,
        cluster: LocalCluster,
        stop: threading.Event,
        *,
        conversion: WebhookClient | None,
    ) -> None:
        """stop: ends the installing. conversion: who converts between versions."""
        self._manifests = manifests
        self._cluster = cluster
        self._stop = stop
        self._conversion = conversion
        self._installed = 0
        self._error: AsoreconcileError | None = None
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Start; later calls do nothing."""
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._install_all, name="more kinds", daemon=True
            )
            self._thread.start()

    def wait(self) -> None:
        """Block until the thread has ended, if it was started; the caller stops it."""
        if self._thread is not None:
            self._thread.join()

    def progress(self) -> str:
        """How far it is, for people; "" before it begins. Raises what stopped it."""
        if self._error is not None:
            raise self._error
        if self._thread is None:
            return ""
        if self._thread.is_alive():
            return "installing the other kinds"
        return f"all {self._installed + self._manifests.kind_count} kinds are served"

    def _install_all(self) -> None:
        try:
            for version in self._manifests.other_kinds.values():
                if self._stop.is_set():
                    return
                self._manifests.install_kind(
                    self._cluster.client, version, conversion=self._conversion
                )
                self._installed += 1
        except AsoreconcileError as error:
            self._error = error
