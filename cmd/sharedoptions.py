"""Options that several commands have, said once."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def manifest_files(*, required: bool = True) -> Callable[[F], F]:
    """`-f FILE...`, as `paths`."""
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
