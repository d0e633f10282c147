"""`asoreconcile testserver`: run one of the two test servers, for tests in any
language.
"""

import shutil
import threading
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import click

from asoreconcile.azure.cmd import sharedoptions
from asoreconcile.azure.cmd.broken_pipe import QuietGroup
from asoreconcile.azure.cmd.parent_watch import on_stdin_end
from asoreconcile.azure.cmd.terminal import say, write
from asoreconcile.runtime.signals import stop_signals

_PORT = click.IntRange(0, 65535)


@click.group(cls=QuietGroup)
def testserver() -> None:
    """Run the embedded Kubernetes API server or the ARM simulator alone.

    Both listen on 127.0.0.1 with TLS, keep everything in memory unless asked
    otherwise, and run until SIGINT or SIGTERM.
    """


class _KubeCommand(click.Command):
    """A command that lists the faults below its options."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from asoreconcile.testing.kube.controls.scripted import HELP

        del ctx
        with formatter.section("Faults, as VERB RESOURCE WHAT [xCOUNT], WHAT being"):
            formatter.write_dl(HELP)


@testserver.command(cls=_KubeCommand)
@click.option("--port", type=_PORT, default=0, help="Default: any free one.")
@click.option(
    "--token",
    default=None,
    envvar="ASORECONCILE_TOKEN",
    help="The bearer token. Default: ASORECONCILE_TOKEN, or a new one.",
)
@click.option(
    "--kubeconfig-out",
    metavar="FILE",
    type=click.Path(dir_okay=False, writable=True),
    help="Write a kubeconfig there. Default: to stdout.",
)
@click.option(
    "--data-dir",
    metavar="FOLDER",
    type=click.Path(file_okay=False),
    help="Keep objects, versions, certificates and token there. Default: in memory.",
)
@click.option(
    "--fsync",
    is_flag=True,
    help="With --data-dir: force each write to the disk, so that it outlives a power "
    "failure too.",
)
@click.option(
    "--rbac", is_flag=True, help="Ask Roles and bindings what each user may do."
)
@click.option(
    "--token-auth-file",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help='More users, one a line: token,user,uid,"group,group".',
)
@click.option(
    "--service",
    "services",
    multiple=True,
    metavar="NAMESPACE/NAME=HOST:PORT",
    help="Where a webhook's Service listens. Repeatable.",
)
@click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="SCRIPT",
    help="Make requests fail, see below. Repeatable.",
)
@sharedoptions.control_token
@sharedoptions.until_stdin_closes
def kube(
    *,
    port: int,
    kubeconfig_out: str | None,
    token_auth_file: str | None,
    services: tuple[str, ...],
    faults: tuple[str, ...],
    until_stdin_closes: bool,
    **options: Any,
) -> None:
    """Run a Kubernetes API server that holds objects and CRDs, and runs no pods.

    \b
    Example:
      asoreconcile testserver kube --port 6443 --kubeconfig-out kubeconfig &
      until [ -s kubeconfig ]; do sleep 1; done
      KUBECONFIG=kubeconfig kubectl get namespaces
    """  # noqa: D301 - click's mark for "do not wrap" is this very character
    from asoreconcile.testing.kube import KubeServer
    from asoreconcile.testing.kube.access.users import read_tokens

    try:
        server = KubeServer(
            port=port,
            users=read_tokens(token_auth_file) if token_auth_file else (),
            services=dict(_service(stated) for stated in services),
            **options,
        )
        for line in faults:
            server.faults.script(line)
    except OSError as error:
        raise click.ClickException(f"cannot listen on port {port}: {error}") from error
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if kubeconfig_out:
        server.write_kubeconfig(kubeconfig_out)
    else:
        write(server.kubeconfig_text() + "\n")
    say(f"Kubernetes API at {server.url}", err=True)
    _serve(server, until_stdin_closes=until_stdin_closes)


def _service(stated: str) -> tuple[str, str]:
    name, _, address = stated.partition("=")
    if name.count("/") != 1 or not address.rpartition(":")[2].isdigit():
        message = f"--service {stated!r} is not NAMESPACE/NAME=HOST:PORT"
        raise click.UsageError(message)
    return name, address


class _ArmCommand(click.Command):
    """A command that lists the styles and faults below its options."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from asoreconcile.testing.arm import named_faults
        from asoreconcile.testing.arm.named_styles import NAMED
        from asoreconcile.testing.arm.scripted import HELP

        del ctx
        with formatter.section("Styles"):
            formatter.write_dl([(name, n.summary) for name, n in NAMED.items()])
        with formatter.section("Faults, as VERB TARGET WHAT [xCOUNT], WHAT being"):
            formatter.write_dl(HELP)
        with formatter.section("Faults that last, as NAME=TARGET[,PARAMETER=VALUE]..."):
            formatter.write_dl(
                [
                    (", ".join([name, *parameters]), summary)
                    for name, (summary, parameters) in named_faults.NAMED.items()
                ]
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
@sharedoptions.seconds("--latency", "How long each answer takes.")
@sharedoptions.seconds("--lro", "How long each long-running operation takes.")
@click.option(
    "--retry-after",
    type=click.IntRange(min=0),
    default=None,
    metavar="SECONDS",
    help="Ask for this delay between polls, not for each provider's own.",
)
@sharedoptions.seconds("--read-lag", "How long reads show the state before a write.")
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
    "--strict/--no-strict",
    default=True,
    show_default=True,
    help="Refuse names, locations, api-versions, bodies and references that Azure's "
    "published types exclude.",
)
@sharedoptions.record
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
    "--remove",
    hidden=True,
    metavar="FOLDER",
    help="A folder to remove if the parent process dies.",
)
@sharedoptions.control_token
@sharedoptions.until_stdin_closes
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
    remove: str | None,
    **options: Any,
) -> None:
    """Run a simulator of Azure Resource Manager and of the Entra token endpoint.

    It knows every resource type; how each answers, and what goes wrong, is set by
    --style and --fault, or later by POST to /_control/style and /_control/fault with
    the same words in JSON ({"type": ..., "style": ...}, {"script": ...}). There are
    also /_control/counts, journal and resources to read, and policy, clock and remove
    to post to.

    \b
    Examples:
      asoreconcile testserver kube --kubeconfig-out kubeconfig &
      asoreconcile testserver arm --ca-out ca.pem --settings-out azure.env --lro 5 &
      until [ -s kubeconfig ] && [ -s azure.env ]; do sleep 1; done
      set -a; . ./azure.env
      export KUBECONFIG=kubeconfig REQUESTS_CA_BUNDLE=ca.pem POD_NAMESPACE=default
      asoreconcile manager --crd-pattern 'resources.azure.com/*'
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
            _write_private(settings_out, lines)
        else:
            write(lines)
        say(f"ARM at {server.url}, tokens at {server.authority}", err=True)
        is_orphan = _serve(server, until_stdin_closes=until_stdin_closes)
    if remove and is_orphan:
        shutil.rmtree(remove, ignore_errors=True)


def _serve(server: AbstractContextManager[Any], *, until_stdin_closes: bool) -> bool:
    """Block until SIGINT or SIGTERM, then close the server. Main thread only.

    Returns whether the parent process ended without a signal to this one.
    """
    stopped, asked = threading.Event(), threading.Event()

    def stop(_: str) -> None:
        asked.set()
        stopped.set()

    if until_stdin_closes:
        on_stdin_end(stopped.set)
    with stop_signals(stop), server:
        stopped.wait()
    return not asked.is_set()


def _write_private(path: str, text: str) -> None:
    """Write a file with secrets, readable only by its owner."""
    target = Path(path)
    target.unlink(missing_ok=True)
    target.touch(mode=0o600)
    target.write_text(text)
