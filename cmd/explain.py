"""`asoctl explain`: explain the state of an object in the cluster."""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime

import click

from asoreconcile.azure.catalogue.kinds import Kind
from asoreconcile.azure.catalogue.manifests import ManifestError, read_manifests
from asoreconcile.azure.catalogue.suggestions import hint
from asoreconcile.azure.cmd import sharedoptions
from asoreconcile.azure.cmd.broken_pipe import usage_errors
from asoreconcile.azure.cmd.cluster_objects import listed
from asoreconcile.azure.cmd.cluster_reads import ClusterReads
from asoreconcile.azure.cmd.kind_names import KindNameError, kinds_named
from asoreconcile.azure.cmd.sharedoptions import ClusterChoice, ObjectChoice
from asoreconcile.azure.cmd.terminal import say, say_json, say_wrapped
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.reconcile.planning.explanation import Explanation
from asoreconcile.azure.reconcile.planning.explanation import explain as explained
from asoreconcile.azure.reconcile.planning.unready import causes_of
from asoreconcile.base.objects import (
    JsonObject,
    ObjectKey,
    gvk_of,
    key_of,
)
from asoreconcile.kube.client import KubeClient

_MISSING = 1


@click.command()
@click.argument(
    "words",
    metavar="[KIND[.GROUP]/NAME | KIND NAME]",
    nargs=-1,
    shell_complete=sharedoptions.complete_objects,
)
@sharedoptions.manifest_files(required=False)
@click.option(
    "-n",
    "--namespace",
    metavar="NAME",
    shell_complete=sharedoptions.complete_namespaces,
    help="Default: the one of the context.",
)
@click.option("-A", "--all-namespaces", is_flag=True)
@click.option(
    "-l", "--selector", default="", metavar="LABELS", help="Without KIND: these alone."
)
@sharedoptions.cluster_choice
@sharedoptions.table_output
@sharedoptions.watchable
def explain(
    *,
    words: tuple[str, ...],
    paths: Sequence[str],
    namespace: str | None,
    all_namespaces: bool,
    selector: str,
    choice: ClusterChoice,
    output: str,
) -> None:
    """Say why Azure objects of the cluster are not Ready, and what to do.

    Shows an object's condition, its owners, what it refers to and whether that exists,
    the credential in use, a running operation, and the last events. With -f, all
    objects that manifests name. Without a name, everything in the namespace that is not
    Ready, grouped by its cause. Reads the cluster that KUBECONFIG names, and nothing of
    Azure; values of Secrets are not shown.

    \b
    Example:
      asoctl explain -A
      asoctl explain VirtualNetwork/net --namespace shop
      asoctl explain virtualnetwork net -n shop
      asoctl explain vn/net -n shop
      asoctl explain -f shop.yaml

    Exit code 1 when an object is not there, 2 for a wrong call.
    """  # noqa: D301 -- click wants the character
    named = " ".join(words)
    if named and paths:
        raise click.UsageError("use either KIND/NAME or --filename")
    if (named or paths) and (all_namespaces or selector):
        raise click.UsageError("--all-namespaces and --selector are for no KIND/NAME")
    place = namespace or choice.config().namespace
    with choice.client() as client:
        if not named and not paths:
            chosen = ObjectChoice(() if all_namespaces else (place,), selector)
            if objects := listed(client, chosen):
                _print_causes(objects, output)
            else:
                say(chosen.nothing(), err=output == "json")
            return
        cluster = ClusterReads(client)
        wanted = _in_manifests(paths, place) if paths else []
        if named:
            wanted = [_named(named, place, client)]
        found = [_explained(cluster, kind, key) for kind, key in wanted]
    _print([one for one in found if one is not None], output)
    sys.exit(_MISSING if None in found else 0)


def _explained(cluster: ClusterReads, kind: Kind, key: ObjectKey) -> Explanation | None:
    """Return None after a message if the object does not exist."""
    obj = cluster.get(kind.group_kind, key)
    if obj is None:
        if not cluster.serves(kind):
            say(
                f"there is no {kind.group_kind.kind} {key}: the cluster does not serve "
                f"the CRD {kind.plural}.{kind.group}. Let the operator install it "
                f"(--crd-pattern '{kind.group}/{kind.group_kind.kind}'), or apply what "
                f"`asoreconcile kinds crd {kind.group}/{kind.group_kind.kind}` prints",
                err=True,
            )
            return None
        near = hint(key.name, cluster.names(kind, key.namespace))
        say(f"there is no {kind.group_kind.kind} {key}{near}", err=True)
        return None
    return explained(obj, builtin(), cluster, now=datetime.now(UTC))


def _print(found: Sequence[Explanation], output: str) -> None:
    for number, one in enumerate(found):
        if output == "json":
            say_json(one.to_json())
            continue
        if number:
            say()
        for line in one.lines():
            say_wrapped(line, hang=12)


def _print_causes(objects: Sequence[JsonObject], output: str) -> None:
    causes = causes_of(objects, builtin())
    if output == "json":
        for cause in causes:
            say_json(cause.to_json())
        return
    for cause in causes:
        for line in cause.lines():
            say_wrapped(line, hang=9)
        say()
    count = sum(len(one.objects) + len(one.waiting) for one in causes)
    say(f"{len(objects)} Azure objects, {count} not Ready")


def _in_manifests(paths: Sequence[str], namespace: str) -> list[tuple[Kind, ObjectKey]]:
    """Return the Azure objects of manifests. Raises NotInCatalogueError."""
    found = []
    with usage_errors(ManifestError):
        manifests = read_manifests(paths)
    for manifest in manifests:
        group_kind, key = gvk_of(manifest.obj).group_kind, key_of(manifest.obj)
        if group_kind.group in builtin().groups():
            place = ObjectKey(key.namespace or namespace, key.name)
            found.append((builtin().kind(group_kind), place))
    if not found:
        raise click.ClickException("there is no Azure resource in these manifests")
    return found


def _named(text: str, namespace: str, client: KubeClient) -> tuple[Kind, ObjectKey]:
    """Return the object that `KIND/NAME` or `KIND NAME` names.

    Of several groups with such a kind, the one counts that has the object.
    """
    wanted, _, name = text.replace("/", " ", 1).partition(" ")
    if not wanted or not name or " " in name or "/" in name:
        raise click.UsageError(f"{text!r}: write KIND/NAME, such as VirtualNetwork/net")
    key = ObjectKey(namespace, name)
    with usage_errors(KindNameError):
        found = kinds_named(wanted, builtin(), client)
    if len(found) > 1:
        cluster = ClusterReads(client)
        there = [k for k in found if cluster.get(k.group_kind, key) is not None]
        found = there if len(there) == 1 else found
    if len(found) > 1:
        names = ", ".join(f"{k.group_kind.kind}.{k.group}/{name}" for k in found)
        raise click.UsageError(f"several kinds are a {wanted}: write one of {names}")
    return found[0], key
