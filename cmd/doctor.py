"""`asoctl doctor`: diagnose an installation, and advise repairs."""

import os
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime

import attrs
import click

from asoreconcile.azure.arm.client import ArmClient
from asoreconcile.azure.arm.credentials import CredentialSource
from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.cmd import sharedoptions
from asoreconcile.azure.cmd.azure_login import signed_in
from asoreconcile.azure.cmd.sharedoptions import ClusterChoice
from asoreconcile.azure.cmd.terminal import say, say_json, say_wrapped, still_waiting
from asoreconcile.azure.controllers.arm_client_factory import ArmClientFactory
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.diagnosis import fixes
from asoreconcile.azure.controllers.diagnosis.examination import Examination
from asoreconcile.azure.controllers.diagnosis.finding import CheckSubject, Finding
from asoreconcile.azure.controllers.diagnosis.installation import (
    Installation,
    InstallationReads,
)
from asoreconcile.base.clock import SystemClock
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.kube.client import KubeClient

_TROUBLE = 1
_INDENT = 23
_COLOURS = {"ok": "green", "warning": "yellow", "error": "red", "unknown": "cyan"}
_ALL = "all"
_AZURE = CheckSubject("Azure")
_SUBSCRIPTIONS_VERSION = "2022-12-01"


@click.command()
@click.option(
    "-n",
    "--namespace",
    "--operator-namespace",
    "operator_namespace",
    default=Installation().namespace,
    show_default=True,
    metavar="NAME",
    shell_complete=sharedoptions.complete_namespaces,
    help="Where the operator is installed.",
)
@click.option(
    "--azure/--no-azure",
    "azure",
    default=False,
    help="Also sign in to Azure: with each credential in use, and as you.",
)
@click.option(
    "--fix",
    "names",
    multiple=True,
    type=click.Choice([*fixes.FIXES, _ALL]),
    help="Mend what a finding names so; repeatable.",
)
@click.option("--dry-run", is_flag=True, help="Only say what --fix would do.")
@sharedoptions.cluster_choice
@sharedoptions.table_output
@sharedoptions.watchable
def doctor(
    *,
    operator_namespace: str,
    azure: bool,
    names: Sequence[str],
    dry_run: bool,
    output: str,
    choice: ClusterChoice,
) -> None:
    """Check an installation: what works, what does not, and how to repair it.

    Checks the API server, clocks, proxies and versions; the operator's pods, settings
    and leader; the kinds, their conversion, webhooks and certificates; objects that are
    not Ready, were never reconciled or are stuck in deletion; the permissions of the
    operator's service account, compared with the shipped roles; and the credentials in
    use. Reads the cluster that KUBECONFIG names, and shows no value of a Secret.

    Changes nothing without --fix. If a finding has a safe repair, its name is in
    brackets. A repair is shown before it is made, may be repeated, deletes nothing and
    changes nothing in Azure.

    \b
    Example:
      asoctl doctor --operator-namespace azureserviceoperator-system
      asoctl doctor --fix drop-stored-versions --dry-run

    Exit code 1 when there is an error that was not repaired, 0 for warnings alone.
    """  # noqa: D301 -- click wants the character
    if dry_run and not names:
        raise click.UsageError("--dry-run says what --fix would do: give --fix NAME")
    levels: Counter[str] = Counter()
    with choice.client() as client:
        examination = Examination(
            InstallationReads(client, builtin(), Installation(operator_namespace)),
            sign_in=_subscriptions if azure else None,
            own_sign_in=_own_sign_in if azure else None,
            environment=os.environ,
            clock=SystemClock(),
        )
        for finding in examination.findings():
            levels[finding.level] += 1
            _print(finding, output)
            still_waiting()
            is_wanted = finding.fix and not {finding.fix, _ALL}.isdisjoint(names)
            if is_wanted and _mended(client, finding, output, dry=dry_run):
                levels[finding.level] -= 1
                levels["mended"] += 1
    if output != "json":
        counts = (f"{count} {level}" for level, count in levels.items() if count)
        say()
        say(", ".join(counts))
    sys.exit(_TROUBLE if levels["error"] else 0)


def _mended(client: KubeClient, finding: Finding, output: str, *, dry: bool) -> bool:
    """Announce a repair and make it; return whether it succeeded."""
    would = "would " if dry else ""
    _say(f"{finding.fix}: {would}{fixes.described(finding)}", output)
    if dry:
        return False
    try:
        done = fixes.mend(client, finding, now=datetime.now(UTC))
    except AsoreconcileError as trouble:
        _say(f"{finding.fix}: not done: {trouble}", output)
        return False
    _say(f"{finding.fix}: done: {done}", output)
    return True


def _subscriptions(source: CredentialSource) -> int:
    with closing(
        ArmClientFactory(clock=SystemClock(), user_agent="asoctl", read_only=True)
    ) as factory:
        return _count(factory(source, "asoctl doctor").client)


def _own_sign_in() -> Finding:
    try:
        with signed_in() as connection:
            count = _count(connection.client)
    except (ArmError, ArmTransportError, AsoreconcileError) as failed:
        mend = "look at `az login` or AZURE_CLIENT_ID, the proxy and the endpoint"
        return _AZURE.error(str(failed), mend)
    return _AZURE.ok(f"signed in here; subscriptions that can be read: {count}")


def _count(client: ArmClient) -> int:
    return len([*client.list("/subscriptions", _SUBSCRIPTIONS_VERSION)])


def _say(text: str, output: str) -> None:
    if output == "json":
        say_json({"fix": text})
    else:
        say(f"{'':{_INDENT}}=> {text}")


def _print(finding: Finding, output: str) -> None:
    if output == "json":
        say_json(attrs.asdict(finding))
        return
    text = f"{finding.level:8}  {finding.check:12} {finding.text}"
    say_wrapped(text, hang=_INDENT, colour=_COLOURS[finding.level])
    if finding.mend:
        named = f" [--fix {finding.fix}]" if finding.fix else ""
        say_wrapped(f"{'':{_INDENT}}-> {finding.mend}{named}", hang=_INDENT + 3)
