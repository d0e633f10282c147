"""Options that several commands have, said once, and flags in the form of Go's."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def manifest_files(*, required: bool = True) -> Callable[[F], F]:
    """The option `-f FILE...`, which a command gets as `paths`."""
    return click.option(
        "-f",
        "--filename",
        "paths",
        multiple=True,
        required=required,
        metavar="FILE",
        help="A manifest file, a folder of them, or - for standard input; repeatable.",
    )


resolve_file = click.option(
    "--resolve",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="JSON or YAML with what the manifests name and do not define.",
)
subscription = click.option(
    "--subscription",
    envvar="AZURE_SUBSCRIPTION_ID",
    default="",
    metavar="ID",
    help="Where resource groups are. Default: AZURE_SUBSCRIPTION_ID.",
)
documents_output = click.option(
    "-o",
    "--output",
    type=click.Choice(["json", "yaml"]),
    default="yaml",
    show_default=True,
    help="json prints one document a line.",
)
table_output = click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
)
control_token = click.option(
    "--control-token",
    default="",
    metavar="TOKEN",
    help="Open the paths below /_control/ to who sends this token as x-control-token.",
)
# How a child knows that its parent ended: `subprocesses.ChildProcess` passes it.
until_stdin_closes = click.option("--until-stdin-closes", is_flag=True, hidden=True)


def switch(
    name: str, *, text: str, default: bool | None = False, effect: bool = True
) -> Callable[[F], F]:
    """A flag as Azure Service Operator's Deployments write it, not as click has them:
    on as `--name`, and takes `--name=true` and `--name=false`.

    text: its help. default: None tells whether it was given. effect: False for what is
    only taken, and given to nobody.
    """
    return click.option(
        name,
        type=click.BOOL,
        is_flag=False,
        flag_value=True,
        default=default,
        show_default=bool(default),
        expose_value=effect,
        metavar="[=true|false]",
        help=text,
    )
