"""Options that several commands share, and flags in the form that Go programs use."""

import functools
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any, TypeVar

import attrs
import click
import yaml

from asoreconcile.azure.catalogue.manifests import load_file
from asoreconcile.azure.catalogue.resolution import Answers, ResolutionError, answers_of
from asoreconcile.azure.cmd.terminal import say
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.kube.config import load

CONTROL_TOKEN = "ASORECONCILE_CONTROL_TOKEN"  # noqa: S105 - a variable's name


def answers_in(path: Path | None) -> Answers | None:
    """Return the answers in a file; end the program with a message if the file is
    wrong.
    """
    if path is None:
        return None
    try:
        return answers_of(load_file(path) or {})
    except ResolutionError as error:
        problem = f"{path}: {error}"
    except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
        problem = f"{path}: cannot be read: {error}"
    say(problem, err=True)
    sys.exit(1)


F = TypeVar("F", bound=Callable[..., Any])


def manifest_files(*, required: bool = True) -> Callable[[F], F]:
    """Add the option `-f FILE...`, which a command gets as `paths`."""
    return click.option(
        "-f",
        "--filename",
        "paths",
        multiple=True,
        required=required,
        metavar="FILE",
        help="A manifest file, a folder of them, or - for standard input; repeatable.",
    )


@attrs.frozen
class ClusterChoice:
    """The cluster that a command reads, chosen as by kubectl's options of these names.

    kubeconfig: None chooses as `kube.config.load` does. context: "" is the current one.
    """

    kubeconfig: str | None
    context: str

    def config(self) -> ClusterConfig:
        """Return the configuration. Raises KubeConfigError."""
        return load(self.kubeconfig, context=self.context)

    def client(self) -> AbstractContextManager[KubeClient]:
        """Return a client that is closed at the end. Raises KubeConfigError."""
        return closing(KubeClient(self.config(), user_agent="asoctl"))


def cluster_choice(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--kubeconfig` and `--context`, which a command gets as `choice`."""

    @click.option(
        "--kubeconfig", metavar="FILE", help="The cluster's file. Default: KUBECONFIG."
    )
    @click.option(
        "--context", default="", metavar="NAME", help="Default: the current context."
    )
    @functools.wraps(command)
    def chosen(*, kubeconfig: str | None, context: str, **rest: Any) -> Any:
        return command(choice=ClusterChoice(kubeconfig, context), **rest)

    return chosen


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
    envvar=CONTROL_TOKEN,
    metavar="TOKEN",
    help="Open the paths below /_control/ to who sends this token as x-control-token. "
    f"Default: {CONTROL_TOKEN}, which no other user of the machine can read.",
)
# How a child knows that its parent ended: `subprocesses.ChildProcess` passes it.
until_stdin_closes = click.option("--until-stdin-closes", is_flag=True, hidden=True)


def switch(
    name: str, *, text: str, default: bool | None = False, effect: bool = True
) -> Callable[[F], F]:
    """Add a flag in the form that Azure Service Operator's Deployments use: `--name`
    turns it on, and `--name=true` and `--name=false` are accepted.

    text: its help.
    default: None tells whether it was given.
    effect: if false, the flag is accepted and ignored.
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
