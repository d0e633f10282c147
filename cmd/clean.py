"""`asoctl clean crds`: remove old storage versions from a cluster's CRDs."""

import sys
import time
from datetime import UTC, datetime
from functools import partial

import attrs
import click

from asoreconcile.azure.cmd import sharedoptions
from asoreconcile.azure.cmd.broken_pipe import QuietGroup
from asoreconcile.azure.cmd.sharedoptions import ClusterChoice
from asoreconcile.azure.cmd.terminal import say, say_json, say_step
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.crd_cleanup import (
    CleanedCrd,
    cleaned_crds,
    unconverted_crds,
)

_TROUBLE = 1
_NO_WEBHOOK = (
    "there is nothing to clean: no CRD of an Azure kind has a conversion webhook"
)
_ALL_CURRENT = (
    "there is nothing to clean: all objects are stored in the current version "
    "(CRDs looked at: {})"
)


@click.group("clean", cls=QuietGroup)
def clean_group() -> None:
    """Clean up what upgrades leave behind in a cluster."""


@clean_group.command("crds")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@click.option(
    "--one-version",
    is_flag=True,
    help="Serve one version of each kind, for an installation without webhooks.",
)
@sharedoptions.cluster_choice
@sharedoptions.table_output
def crds(
    *, dry_run: bool, one_version: bool, choice: ClusterChoice, output: str
) -> None:
    """Store all Azure objects in today's version, and drop the older ones.

    A CRD has to serve every version that `status.storedVersions` lists. Each object is
    written once, unchanged; then the list is cut to the version that objects are stored
    in. A running operator does so by itself. After an interruption, run it
    again: it continues.
    Writes to the cluster that KUBECONFIG names.

    With --one-version no object needs the conversion webhook afterwards. Set
    allVersions to false in the chart first, and webhook.enable to false after it.

    \b
    Example:
      asoctl clean crds --dry-run

    Exit code 1 when a CRD was not cleaned, when there is none, and when objects are
    still stored in an alpha or beta version: then nothing is written at all.
    """  # noqa: D301 -- click wants the character
    total = cleaned = troubles = 0
    cleaning = (
        partial(unconverted_crds, wait=time.sleep)
        if one_version
        else partial(cleaned_crds, now=datetime.now(UTC))
    )
    with choice.client() as client:
        for done in cleaning(
            client, builtin(), dry_run=dry_run, progress=_show_progress
        ):
            total += 1
            troubles += bool(done.problem)
            cleaned += bool(done.dropped)
            if output == "json":
                say_json(attrs.asdict(done))
            else:
                _print(done, dry_run=dry_run)
    if output != "json" and not cleaned:
        say(_NO_WEBHOOK if one_version else _ALL_CURRENT.format(total))
    elif output != "json":
        say(f"{total} CRDs, {troubles} not cleaned" if troubles else f"{total} CRDs")
    sys.exit(_TROUBLE if troubles else 0)


def _show_progress(crd: str, count: int) -> None:
    say_step(f"{crd}: {count} objects", err=True)


def _print(done: CleanedCrd, *, dry_run: bool) -> None:
    old = ", ".join(done.dropped)
    if done.problem:
        say(f"{done.name}: {old} stays listed: {done.problem}", err=True)
    elif done.dropped:
        would = "would be " if dry_run else ""
        say_step(
            f"{done.name}: {done.objects} objects {would}stored in {done.stored}, "
            f"{old} {would}dropped"
        )
