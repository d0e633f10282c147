"""`asoreconcile sandbox`: the whole system on this machine, to play with."""

import signal
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import click

from asoreconcile.cmd.conversion_endpoint import ConversionEndpoint
from asoreconcile.cmd.local_cluster import AzureOptions, LocalCluster
from asoreconcile.cmd.manifests import AppliedManifests, Row, read
from asoreconcile.cmd.status_view import Lines, LiveTable, View
from asoreconcile.controllers.catalogue import builtin
from asoreconcile.errors import AsoreconcileError

_SAMPLES = Path(__file__).resolve().parent.parent / "deploy" / "samples"
_LOOK_SECONDS = 0.5
_START_SECONDS = 30.0


@click.command()
@click.option(
    "--file",
    "-f",
    "files",
    multiple=True,
    metavar="FILE|DIR",
    help="Manifests to apply; may be given more than once. Default: the samples.",
)
@click.option(
    "--exit-when-ready",
    is_flag=True,
    help="End once every object is Ready: exit code 0, or 1 after --timeout.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=300.0,
    show_default=True,
    metavar="SECONDS",
    help="How long --exit-when-ready waits.",
)
@click.option(
    "--lro",
    type=click.FloatRange(min=0),
    default=3.0,
    show_default=True,
    metavar="SECONDS",
    help="How long Azure's long-running operations take.",
)
@click.option(
    "--all-versions",
    is_flag=True,
    help="Serve every version of each kind, so that manifests may mix them. "
    "Default: the version that the manifests are in.",
)
def sandbox(
    *,
    files: tuple[str, ...],
    exit_when_ready: bool,
    timeout: float,
    lro: float,
    all_versions: bool,
) -> None:
    """Run a Kubernetes API, a simulated Azure and the operator, and apply manifests.

    Nothing but Python is needed. The objects' state is shown as it changes; kubectl
    works against it with the KUBECONFIG that is printed. Ctrl-C ends everything.

    \b
    Example:
      asoreconcile sandbox -f my-manifests/ --exit-when-ready

    Exit codes: 0 at Ctrl-C or once all is Ready, 1 if something failed or is not Ready
    in time, 2 for manifests that cannot be applied.
    """  # noqa: D301 - click's mark for "do not wrap" is this very character
    estate = _estate(files, all_versions=all_versions)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    options = AzureOptions(lro=lro, retry_after=1)
    try:
        with LocalCluster(options) as surroundings:
            _run_kinds(estate, surroundings, all_versions=all_versions)
            estate.apply(surroundings.client)
            click.echo(f"export KUBECONFIG={surroundings.kubeconfig}\n")
            limit = timeout if exit_when_ready else None
            unready = _look_on(estate, surroundings, stop, limit_seconds=limit)
    except AsoreconcileError as error:
        raise click.ClickException(str(error)) from error
    for row in unready:
        click.echo(
            f"{row.title} is not Ready: {row.reason or 'no condition yet'}: "
            f"{row.message}",
            err=True,
        )
    sys.exit(1 if unready else 0)


def _run_kinds(
    estate: AppliedManifests, surroundings: LocalCluster, *, all_versions: bool
) -> None:
    """Have the estate's kinds served and run. Raises ApiError, ChildError."""
    if not all_versions:
        estate.install_kinds(surroundings.client)
        surroundings.start_manager()
        return
    endpoint = ConversionEndpoint.make(surroundings.folder / "webhooks")
    estate.install_kinds(surroundings.client, conversion=endpoint.client)
    surroundings.start_manager(*endpoint.arguments)
    # The first object is converted as it is written.
    endpoint.wait(surroundings.check, _START_SECONDS)


def _estate(files: tuple[str, ...], *, all_versions: bool) -> AppliedManifests:
    if not files and not _SAMPLES.is_dir():
        raise click.UsageError("there are no samples beside this installation: use -f")
    try:
        return read(builtin(), files or (_SAMPLES,), all_versions=all_versions)
    except AsoreconcileError as error:
        raise click.UsageError(str(error)) from error


def _look_on(
    estate: AppliedManifests,
    surroundings: LocalCluster,
    stop: threading.Event,
    *,
    limit_seconds: float | None,
) -> list[Row]:
    """Show the objects until stopped, or until all are Ready if there is a limit.

    Returns what is not Ready when the limit is over. Raises ChildError.
    """
    view: View = LiveTable() if sys.stdout.isatty() else Lines()
    began = time.monotonic()
    with view:
        while not stop.is_set():
            surroundings.check()
            counts = surroundings.azure("counts")
            rows = estate.rows(
                surroundings.client,
                requests=counts["byResource"],
                now=datetime.now(UTC),
            )
            view.show(rows, total_requests=counts["requests"])
            unready = [row for row in rows if not row.is_ready]
            if limit_seconds is not None:
                if not unready:
                    return []
                if time.monotonic() - began > limit_seconds:
                    return unready
            stop.wait(_LOOK_SECONDS)
    return []
