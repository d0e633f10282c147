"""`asoctl doctor`: what is wrong with an installation, and how to mend it."""

import sys
from collections import Counter
from datetime import UTC, datetime

import attrs
import click

from asoreconcile import jsontext
from asoreconcile.cmd import sharedoptions
from asoreconcile.cmd.azure_login import signed_in_client
from asoreconcile.controllers.catalogue import builtin
from asoreconcile.controllers.diagnosis.examination import Examination, Installation
from asoreconcile.controllers.diagnosis.finding import Finding
from asoreconcile.errors import AsoreconcileError
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.config import load

_TROUBLE = 1
_INDENT = 20


@click.command()
@click.option(
    "--operator-namespace",
    default=Installation().namespace,
    show_default=True,
    metavar="NAME",
    help="Where the operator is installed.",
)
@click.option(
    "--azure/--no-azure",
    "azure",
    default=False,
    help="Also sign in to Azure from here, as `asoctl import` does.",
)
@sharedoptions.table_output
def doctor(*, operator_namespace: str, azure: bool, output: str) -> None:
    """Look an installation over: what is in order, what is not, and how to mend it.

    The operator's pods, settings and leader, the kinds and their conversion, objects
    that are not Ready, were never looked at or do not go, and the rights of the
    operator's service account. Reads the cluster that KUBECONFIG names; changes
    nothing, and shows no value of a Secret.

    \b
    Example:
      asoctl doctor --operator-namespace azureserviceoperator-system

    Exit code 1 when there is an error, 0 for warnings alone.
    """  # noqa: D301 -- click wants the character
    levels: Counter[str] = Counter()
    try:
        client = KubeClient(load(), user_agent="asoctl")
        try:
            examination = Examination(
                client,
                builtin(),
                installation=Installation(namespace=operator_namespace),
                sign_in=signed_in_client if azure else None,
                now=datetime.now(UTC),
            )
            for finding in examination.findings():
                levels[finding.level] += 1
                _print(finding, output)
        finally:
            client.close()
    except AsoreconcileError as error:
        raise click.ClickException(str(error)) from error
    if output != "json":
        summary = ", ".join(f"{count} {level}" for level, count in levels.items())
        click.echo(f"\n{summary}")
    sys.exit(_TROUBLE if levels["error"] else 0)


def _print(finding: Finding, output: str) -> None:
    if output == "json":
        click.echo(jsontext.dumps(attrs.asdict(finding)).decode())
        return
    click.echo(f"{finding.level:8}  {finding.check:9} {finding.text}")
    if finding.mend:
        click.echo(f"{'':{_INDENT}}-> {finding.mend}")
