"""`asoreconcile testserver`: the two servers alone, for anyone's tests."""

import sys

import click

from asoreconcile.cmd.serving import serve, write_private

_PORT = click.IntRange(0, 65535)


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


@testserver.command()
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
@click.option(
    "--latency",
    type=click.FloatRange(min=0),
    default=0.0,
    metavar="SECONDS",
    help="How long each answer takes.",
)
@click.option(
    "--lro",
    type=click.FloatRange(min=0),
    default=0.0,
    metavar="SECONDS",
    help="How long each long-running operation takes.",
)
@click.option(
    "--retry-after",
    type=click.IntRange(min=0),
    default=None,
    metavar="SECONDS",
    help="Ask for this delay between polls, not for each provider's own.",
)
@click.option(
    "--control-token",
    default="",
    metavar="TOKEN",
    help="Open /_control/counts, journal and resources to who sends this token.",
)
@click.option("--until-stdin-closes", is_flag=True, hidden=True)
def arm(
    *,
    port: int,
    port_token: int,
    ca_out: str | None,
    settings_out: str | None,
    subscription: str,
    latency: float,
    lro: float,
    retry_after: int | None,
    control_token: str,
    until_stdin_closes: bool,
) -> None:
    """Run a simulator of Azure Resource Manager and of the Entra token endpoint.

    \b
    Example:
      asoreconcile testserver arm --ca-out ca.pem --settings-out azure.env --lro 5 &
      set -a; . ./azure.env; REQUESTS_CA_BUNDLE=ca.pem asoreconcile manager
    """  # noqa: D301 - click's mark for "do not wrap" is this very character
    from asoreconcile.testing.arm import ArmServer

    try:
        server = ArmServer(
            port=port,
            token_port=port_token,
            latency=latency,
            lro=lro,
            retry_after=retry_after,
            subscription_id=subscription,
            control_token=control_token,
        )
    except OSError as error:
        raise click.ClickException(f"cannot listen: {error}") from error
    if ca_out:
        server.write_ca(ca_out)
    lines = "".join(f"{name}={value}\n" for name, value in server.settings().items())
    if settings_out:
        write_private(settings_out, lines)
    else:
        sys.stdout.write(lines)
        sys.stdout.flush()
    click.echo(f"ARM at {server.url}, tokens at {server.authority}", err=True)
    serve(server, until_stdin_closes=until_stdin_closes)
