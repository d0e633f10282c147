"""Options that several commands share, and flags in the form that Go programs use."""

import functools
import io
import os
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import click
import yaml

from asoreconcile.azure.catalogue.manifests import load_file
from asoreconcile.azure.cmd.terminal import fail, write
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.kube.config import load
from asoreconcile.kube.errors import (
    DecodeError,
    KubeCredentialError,
    TransportError,
    UnauthorizedError,
)

if TYPE_CHECKING:
    from asoreconcile.azure.catalogue.resolution import Answers

_WATCH_SECONDS = 5.0
CONTROL_TOKEN = "ASORECONCILE_CONTROL_TOKEN"  # noqa: S105 - a variable's name


def answers_in(path: Path | None) -> "Answers | None":
    """Return the answers in a file; end the program with a message if the file is
    wrong.
    """
    # Azure's packages are needed from here on: `testserver kube` works without them.
    from asoreconcile.azure.catalogue.resolution import ResolutionError, answers_of

    if path is None:
        return None
    try:
        return answers_of(load_file(path) or {})
    except ResolutionError as error:
        fail(f"{path}: {error}")
    except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
        fail(f"{path}: cannot be read: {error}")


F = TypeVar("F", bound=Callable[..., Any])


def webhook_choice(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--webhook-service`, `--webhook-url` and `--webhook-ca`, which a command gets
    as `webhook`: the address of webhooks for the API server; None if none is given.
    """

    @click.option(
        "--webhook-service",
        "service",
        default="",
        metavar="NAMESPACE/NAME",
        help="The Service before the webhooks.",
    )
    @click.option(
        "--webhook-url",
        "url",
        default="",
        metavar="URL",
        help="The webhooks outside the cluster: https://HOST:PORT",
    )
    @click.option(
        "--webhook-ca",
        "ca",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        help="PEM that the webhook's certificate is checked with.",
    )
    @functools.wraps(command)
    def chosen(*, service: str, url: str, ca: Path | None, **rest: Any) -> Any:
        from asoreconcile.azure.catalogue.webhook_manifests import WebhookClient

        namespace, slash, name = service.partition("/")
        if service and not (namespace and slash and name):
            fail(
                f"--webhook-service {service!r} is not of the form NAMESPACE/NAME",
                code=2,
            )
        bundle = b64encode(ca.read_bytes()).decode() if ca else ""
        client = WebhookClient(url, namespace, name, ca_bundle=bundle)
        return command(webhook=client if url or service else None, **rest)

    return chosen


def seconds(name: str, text: str, default: float = 0.0) -> Callable[[F], F]:
    """Add an option that takes a number of seconds. text: its help."""
    return click.option(
        name,
        type=click.FloatRange(min=0),
        default=default,
        show_default=True,
        metavar="SECONDS",
        help=text,
    )


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

    kubeconfig: path of the file; None chooses as `kube.config.load` does. context: name
    of the context; "" for the current one.
    """

    kubeconfig: str | None
    context: str

    def config(self) -> ClusterConfig:
        """Return the configuration. Raises KubeConfigError."""
        return load(self.kubeconfig, context=self.context)

    def contexts(self) -> list[str]:
        """Return the names of the kubeconfig's contexts. Raises KubeConfigError."""
        from asoreconcile.kube.kubeconfig import DEFAULT
        from asoreconcile.kube.kubeconfig_file import read_files

        paths = self.kubeconfig or os.environ.get("KUBECONFIG") or DEFAULT
        found = [entry for file in read_files(paths) for entry in file.entries]
        return [name for kind, name in found if kind == "context"]

    @contextmanager
    def client(self) -> Iterator[KubeClient]:
        """Return a client that is closed at the end. Raises KubeConfigError, and
        AsoreconcileError with advice if the server cannot be reached meanwhile.
        """
        config = self.config()
        with closing(KubeClient(config, user_agent="asoctl")) as client:
            try:
                yield client
            except UnauthorizedError as error:
                raise AsoreconcileError(
                    f"{error}: {config.url} does not accept the credentials of the "
                    "kubeconfig: sign in again; kubectl auth whoami shows as whom"
                ) from error
            except TransportError as error:
                if isinstance(error, KubeCredentialError | DecodeError):
                    raise
                if "certificate verify failed" in str(error):
                    raise AsoreconcileError(
                        f"{error}: the authority in the kubeconfig did not sign the "
                        f"certificate of {config.url}: fetch the kubeconfig again"
                    ) from error
                raise AsoreconcileError(
                    f"{error}: look whether the API server {config.url} runs, and "
                    "whether KUBECONFIG or --kubeconfig names the right cluster"
                ) from error


def _lazily(name: str) -> Callable[..., Any]:
    """Return a function of the module `completion`, which is imported when a completion
    is requested.
    """

    def complete(*arguments: Any) -> Any:
        from asoreconcile.azure.cmd import completion

        return getattr(completion, name)(*arguments)

    return complete


complete_namespaces = _lazily("namespaces")
complete_objects = _lazily("kinds_and_names")


def watchable(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `-w`: repeat the command until Ctrl-C, and print its output whenever that
    changes.
    """

    @click.option(
        "-w", "--watch", is_flag=True, help="Print again when it changes, until Ctrl-C."
    )
    @functools.wraps(command)
    def watched(*, watch: bool, **rest: Any) -> Any:
        if not watch:
            return command(**rest)
        before = None
        try:
            while True:
                with redirect_stdout(io.StringIO()) as printed, suppress(SystemExit):
                    command(**rest)
                if (text := printed.getvalue()) != before:
                    write(text)
                before = text
                time.sleep(_WATCH_SECONDS)
        except KeyboardInterrupt:
            return None

    return watched


def cluster_choice(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--kubeconfig` and `--context`, which a command gets as `choice`."""

    @click.option(
        "--kubeconfig", metavar="FILE", help="The cluster's file. Default: KUBECONFIG."
    )
    @click.option(
        "--context",
        default="",
        metavar="NAME",
        shell_complete=_lazily("contexts"),
        help="Default: the current context.",
    )
    @functools.wraps(command)
    def chosen(*, kubeconfig: str | None, context: str, **rest: Any) -> Any:
        return command(choice=ClusterChoice(kubeconfig, context), **rest)

    return chosen


@attrs.frozen
class ObjectChoice:
    """The objects that a command reads, chosen as by kubectl's options of these names.

    namespaces: () for all. labels: a selector; "" for all.
    """

    namespaces: tuple[str, ...] = ()
    labels: str = ""

    def nothing(self, kind: str = "") -> str:
        """Return the message that the cluster has no object that matches the choice, or
        none of a kind.
        """
        matching = f" that matches the selector {self.labels!r}" if self.labels else ""
        places = " or ".join(f"namespace {name!r}" for name in self.namespaces)
        place = places or "any namespace"
        return f"there is no {kind or 'Azure object'}{matching} in {place}"


def object_choice(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `-n`, `-A` and `-l`, which a command gets as `wanted`."""

    @click.option(
        "-n",
        "--namespace",
        "namespaces",
        multiple=True,
        metavar="NAME",
        shell_complete=complete_namespaces,
        help="Of the cluster's objects only those here; repeatable. Default: all.",
    )
    @click.option("-A", "--all-namespaces", "everywhere", is_flag=True)
    @click.option("-l", "--selector", "labels", default="", metavar="LABELS")
    @functools.wraps(command)
    def chosen(
        *, namespaces: tuple[str, ...], everywhere: bool, labels: str, **rest: Any
    ) -> Any:
        if namespaces and everywhere:
            raise click.UsageError("use either --namespace or --all-namespaces")
        return command(wanted=ObjectChoice(namespaces, labels), **rest)

    return chosen


def place_choice(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `-n` and `-A`, for a command that looks at one namespace or at all."""
    everywhere = click.option("-A", "--all-namespaces", is_flag=True)
    return click.option(
        "-n",
        "--namespace",
        metavar="NAME",
        shell_complete=complete_namespaces,
        help="Default: the one of the context.",
    )(everywhere(command))


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


def output(*forms: str, default: str, text: str | None = None) -> Callable[[F], F]:
    """Add `-o` with the forms of the output. text: its help."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice(forms),
        default=default,
        show_default=True,
        help=text,
    )


documents_output = output(
    "json", "yaml", default="yaml", text="json prints one document a line."
)
table_output = output("table", "json", default="table")
control_token = click.option(
    "--control-token",
    default="",
    envvar=CONTROL_TOKEN,
    metavar="TOKEN",
    help="Open the paths below /_control/ to who sends this token as x-control-token. "
    f"Default: {CONTROL_TOKEN}, which no other user of the machine can read.",
)
record = click.option(
    "--record",
    default="",
    metavar="FILE.tar.xz",
    type=click.Path(dir_okay=False, writable=True),
    help="Write all exchanges with Azure there at the end, without secrets. "
    "`asoreconcile.testing.replay` plays them.",
)
page_port = click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="PORT",
    help="The page's port on 127.0.0.1. Default: any free one.",
)
# How a child knows that its parent ended: `subprocesses.ChildProcess` passes it.
until_stdin_closes = click.option("--until-stdin-closes", is_flag=True, hidden=True)


def switch(
    name: str, *, text: str, default: bool | None = False, effect: bool = True
) -> Callable[[F], F]:
    """Add a flag in the form that Azure Service Operator's Deployments use: `--name`
    turns it on, and `--name=true` and `--name=false` are accepted.

    text: help of the flag. default: value without the flag; None if the command must
    know whether the flag was given. effect: if false, the flag is accepted and ignored.
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
