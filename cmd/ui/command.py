"""`asoctl ui`: show a cluster's Azure objects on a page."""

import sys
import webbrowser

import click

from asoreconcile.azure.cmd import sharedoptions
from asoreconcile.azure.cmd.parent_watch import stop_event
from asoreconcile.azure.cmd.sharedoptions import ClusterChoice
from asoreconcile.azure.cmd.terminal import say


@click.command()
@sharedoptions.place_choice
@sharedoptions.cluster_choice
@sharedoptions.page_port
@click.option(
    "--open/--no-open",
    "opens",
    default=True,
    show_default=True,
    help="Open the page in the browser.",
)
def ui(
    *,
    namespace: str | None,
    all_namespaces: bool,
    choice: ClusterChoice,
    port: int,
    opens: bool,
) -> None:
    """Show Azure objects of the cluster on a page of the browser, until Ctrl-C.

    Shows owners and references as a graph, and of each object its conditions over time,
    why it is not Ready, its events, and the differences of spec and status. The page
    reads with the rights of your kubeconfig and changes nothing. It is served on
    127.0.0.1 alone. The printed file leads to it with a key that is good once: other
    users of the machine can read neither.

    \b
    Example:
      asoctl ui -A
      asoctl ui -n shop --port 8001 --no-open

    Exit code 1 if the cluster or the port cannot be used.
    """  # noqa: D301 -- click wants the character
    from asoreconcile.azure.cmd.ui.cluster_page import ClusterPage
    from asoreconcile.azure.cmd.ui.page_server import PageServer

    try:
        config = choice.config()
        place = "" if all_namespaces else namespace or config.namespace
        with choice.client() as client:
            # A wrong address or user is said here, not on an empty page.
            client.read("/version")
            page = ClusterPage(
                client, server=config.url, user=config.user, namespace=place
            )
            with stop_event() as stop, PageServer(page, port=port) as server:
                say(f"page: {server.file.as_uri()}")
                if opens and sys.stdout.isatty():
                    webbrowser.open(server.file.as_uri())
                stop.wait()
    except OSError as error:
        message = f"cannot write the page's file: {error}"
        raise click.ClickException(message) from error
