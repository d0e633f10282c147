"""`asoctl uninstall`: remove the operator, and keep or delete what it made in Azure."""

from pathlib import Path

import click

from asoreconcile.azure.cmd import sharedoptions
from asoreconcile.azure.cmd.sharedoptions import ClusterChoice
from asoreconcile.azure.cmd.terminal import say, say_step
from asoreconcile.azure.cmd.yamltext import yaml_text
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.uninstall import Uninstall
from asoreconcile.azure.reconcile.planning.exported_manifest import exported_manifest
from asoreconcile.base.clock import SystemClock
from asoreconcile.base.objects import key_of


@click.command()
@click.option("--keep-azure", "mode", flag_value="keep", help="Leave Azure as it is.")
@click.option(
    "--delete-azure",
    "mode",
    flag_value="delete",
    help="Let the operator delete the resources in Azure first.",
)
@click.option(
    "--save",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="With --keep-azure: the new file for the manifests of all objects.",
)
@click.option("--yes", is_flag=True, help="Do it; without it only say what would be.")
@sharedoptions.seconds(
    "--wait-seconds", "How long to wait for the end of each step.", default=3600.0
)
@sharedoptions.cluster_choice
def uninstall(
    *,
    mode: str | None,
    save: Path | None,
    yes: bool,
    wait_seconds: float,
    choice: ClusterChoice,
) -> None:
    """Remove the operator and its CRDs from a cluster.

    Without --yes nothing is written. With --keep-azure nothing is sent to Azure: the
    manifests of all objects are saved, the operator is stopped, and its objects, CRDs,
    webhooks, roles and Secrets are deleted. Secrets and ConfigMaps that objects have
    exported stay, and are listed. With --delete-azure the objects are deleted first,
    while the operator runs; it deletes their resources, unless a policy keeps them. An
    interrupted removal is run again.

    \b
    Example:
      asoctl uninstall --keep-azure --save objects.yaml
      asoctl uninstall --keep-azure --save objects.yaml --yes

    Exit code 1 when something is left.
    """  # noqa: D301 -- click wants the character
    if mode is None:
        raise click.UsageError("say --keep-azure or --delete-azure")
    if mode == "keep" and save is None:
        raise click.UsageError("--keep-azure needs --save FILE")
    if save is not None and save.exists():
        raise click.UsageError(f"{save} is there already: name a new file")
    clock = SystemClock()
    try:
        with choice.client() as client:
            removal = Uninstall(client, builtin(), clock, wait_seconds)
            if yes:
                _remove(removal, save if mode == "keep" else None)
            else:
                _describe(removal, keeps=mode == "keep")
    except OSError as error:
        raise click.ClickException(str(error)) from error
    finally:
        clock.close()


def _describe(removal: Uninstall, *, keeps: bool) -> None:
    objects, crds = [*removal.objects()], removal.crds()
    for obj in objects:
        fate = "is kept in Azure" if keeps else "is deleted, by its policy"
        say(f"{obj['kind']} {key_of(obj)}: {fate}")
    for resource, obj in removal.exports():
        say(f"{resource.kind} {key_of(obj)}: {'stays' if keeps else 'is deleted'}")
    for manager in removal.managers():
        say(f"Deployment {manager}: is removed, with its Service, roles and Secrets")
    say(f"{len(objects)} objects, {len(crds)} CRDs: nothing was changed; --yes does it")


def _remove(removal: Uninstall, save: Path | None) -> None:
    managers = removal.managers()
    if save is not None:
        manifests = [exported_manifest(obj) for obj in removal.objects()]
        # Before anything is removed, so that the file exists after an interruption.
        save.write_text(yaml_text(manifests), encoding="utf-8")
        say_step(f"{len(manifests)} manifests saved in {save}")
    else:
        removal.delete_objects(say_step)
    removal.stop_managers(say_step)
    removal.remove_webhooks()
    for name in removal.detach() if save is not None else ():
        say_step(f"{name}: stays")
    removal.release_secrets()
    removal.remove_crds(say_step)
    removal.remove_rest(managers)
    say("the operator is removed; a Helm release is left: helm uninstall forgets it")
