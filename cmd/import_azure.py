"""`asoctl import azure-resource`: print existing Azure resources as manifests."""

import os
import re
import sys
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import click

from asoreconcile.azure.arm.ids import ArmIdError, parse_stated
from asoreconcile.azure.catalogue.kinds import (
    Kind,
    NotInCatalogueError,
    UnknownVersionError,
)
from asoreconcile.azure.cmd.azure_login import signed_in
from asoreconcile.azure.cmd.broken_pipe import QuietGroup, usage_errors
from asoreconcile.azure.cmd.import_progress import progress
from asoreconcile.azure.cmd.manifest_output import ManifestOutput
from asoreconcile.azure.cmd.terminal import say
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.extensions.registry import builtin_sets
from asoreconcile.azure.reconcile.model.policy import Policy
from asoreconcile.azure.reconcile.planning.resource_import.importer import (
    ImportedResources,
    NotImportableError,
    ResourceImporter,
)
from asoreconcile.azure.reconcile.planning.resource_import.options import ImportOptions
from asoreconcile.azure.reconcile.planning.resource_import.report import ImportReport
from asoreconcile.base.objects import GroupKind
from asoreconcile.runtime.signals import stop_signals

_PARTLY, _NOTHING = 3, 1
# A screenful; more would push away what is said before.
_MOST_IDS = 20
_NEWEST = "newest"
_STOPPING = b"\nstopping after the reads under way; once more gives up what was read\n"
_VERSION = re.compile(r"([^/=]+)/([^/=]+)=(\S+)")


@click.group("import", cls=QuietGroup)
def import_group() -> None:
    """Print manifests for resources in Azure."""


@import_group.command("azure-resource")
@click.argument("arm_ids", nargs=-1, required=True, metavar="ARM_ID...")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    metavar="FILE",
    help="One file for all manifests; - is standard output, the default.",
)
@click.option(
    "-f",
    "--output-folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="A file for each manifest, called KIND-NAME.yaml.",
)
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@click.option("-n", "--namespace", default="", metavar="NAME")
@click.option(
    "-l",
    "--label",
    "labels",
    multiple=True,
    metavar="KEY=VALUE",
    help="A label for every manifest; repeatable, or separated by commas.",
)
@click.option(
    "-a",
    "--annotation",
    "annotations",
    multiple=True,
    metavar="KEY=VALUE",
    help="An annotation for every manifest; repeatable, or separated by commas.",
)
@click.option(
    "-w",
    "--workers",
    type=click.IntRange(min=1, max=64),
    default=4,
    show_default=True,
    help="How many resources are read at once.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="GLOB",
    help="Kinds to import, such as 'network.azure.com/*'; repeatable.",
)
@click.option(
    "--skip",
    multiple=True,
    metavar="GLOB",
    help="Kinds to leave out, such as '*/RoleAssignment'; repeatable.",
)
@click.option(
    "--api-version",
    "versions",
    multiple=True,
    metavar="newest|GROUP/KIND=VERSION",
    help="Another version than the newest for a kind; repeatable.",
)
@click.option(
    "--policy",
    type=click.Choice([policy.value for policy in Policy]),
    default=Policy.SKIP.value,
    show_default=True,
    help="The reconcile policy of the manifests; skip writes nothing to Azure.",
)
def azure_resource(
    *,
    arm_ids: Sequence[str],
    output: Path | None,
    output_folder: Path | None,
    force: bool,
    namespace: str,
    labels: Sequence[str],
    annotations: Sequence[str],
    workers: int,
    only: Sequence[str],
    skip: Sequence[str],
    versions: Sequence[str],
    policy: str,
) -> None:
    """Print manifests for Azure resources and all that is below them.

    ARM_ID is the id of a resource or of a resource group, as the portal and
    `az resource show --query id` print it. Azure is only read, and only as far as the
    signed-in identity may: the one of AZURE_CLIENT_ID and its neighbours, else of
    `az login`. Owners and references among what is imported are written by name. What
    Azure does not show, such as passwords, is named in comments.

    \b
    Example:
      asoctl import azure-resource \\
        /subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/shop \\
        --namespace shop > shop.yaml

    Exit code 0 when everything was imported or left out on purpose, 3 when something
    failed (the rest is written), 1 when nothing was imported, 2 for a wrong call.
    """  # noqa: D301 -- click wants the character
    if output is not None and output_folder is not None:
        raise click.UsageError("use either --output or --output-folder")
    target = ManifestOutput(output, output_folder, overwrite=force)
    target.check()
    options = ImportOptions(
        namespace=namespace,
        labels=_pairs(labels, "--label"),
        annotations=_pairs(annotations, "--annotation"),
        policy=Policy(policy),
        workers=workers,
        versions=dict(_version(text) for text in versions if text != _NEWEST),
        wanted=lambda kind: _is_wanted(kind, only, skip),
    )
    with usage_errors(ArmIdError):
        for text in arm_ids:
            parse_stated(text)
    imported = _imported(arm_ids, options)
    _report(imported.report)
    target.write(imported.manifests)
    if not imported.manifests:
        sys.exit(_NOTHING)
    sys.exit(0 if imported.report.is_complete else _PARTLY)


def _imported(arm_ids: Sequence[str], options: ImportOptions) -> ImportedResources:
    """Import until the end or the first Ctrl-C. A second one ends the program."""
    with (
        usage_errors(NotImportableError, NotInCatalogueError, UnknownVersionError),
        signed_in(connections=options.workers) as connection,
        progress() as reporter,
    ):
        importer = ResourceImporter(
            connection.client,
            builtin(),
            builtin_sets(),
            options=options,
            reporter=reporter,
        )

        def stop(_: str) -> None:
            importer.stop()
            # Not by a stream: the interrupted code may be writing to it.
            os.write(sys.stderr.fileno(), _STOPPING)

        with stop_signals(stop):
            return importer.run(arm_ids)


def _is_wanted(kind: Kind, only: Sequence[str], skip: Sequence[str]) -> bool:
    name = str(kind).lower()
    if only and not any(fnmatchcase(name, glob.lower()) for glob in only):
        return False
    return not any(fnmatchcase(name, glob.lower()) for glob in skip)


def _version(text: str) -> tuple[GroupKind, str]:
    match = _VERSION.fullmatch(text)
    if match is None:
        raise click.UsageError(
            f"--api-version {text!r}: write GROUP/KIND=VERSION, such as "
            "network.azure.com/VirtualNetwork=v1api20240301"
        )
    return GroupKind(match[1], match[2]), match[3]


def _pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    found = {}
    for text in (part for one in texts for part in one.split(",") if part):
        key, equals, value = text.partition("=")
        if not (key and equals):
            raise click.UsageError(f"{option} {text!r}: write KEY=VALUE")
        found[key.strip()] = value.strip()
    return found


def _report(report: ImportReport) -> None:
    for (kind, status, reason), count in report.counts():
        why = f": {reason}" if reason else ""
        say(f"{count:5}  {kind}  {status}{why}", err=True)
    for one in report.outcomes:
        if one.status == "failed":
            say(f"failed  {one.arm_id}: {one.reason}", err=True)
    if report.was_stopped:
        say("Stopped: what was read until then is written.", err=True)
        count = len(report.unread)
        if count > _MOST_IDS:
            say(
                f"{count} resources were not read to their end: run it again.", err=True
            )
        elif count:
            say("To go on, import these with what is below them:", err=True)
            for arm_id in report.unread:
                say(f"  {arm_id}", err=True)
