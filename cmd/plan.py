"""`asoctl plan`: what applying manifests would change in Azure."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from asoreconcile import jsontext
from asoreconcile.azure.change_plan import FieldChange, PlannedChange, planned_changes
from asoreconcile.catalogue.kinds import NotInCatalogueError, UnknownVersionError
from asoreconcile.catalogue.manifests import Manifest, ManifestError, read_manifests
from asoreconcile.catalogue.resolution import Resolution
from asoreconcile.cmd import sharedoptions
from asoreconcile.cmd.azure_login import signed_in_client
from asoreconcile.cmd.cluster_objects import azure_objects
from asoreconcile.cmd.resolve_file import answers_in
from asoreconcile.controllers.catalogue import builtin
from asoreconcile.errors import AsoreconcileError
from asoreconcile.objects import JsonObject, gvk_of, metadata

_CHANGES, _ERRORS = 2, 1
_MAX_TEXT = 100


@click.command()
@sharedoptions.manifest_files(required=False)
@click.option(
    "--cluster",
    is_flag=True,
    help="Plan for the objects of the cluster that KUBECONFIG names.",
)
@sharedoptions.resolve_file
@sharedoptions.subscription
@sharedoptions.table_output
def plan(
    *,
    paths: Sequence[str],
    cluster: bool,
    resolve: Path | None,
    subscription: str,
    output: str,
) -> None:
    """Show what the operator would change in Azure for each manifest.

    Each resource is read once; nothing is written. A change is shown by field with the
    rule that makes it one. Values of Secrets are neither read nor compared. What Azure
    never shows, such as passwords, is not compared either, and said. Signs in as
    `asoctl import azure-resource` does.

    \b
    Example:
      asoctl plan -f shop.yaml --subscription 00000000-0000-0000-0000-000000000000

    Exit code 0 when nothing would change, 2 when something would, 1 when for some
    resource nobody can tell.
    """  # noqa: D301 -- click wants the character
    if bool(paths) == cluster:
        raise click.UsageError("use either --filename or --cluster")
    try:
        objects = azure_objects() if cluster else _objects(read_manifests(paths))
        resolution = Resolution(
            builtin(),
            objects,
            answers=answers_in(resolve),
            subscription_id=subscription,
        )
        ours = [obj for obj in objects if gvk_of(obj).group in builtin().groups()]
        if not ours:
            raise click.ClickException("there is no Azure resource among these")
        with signed_in_client() as client:
            changes = [
                *planned_changes(
                    ours, catalogue=builtin(), resolution=resolution, client=client
                )
            ]
    except (NotInCatalogueError, UnknownVersionError, ManifestError) as error:
        raise click.UsageError(str(error)) from error
    except AsoreconcileError as error:
        raise click.ClickException(str(error)) from error
    _print(changes, output)
    actions = {change.action for change in changes}
    if "cannot tell" in actions:
        sys.exit(_ERRORS)
    sys.exit(0 if actions == {"no change"} else _CHANGES)


def _objects(manifests: Iterable[Manifest]) -> list[JsonObject]:
    """As kubectl would apply them: to the namespace `default` where they name none."""
    return [
        {
            **manifest.obj,
            "metadata": {"namespace": "default", **metadata(manifest.obj)},
        }
        for manifest in manifests
    ]


def _print(changes: Sequence[PlannedChange], output: str) -> None:
    if output == "json":
        for change in changes:
            click.echo(jsontext.dumps(change.to_json()).decode())
        return
    for change in changes:
        title = f"{change.kind.kind} {change.namespace}/{change.name}"
        click.echo(f"{change.action:14}  {title}  {change.arm_id}".rstrip())
        if change.why:
            click.echo(f"{'':14}    {change.why}")
        for field in change.changes:
            click.echo(f"{'':14}    {_shown(field)}")
        if change.write_only:
            paths = ", ".join(change.write_only)
            click.echo(f"{'':14}    not compared, as Azure never shows it: {paths}")
    click.echo(_summary(changes))


def _shown(field: FieldChange) -> str:
    sides = [
        f"{name} {_text(value)}"
        for name, value in (("want", field.want), ("have", field.have))
        if value is not None
    ]
    return f"{field.path}: {field.rule} ({', '.join(sides)})"


def _text(value: object) -> str:
    text = jsontext.dumps(value).decode()
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}..."


def _summary(changes: Sequence[PlannedChange]) -> str:
    counts = {
        action: sum(change.action == action for change in changes)
        for action in ("create", "update", "replace needed", "no change", "cannot tell")
    }
    return "Plan: " + ", ".join(f"{n} {action}" for action, n in counts.items() if n)
