"""`asoreconcile testserver`: the two servers alone, for anyone's tests."""

import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, TypeVar

import click

from asoreconcile.cmd.serving import serve, write_private

_PORT = click.IntRange(0, 65535)
_Function = TypeVar("_Function", bound=Callable[..., Any])


@click.group()
def testserver() -> None:
    """Run the embedded Kubernetes API server or the ARM simulator alone.

    Both listen on 127.0.0.1 with TLS, keep everything in memory, and run until
    SIGINT or SIGTERM.
    """


@testserver.command()
@click.option("--port", type=_PORT, default=0, help="Default: any free one.")
@click.option("--token", default=None, help="The bearer token. Default: a new one.")
@click.option(
    "--kubeconfig-out",
    metavar="FILE",
    type=click.Path(dir_okay=False, writable=True),
    help="Write a kubeconfig there. Default: to stdout.",
)
@click.option("--until-stdin-closes", is_flag=True, hidden=True)
def kube(
    *,
    port: int,
    token: str | None,
    kubeconfig_out: str | None,
    until_stdin_closes: bool,
) -> None:
    """Run a Kubernetes API server that holds objects and CRDs, and runs no pods.

    \b
    Example:
      asoreconcile testserver kube --port 6443 --kubeconfig-out kubeconfig &
      KUBECONFIG=kubeconfig kubectl get namespaces
    """  # noqa: D301 - click's mark for "do not wrap" is this very character
    from asoreconcile.testing.kube import KubeServer

    try:
        server = KubeServer(token=token, port=port)
    except OSError as error:
        raise click.ClickException(f"cannot listen on port {port}: {error}") from error
    if kubeconfig_out:
        server.write_kubeconfig(kubeconfig_out)
    else:
        click.echo(server.kubeconfig_text())
    click.echo(f"Kubernetes API at {server.url}", err=True)
    serve(server, until_stdin_closes=until_stdin_closes)


class _ArmCommand(click.Command):
    """Lists the styles and faults under its options."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from asoreconcile.testing.arm.named_styles import NAMED
        from asoreconcile.testing.arm.scripted import HELP

        del ctx
        with formatter.section("Styles"):
            formatter.write_dl([(name, n.summary) for name, n in NAMED.items()])
        with formatter.section("Faults, as VERB TARGET WHAT [xCOUNT], WHAT being"):
            rows = [line.split("  ", 1) for line in HELP.splitlines()]
            formatter.write_dl([(what, text.strip()) for what, text in rows])


def _seconds(name: str, help_: str) -> Callable[[_Function], _Function]:
    return click.option(
        name,
        type=click.FloatRange(min=0),
        default=0.0,
        metavar="SECONDS",
        help=help_,
    )


@testserver.command(cls=_ArmCommand)
@click.option("--port", type=_PORT, default=0, help="Of ARM. Default: any free one.")
@click.option(
    "--port-token", type=_PORT, default=0, help="Of the token endpoint. Default: any."
)
@click.option(
    "--ca-out",
    metavar="FILE",
    type=click.Path(dir_okay=False, writable=True),
    help="Write the certificate authority there, for REQUESTS_CA_BUNDLE.",
)
@click.option(
    "--settings-out",
    metavar="FILE",
    type=click.Path(dir_okay=False, writable=True),
    help="Write the operator's settings there as NAME=VALUE. Default: to stdout.",
)
@click.option("--subscription", default="", metavar="ID", help="Default: a new one.")
@_seconds("--latency", "How long each answer takes.")
@_seconds("--lro", "How long each long-running operation takes.")
@click.option(
    "--retry-after",
    type=click.IntRange(min=0),
    default=None,
    metavar="SECONDS",
    help="Ask for this delay between polls, not for each provider's own.",
)
@_seconds("--read-lag", "How long reads show what was there before a write.")
@click.option(
    "--throttle", is_flag=True, help="Refuse what exceeds Azure's token buckets."
)
@click.option(
    "--page-size",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Entries on a page of a list. Default: all.",
)
@click.option(
    "--style",
    "styles",
    multiple=True,
    metavar="TYPE=STYLE",
    help="How a resource type answers: Microsoft.Network/virtualNetworks=W5.",
)
@click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="SCRIPT",
    help="What goes wrong: 'PUT Microsoft.Storage/storageAccounts:NAME 409 x3'.",
)
@click.option(
    "--deny",
    "denials",
    multiple=True,
    metavar="PATTERN",
    help="A policy refuses writes of resources whose id matches.",
)
@click.option(
    "--managed-identity",
    is_flag=True,
    help="Serve a machine's identity too; the settings say where.",
)
@click.option(
    "--virtual-clock",
    is_flag=True,
    help="Time stands still until it is moved on by /_control/clock.",
)
@click.option(
    "--control-token",
    default="",
    metavar="TOKEN",
    help="Open the paths below /_control/ to who sends this token as x-control-token.",
)
@click.option("--until-stdin-closes", is_flag=True, hidden=True)
def arm(
    *,
    port: int,
    port_token: int,
    ca_out: str | None,
    settings_out: str | None,
    styles: tuple[str, ...],
    faults: tuple[str, ...],
    denials: tuple[str, ...],
    managed_identity: bool,
    virtual_clock: bool,
    until_stdin_closes: bool,
    **options: Any,
) -> None:
    """Run a simulator of Azure Resource Manager and of the Entra token endpoint.

    It knows every resource type; how each answers, and what goes wrong, is told by
    --style and --fault, or later by POST to /_control/style and /_control/fault with
    the same words in JSON ({"type": ..., "style": ...}, {"script": ...}). There are
    also /_control/counts, journal and resources to read, and policy, clock and remove
    to post to.

    \b
    Examples:
      asoreconcile testserver arm --ca-out ca.pem --settings-out azure.env --lro 5 &
      set -a; . ./azure.env; REQUESTS_CA_BUNDLE=ca.pem asoreconcile manager
    \b
      asoreconcile testserver arm --throttle --read-lag 2 \\
        --style Microsoft.Network/virtualNetworks=W13 \\
        --fault 'PUT Microsoft.Sql/servers fail:ServerIsBusy x2'
    """  # noqa: D301 - click's mark for "do not wrap" is this very character
    from asoreconcile.testing.arm import ArmServer
    from asoreconcile.testing.clock import FakeClock

    clock = FakeClock() if virtual_clock else None
    options["subscription_id"] = options.pop("subscription")
    try:
        server = ArmServer(port=port, token_port=port_token, clock=clock, **options)
    except OSError as error:
        raise click.ClickException(f"cannot listen: {error}") from error
    try:
        for line in styles:
            type_, _, name = line.rpartition("=")
            server.style(type_, name)
        for line in faults:
            server.script(line)
    except ValueError as error:
        server.close()
        raise click.UsageError(str(error)) from error
    for pattern in denials:
        server.deny(pattern)
    settings = server.settings()
    with ExitStack() as running:
        if managed_identity:
            machine = running.enter_context(server.machine(own=server.client_id))
            settings |= machine.environment
        if ca_out:
            server.write_ca(ca_out)
        lines = "".join(f"{name}={value}\n" for name, value in settings.items())
        if settings_out:
            write_private(settings_out, lines)
        else:
            sys.stdout.write(lines)
            sys.stdout.flush()
        click.echo(f"ARM at {server.url}, tokens at {server.authority}", err=True)
        serve(server, until_stdin_closes=until_stdin_closes)
