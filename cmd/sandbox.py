"""`asoreconcile sandbox`: run the whole system on this machine."""

import sys

import click

from asoreconcile.azure.cmd import sharedoptions
from asoreconcile.azure.cmd.local_cluster import AzureOptions, LocalCluster
from asoreconcile.azure.cmd.parent_watch import stop_event
from asoreconcile.azure.cmd.terminal import say


@click.command()
@sharedoptions.manifest_files(required=False)
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
@sharedoptions.seconds(
    "--lro", "How long Azure's long-running operations take.", default=1.0
)
@click.option(
    "--all-versions/--one-version",
    default=True,
    show_default=True,
    help="Serve every version of each kind, so that manifests may mix them, or only "
    "the one that the manifests are in.",
)
@click.option(
    "--chaos",
    is_flag=True,
    help="Play faults of Azure one after the other, ten seconds each.",
)
@sharedoptions.record
@click.option(
    "--web",
    is_flag=True,
    help="Serve a page that shows the objects as a graph, with buttons for faults and "
    "an editor.",
)
@sharedoptions.page_port
def sandbox(
    *,
    paths: tuple[str, ...],
    exit_when_ready: bool,
    timeout: float,
    lro: float,
    all_versions: bool,
    chaos: bool,
    record: str,
    web: bool,
    port: int,
) -> None:
    """Run a Kubernetes API, a simulated Azure and the operator, and apply manifests.

    Nothing but Python is needed; without -f, the samples are applied. The objects'
    state is shown as it changes; kubectl works against it with the KUBECONFIG that is
    printed. Once the manifests are Ready, all kinds are installed, so that any can be
    applied. Ctrl-C ends everything.

    The simulated Azure refuses names, locations, bodies and references that Azure's
    published types exclude.

    \b
    Example:
      asoreconcile sandbox -f my-manifests/ --exit-when-ready

    Exit codes: 0 at Ctrl-C or once all is Ready, 1 if something failed or is not Ready
    in time, 2 for manifests that cannot be applied.
    """  # noqa: D301 - click's mark for "do not wrap" is this very character
    with stop_event() as stop:
        cluster = LocalCluster(AzureOptions(lro=lro, retry_after=1, record=record))
        try:
            # Most of the start is imports: those of the servers run at the same time as
            # ours.
            cluster.launch()
            from asoreconcile.azure.cmd.sandbox_run import SandboxRun

            run = SandboxRun(
                cluster,
                stop,
                paths,
                all_versions=all_versions,
                chaos=chaos,
                page_port=port if web else None,
            )
            unready = run.until_done(timeout if exit_when_ready else None)
        finally:
            cluster.close()
    for row in unready:
        say(
            f"{row.title} is not Ready: {row.reason or 'no condition yet'}: "
            f"{row.message}",
            err=True,
        )
    sys.exit(1 if unready else 0)
