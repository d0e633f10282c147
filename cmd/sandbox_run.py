"""Run a sandbox: apply manifests, show their state, install further kinds."""

import errno
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

import asoreconcile
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.manifests import read_manifests
from asoreconcile.azure.catalogue.webhook_manifests import WebhookClient
from asoreconcile.azure.cmd.broken_pipe import drop_output, usage_errors
from asoreconcile.azure.cmd.local_cluster import LocalCluster
from asoreconcile.azure.cmd.manifests import AppliedManifests, Row
from asoreconcile.azure.cmd.status_view import view
from asoreconcile.azure.cmd.subprocesses import ChildError
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.webhooks import WebhookOptions
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import GroupKind
from asoreconcile.testing.throwaway_certificates import certificate_authority

if TYPE_CHECKING:
    from asoreconcile.azure.cmd.ui.page_server import PageServer

_HOST = "127.0.0.1"
_STEP_SECONDS = 0.05


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        return int(probe.getsockname()[1])


@attrs.frozen
class ConversionEndpoint:
    """A free port, and a folder with a certificate for it."""

    port: int
    folder: Path

    @classmethod
    def make(cls, folder: Path) -> "ConversionEndpoint":
        """Choose a port, and write a certificate to a new folder."""
        folder.mkdir()
        authority = certificate_authority()
        certificate, key = authority.issue([_HOST])
        (folder / "tls.crt").write_bytes(certificate)
        (folder / "tls.key").write_bytes(key)
        (folder / "ca.crt").write_bytes(authority.pem)
        return cls(_free_port(), folder)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments that make a manager listen here."""
        return f"--webhook-port={self.port}", f"--webhook-cert-dir={self.folder}"

    @property
    def client(self) -> WebhookClient:
        """The address of the webhook for CRDs."""
        url = f"https://{_HOST}:{self.port}"
        return WebhookOptions(cert_dir=self.folder, url=url).client()

    def wait(self, check: Callable[[], None], timeout_seconds: float) -> None:
        """Block until the webhook listens. check: raises an error if the webhook will
        never listen.

        The certificate is compared, because another program may have taken the port
        before the manager.

        Raises ChildError after `timeout_seconds`.
        """
        trust = ssl.create_default_context(cafile=self.folder / "ca.crt")
        deadline = time.monotonic() + timeout_seconds
        while True:
            check()
            try:
                with socket.create_connection((_HOST, self.port), 1.0) as plain:
                    trust.wrap_socket(plain, server_hostname=_HOST).close()
            except OSError:
                if time.monotonic() > deadline:
                    message = f"no webhook within {timeout_seconds:g} s"
                    raise ChildError(message) from None
                time.sleep(_STEP_SECONDS)
            else:
                return


@attrs.define
class MoreKinds:
    """Installs all other kinds of the catalogue on a thread, once `begin` is called.

    stop: ends the installation.
    conversion: the conversion webhook.
    """

    _manifests: AppliedManifests
    _cluster: LocalCluster
    _stop: threading.Event
    _conversion: WebhookClient | None
    _pool: ThreadPoolExecutor = attrs.field(
        factory=lambda: ThreadPoolExecutor(1, "more kinds"), init=False
    )
    _installing: Future[int] | None = attrs.field(default=None, init=False)

    def begin(self) -> None:
        """Start; later calls do nothing."""
        if self._installing is None:
            self._installing = self._pool.submit(self._install_all)

    def wait(self) -> None:
        """Block until the thread has ended, if it was started; the caller stops it."""
        self._pool.shutdown()

    def progress(self) -> str:
        """Return the progress as text; "" before it begins. Raises the error that
        stopped it.
        """
        if self._installing is None or self._stop.is_set():
            return ""
        if not self._installing.done():
            return "installing the other kinds"
        count = self._installing.result() + self._manifests.kind_count
        return f"all {count} kinds are served"

    def _install_all(self) -> int:
        """Install the kinds; return their number."""
        for count, version in enumerate(self._manifests.other_kinds.values()):
            if self._stop.is_set():
                return count
            self._manifests.install_kind(
                self._cluster.client, version, conversion=self._conversion
            )
        return len(self._manifests.other_kinds)


# Every fault that has a name, each for a while.
CHAOS = (
    "lag=*,seconds=5",
    "absent=*,seconds=5",
    "merge=*",
    "drop=*,path=tags",
    "tag=*",
    "autoscale=*",
    "failed=*,seconds=3",
    "no-headers=*",
    "quota=*",
    "throttled=*,after=20",
    "unregistered=Microsoft.Network/virtualNetworks",
    "outage=*,region=westus2",
    "slow-delete=*,seconds=30",
    "bad-name=Microsoft.Storage/storageAccounts",
)
_CHAOS_SECONDS = 10.0


_SAMPLES = Path(asoreconcile.__file__).parent / "azure" / "samples"
# Often enough to look alive; each look is a few requests to servers of this machine.
_LOOK_SECONDS = 0.25
_START_SECONDS = 30.0
# All kinds are installed then at the latest, whatever is not Ready.
_PATIENCE_SECONDS = 15.0
# The errors of a write after the terminal was closed or the reader of the pipe has
# gone.
_NOBODY_LOOKS = (errno.EPIPE, errno.EIO)


class SandboxRun:
    """One run of the sandbox: applies manifests to a cluster and shows their state."""

    def __init__(
        self,
        cluster: LocalCluster,
        stop: threading.Event,
        files: Sequence[str],
        *,
        all_versions: bool,
        chaos: bool = False,
        page_port: int | None = None,
    ) -> None:
        """files: files of manifests; if empty, the samples. stop: event that ends the
        run. chaos: whether to play faults of the simulator. page_port: port of the
        page; 0 for any free port, None for no page.

        Raises click.UsageError for manifests that cannot be applied.
        """
        self._cluster = cluster
        self._stop = stop
        with usage_errors(AsoreconcileError):
            self._manifests = AppliedManifests(
                builtin(),
                read_manifests(files or [_SAMPLES]),
                all_versions=all_versions,
            )
        self._converts = all_versions
        self._chaos = chaos
        self._fault = ""
        self._page_port = page_port
        self._metrics_port = 0 if page_port is None else _free_port()

    def until_done(self, limit_seconds: float | None) -> list[Row]:
        """Apply the manifests and show their state until stopped or, with a limit,
        until all objects are Ready.

        Returns the objects that are not Ready when the limit is over. Blocking. Raises
        ChildError, ApiError.
        """
        with self._cluster, ExitStack() as running:
            # The kinds first: an object without a CRD could not be applied.
            conversion = self._run_kinds()
            self._manifests.apply(self._cluster.client)
            more = MoreKinds(
                self._manifests, self._cluster, self._stop, conversion=conversion
            )
            try:
                foot = [f"export KUBECONFIG={self._cluster.kubeconfig}"]
                if self._page_port is not None:
                    server = running.enter_context(
                        self._page(self._page_port, conversion)
                    )
                    foot.append(f"page: {server.file.as_uri()}")
                return self._look_on(more, limit_seconds, foot)
            except OSError as error:
                if error.errno not in _NOBODY_LOOKS:
                    raise
                drop_output()
                return []
            finally:
                # Whichever way it ended: the thread that installs more kinds waits for
                # this.
                self._stop.set()
                more.wait()

    def _page(self, port: int, conversion: WebhookClient | None) -> "PageServer":
        """Return the server of the page."""
        from asoreconcile.azure.cmd.ui.page_server import PageServer
        from asoreconcile.azure.cmd.ui.sandbox_page import SandboxPage

        def kinds() -> Mapping[GroupKind, KindVersion]:
            present = self._manifests.present(self._cluster.kube("objects"))
            return {version.group_kind: version for version in present.values()}

        page = SandboxPage(
            self._cluster,
            kinds,
            conversion=conversion,
            metrics_port=self._metrics_port,
            # With --chaos, that plays them.
            faults=() if self._chaos else CHAOS,
        )
        return PageServer(page, port=port)

    def _run_kinds(self) -> WebhookClient | None:
        """Install and run the manifests' kinds; return the conversion webhook,
        if any.
        """
        cluster = self._cluster
        address = f"{_HOST}:{self._metrics_port}" if self._metrics_port else "0"
        # Without TLS: it is the page of this machine alone that reads them.
        metrics = (f"--metrics-addr={address}", "--secure-metrics=false")
        if not self._converts:
            cluster.start_manager(*metrics)
            self._manifests.install_kinds(cluster.client)
            return None
        endpoint = ConversionEndpoint.make(cluster.folder / "webhooks")
        cluster.start_manager(*endpoint.arguments, *metrics)
        self._manifests.install_kinds(cluster.client, conversion=endpoint.client)
        # The first object is converted as it is written.
        endpoint.wait(cluster.check, _START_SECONDS)
        return endpoint.client

    def _look_on(
        self, more: MoreKinds, limit_seconds: float | None, foot: Sequence[str]
    ) -> list[Row]:
        began, shown = time.monotonic(), view(foot)
        while not self._stop.is_set():
            self._cluster.check()
            counts = self._cluster.azure("counts")
            rows = self._manifests.rows(
                self._cluster.client,
                objects=self._cluster.kube("objects"),
                requests=counts["byResource"],
                now=datetime.now(UTC),
            )
            waited = time.monotonic() - began
            notes = [more.progress(), self._play_fault(waited) if self._chaos else ""]
            note = "; ".join(filter(None, notes))
            shown.show(rows, total_requests=counts["requests"], note=note)
            unready = [row for row in rows if not row.is_ready]
            if limit_seconds is None:
                if not unready or waited > _PATIENCE_SECONDS:
                    more.begin()
            elif not unready:
                return []
            elif waited > limit_seconds:
                return unready
            self._stop.wait(_LOOK_SECONDS)
        return []

    def _play_fault(self, seconds: float) -> str:
        """Begin the next fault of the simulator if it is time; return the present
        one.
        """
        fault = CHAOS[int(seconds / _CHAOS_SECONDS) % len(CHAOS)]
        if fault != self._fault:
            self._cluster.disturb_azure(fault)
            self._fault = fault
        return f"fault: {fault}"
