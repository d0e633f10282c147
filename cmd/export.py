"""`asoctl export`: print the Azure objects of a cluster, or an operator's manifests."""

import sys

import click

from asoreconcile.azure.cmd import sharedoptions
from asoreconcile.azure.cmd.broken_pipe import QuietGroup
from asoreconcile.azure.cmd.cluster_objects import azure_objects
from asoreconcile.azure.cmd.export_template import template
from asoreconcile.azure.cmd.sharedoptions import ClusterChoice, ObjectChoice
from asoreconcile.azure.cmd.terminal import say, say_json, write
from asoreconcile.azure.cmd.yamltext import yaml_text
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.reconcile.planning.exported_manifest import exported_manifest
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import JsonObject, gvk_of, key_of

_NOTHING = 1


@click.group("export", cls=QuietGroup)
def export_group() -> None:
    """Print what a cluster or a release has."""


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
    try:
        found = [
            obj
            for obj in azure_objects(choice, wanted)
            if gvk_of(obj).group in builtin().groups()
        ]
    except AsoreconcileError as error:
        raise click.ClickException(str(error)) from error
    if not found:
        say(wanted.nothing(), err=True)
        sys.exit(_NOTHING)
    manifests = [
        exported_manifest(obj, adopt=adopt) for obj in sorted(found, key=_place)
    ]
    if output == "json":
        for manifest in manifests:
            say_json(manifest)
    else:
        write(yaml_text(manifests))


def _place(obj: JsonObject) -> tuple[str, str, str, str]:
    gvk, key = gvk_of(obj), key_of(obj)
    return key.namespace, gvk.group, gvk.kind, key.name
