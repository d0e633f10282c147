"""`asoctl export`: print the Azure objects of a cluster, or an operator's manifests."""

import click

from asoreconcile.azure.cmd import sharedoptions
from asoreconcile.azure.cmd.broken_pipe import QuietGroup
from asoreconcile.azure.cmd.cluster_reads import azure_objects
from asoreconcile.azure.cmd.export_template import template
from asoreconcile.azure.cmd.sharedoptions import ClusterChoice, ObjectChoice
from asoreconcile.azure.cmd.terminal import fail
from asoreconcile.azure.cmd.yamltext import write_documents
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.reconcile.planning.exported_manifest import exported_manifest
from asoreconcile.base.objects import JsonObject, gvk_of, key_of


@click.group("export", cls=QuietGroup)
def export_group() -> None:
    """Print the objects of a cluster, or the manifests of a release."""


export_group.add_command(template)


@export_group.command("objects")
@sharedoptions.object_choice
@click.option(
    "--adopt",
    is_flag=True,
    help="Keep the operator's annotations and labels, to continue in another cluster.",
)
@sharedoptions.cluster_choice
@sharedoptions.documents_output
@sharedoptions.watchable
def objects(
    *, wanted: ObjectChoice, adopt: bool, choice: ClusterChoice, output: str
) -> None:
    """Print the Azure objects of a cluster as manifests.

    As their authors would write them: without status, managed fields and what servers
    and operators added. In the order of namespace, kind and name, so that two exports
    can be compared. Reads the cluster that KUBECONFIG names.

    \b
    Example:
      asoctl export objects --namespace shop > shop.yaml

    Exit code 1 when there is none.
    """  # noqa: D301 -- click wants the character
    groups = builtin().groups()
    everything = azure_objects(choice, wanted)
    found = [obj for obj in everything if gvk_of(obj).group in groups]
    if not found:
        fail(wanted.nothing())
    found.sort(key=_place)
    write_documents((exported_manifest(obj, adopt=adopt) for obj in found), output)


def _place(obj: JsonObject) -> tuple[str, str, str, str]:
    gvk, key = gvk_of(obj), key_of(obj)
    return key.namespace, gvk.group, gvk.kind, key.name
