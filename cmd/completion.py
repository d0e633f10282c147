"""Completes contexts, namespaces, kinds and names, from the kubeconfig and the cluster.

A completion that fails returns nothing, because an error would be written into the
command line.
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from functools import wraps

import click

from asoreconcile.azure.cmd.sharedoptions import ClusterChoice
from asoreconcile.azure.cmd.terminal import say
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import GroupKind, key_of

_NO_FILES = ":4"  # of cobra's directives, which kubectl expects

_Complete = Callable[[click.Context, click.Parameter, str], list[str]]


def _silent(complete: Callable[[click.Context], Iterable[str]]) -> _Complete:
    @wraps(complete)
    def found(
        ctx: click.Context, _param: click.Parameter, incomplete: str
    ) -> list[str]:
        try:
            names = sorted(set(complete(ctx)))
        except (AsoreconcileError, click.ClickException):
            return []
        return [name for name in names if name.startswith(incomplete)]

    return found


def choice_of(ctx: click.Context) -> ClusterChoice:
    """Return the cluster that the words typed so far choose."""
    return ClusterChoice(ctx.params.get("kubeconfig"), ctx.params.get("context") or "")


@_silent
def contexts(ctx: click.Context) -> Iterable[str]:
    """Complete the contexts of the kubeconfig."""
    return choice_of(ctx).contexts()


@_silent
def namespaces(ctx: click.Context) -> Iterable[str]:
    """Complete the namespaces of the cluster."""
    from asoreconcile.kube.resources import NAMESPACES

    with choice_of(ctx).client() as client:
        return [key_of(one).name for one in client.list_all(NAMESPACES)]


@_silent
def kinds_and_names(ctx: click.Context) -> Iterable[str]:
    """Complete a kind, then the names of its objects in the namespace."""
    from asoreconcile.azure.cmd.cluster_reads import served_resources
    from asoreconcile.azure.cmd.kind_names import kinds_named
    from asoreconcile.azure.controllers.catalogue import builtin
    from asoreconcile.kube.selection import Selection

    words: Sequence[str] = ctx.params.get("words") or ()
    if not words:
        return [kind.group_kind.kind.lower() for kind in builtin().kinds()]
    choice, found = choice_of(ctx), []
    namespace = ctx.params.get("namespace") or choice.config().namespace
    with choice.client() as client:
        kinds = [one.group_kind for one in kinds_named(words[0], builtin(), client)]
        for resource in served_resources(client):
            if GroupKind(resource.group, resource.kind) in kinds:
                chosen = Selection(resource, namespace=namespace)
                found += [key_of(obj).name for obj in client.list_all(chosen)]
    return found


def complete_for_kubectl(main: click.Command) -> None:
    """Print the completions of the arguments in the form that kubectl reads from
    `kubectl_complete-NAME`.
    """
    from click.shell_completion import ShellComplete

    *words, incomplete = sys.argv[1:] or [""]
    found = ShellComplete(main, {}, "asoctl", "").get_completions(words, incomplete)
    for one in found:
        say(str(one.value))
    say(_NO_FILES)
