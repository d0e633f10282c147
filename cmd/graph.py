"""`asoctl graph`: draw owners and references of manifests or of a cluster."""

from collections.abc import Sequence

import click

from asoreconcile.azure.catalogue.manifests import read_manifests
from asoreconcile.azure.cmd import sharedoptions
from asoreconcile.azure.cmd.cluster_reads import azure_objects
from asoreconcile.azure.cmd.object_graph import object_graph
from asoreconcile.azure.cmd.sharedoptions import ClusterChoice, ObjectChoice
from asoreconcile.azure.cmd.terminal import fail, say, say_lines
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base.errors import AsoreconcileError


@click.command()
@sharedoptions.manifest_files(required=False)
@click.option("--cluster", is_flag=True, help="The objects of the cluster, with state.")
@sharedoptions.object_choice
@sharedoptions.cluster_choice
@sharedoptions.output("svg", "mermaid", "dot", default="mermaid")
@sharedoptions.watchable
def graph(
    *,
    paths: Sequence[str],
    cluster: bool,
    wanted: ObjectChoice,
    choice: ClusterChoice,
    output: str,
) -> None:
    """Draw the owners and references of objects.

    Arrows lead from an object to its owner and its references. With --cluster the
    colour says whether an object is Ready.

    \b
    Examples:
      asoctl graph -f shop.yaml -o svg > shop.svg
      asoctl graph --cluster -o dot | dot -Tpng > shop.png

    Exit code 1 for manifests or a cluster that cannot be read; 2 for a wrong call.
    """  # noqa: D301 -- click wants the character
    if cluster == bool(paths):
        raise click.UsageError("give either -f or --cluster")
    try:
        objects = (
            azure_objects(choice, wanted)
            if cluster
            else [manifest.obj for manifest in read_manifests(paths)]
        )
        drawn = object_graph(builtin(), objects)
    except AsoreconcileError as error:
        fail(error)
    if cluster and not objects:
        say(wanted.nothing(), err=True)
    shown = {"svg": drawn.svg, "mermaid": drawn.mermaid, "dot": drawn.dot}[output]
    say_lines(shown())
