"""A sandbox from its first object to its last: apply, look on, install more kinds."""

import errno
import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import click

import asoreconcile
from asoreconcile.azure.catalogue.webhookclient import WebhookClient
from asoreconcile.azure.cmd.broken_pipe import drop_output
from asoreconcile.azure.cmd.local_cluster import LocalCluster
from asoreconcile.azure.cmd.manifests import AppliedManifests, Row, read
from asoreconcile.azure.cmd.more_kinds import MoreKinds
from asoreconcile.azure.cmd.status_view import view
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base.errors import AsoreconcileError

_SAMPLES = Path(asoreconcile.__file__).parent / "azure" / "samples"
# Often enough to look alive; each look is a few requests to servers of this machine.
_LOOK_SECONDS = 0.25
_START_SECONDS = 30.0
# All kinds are installed then at the latest, whatever is not Ready.
_PATIENCE_SECONDS = 15.0
# What a write says once the terminal is closed, or whoever read the pipe has gone.
_NOBODY_LOOKS = (errno.EPIPE, errno.EIO)


class SandboxRun:
    """Some manifests, and the cluster they are applied to."""

    def __init__(
        self,
        cluster: LocalCluster,
        stop: threading.Event,
        files: Sequence[str],
        *,
        all_versions: bool,
    ) -> None:
        """files: none means the samples. Raises UsageError for what cannot be applied.

        stop: ends the run, once it is set.
        """
        self._cluster = cluster
        self._stop = stop
        self._manifests = _manifests(files, all_versions=all_versions)
        self._converts = all_versions

    def until_done(self, limit_seconds: float | None) -> list[Row]:
        """Apply and show until stopped, or with a limit until all is Ready.

        Returns what is not Ready when the limit is over. Blocking. Raises ChildError,
        ApiError.
        """
        with self._cluster:
            # The kinds first: what has no CRD yet could not be applied.
            conversion = self._run_kinds()
            self._manifests.apply(self._cluster.client)
            more = MoreKinds(
                self._manifests, self._cluster, self._stop, conversion=conversion
            )
            try:
                click.echo(f"export KUBECONFIG={self._cluster.kubeconfig}\n")
                return self._look_on(more, limit_seconds)
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

    def _run_kinds(self) -> WebhookClient | None:
        """Have the manifests' kinds served and run; returns who converts, if any."""
        cluster = self._cluster
        if not self._converts:
            cluster.start_manager()
            self._manifests.install_kinds(cluster.client)
            return None
        from asoreconcile.azure.cmd.conversion_endpoint import ConversionEndpoint

        endpoint = ConversionEndpoint.make(cluster.folder / "webhooks")
        cluster.start_manager(*endpoint.arguments)
        self._manifests.install_kinds(cluster.client, conversion=endpoint.client)
        # The first object is converted as it is written.
        endpoint.wait(cluster.check, _START_SECONDS)
        return endpoint.client

    def _look_on(self, more: MoreKinds, limit_seconds: float | None) -> list[Row]:
        began = time.monotonic()
        with view() as shown:
            while not self._stop.is_set():
                self._cluster.check()
                counts = self._cluster.azure("counts")
                rows = self._manifests.rows(
                    self._cluster.client,
                    objects=self._cluster.kube("objects"),
                    requests=counts["byResource"],
                    now=datetime.now(UTC),
                )
                shown.show(
                    rows, total_requests=counts["requests"], note=more.progress()
                )
                unready = [row for row in rows if not row.is_ready]
                waited = time.monotonic() - began
                if limit_seconds is None:
                    if not unready or waited > _PATIENCE_SECONDS:
                        more.begin()
                elif not unready:
                    return []
                elif waited > limit_seconds:
                    return unready
                self._stop.wait(_LOOK_SECONDS)
        return []


def _manifests(files: Sequence[str], *, all_versions: bool) -> AppliedManifests:
    try:
        return read(builtin(), files or (_SAMPLES,), all_versions=all_versions)
    except AsoreconcileError as error:
        raise click.UsageError(str(error)) from error
