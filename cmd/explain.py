"""`asoctl explain`: explain the state of an object in the cluster."""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime

import attrs
import click

from asoreconcile.azure.catalogue.kinds import Kind
from asoreconcile.azure.catalogue.manifests import ManifestError, read_manifests
from asoreconcile.azure.catalogue.suggestions import hint
from asoreconcile.azure.cmd import sharedoptions
from asoreconcile.azure.cmd.broken_pipe import usage_errors
from asoreconcile.azure.cmd.cluster_reads import ClusterReads
from asoreconcile.azure.cmd.kind_names import KindNameError, kinds_named
from asoreconcile.azure.cmd.sharedoptions import ClusterChoice, ObjectChoice
from asoreconcile.azure.cmd.terminal import say, say_json, say_wrapped
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.diagnosis.finding import some
from asoreconcile.azure.reconcile.planning.explanation import Explanation
from asoreconcile.azure.reconcile.planning.explanation import explain as explained
from asoreconcile.azure.reconcile.planning.unready import causes_of
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import JsonObject, ObjectKey, gvk_of, key_of
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.errors import ForbiddenError

_MISSING = 1


@click.command()
@click.argument(
    "words",
    metavar="[KIND[.GROUP]/NAME... | KIND [NAME...]]",
    nargs=-1,
    shell_complete=sharedoptions.complete_objects,
)
@sharedoptions.manifest_files(required=False)
@sharedoptions.place_choice
@click.option(
    "-l", "--selector", default="", metavar="LABELS", help="Without NAME: these alone."
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
    objects that manifests name. Without a name, everything in the namespace (of a kind)
    that is not Ready, grouped by its cause. Reads the cluster that KUBECONFIG names,
    and nothing of Azure; values of Secrets are not shown.

    \b
    Example:
      asoctl explain -A
      asoctl explain VirtualNetwork/net --namespace shop
      asoctl explain virtualnetwork net -n shop
      asoctl explain vn/net -n shop
      asoctl explain vn -A
      asoctl explain -f shop.yaml

    Exit code 1 when an object is not there, 2 for a wrong call.
    """  # noqa: D301 -- click wants the character
    kind = words[0] if len(words) == 1 and "/" not in words[0] else ""
    if words and paths:
        raise click.UsageError("use either KIND/NAME or --filename")
    if ((words and not kind) or paths) and (all_namespaces or selector):
        raise click.UsageError("--all-namespaces and --selector are for no KIND/NAME")
    place = namespace or choice.config().namespace
    with choice.client() as client:
        cluster = ClusterReads(client)
        if not paths and (kind or not words):
            kinds = _kinds(kind, client) if kind else []
            where = ObjectChoice(() if all_namespaces else (place,), selector)
            _explain_all(cluster, kinds, where, output)
            return
        wanted = _in_manifests(paths, place) if paths else []
        if words:
            wanted = _named(words, place, client)
        found = [_explained(cluster, one, key) for one, key in wanted]
    _print([one for one in found if one is not None], output)
    sys.exit(_MISSING if None in found else 0)


def _explain_all(
    cluster: ClusterReads, kinds: Sequence[Kind], where: ObjectChoice, output: str
) -> None:
    """Print why the objects of a choice are not Ready. kinds: [] for all."""
    try:
        objects = cluster.objects(where, [kind.group_kind for kind in kinds])
    except ForbiddenError as refused:
        advice = "ask for that right, or name a namespace where you have it with -n"
        raise AsoreconcileError(f"{refused}: {advice}") from refused
    if not objects and not cluster.unlisted:
        say(_nothing(cluster, kinds, where), err=output == "json")
        return
    _print_causes(objects, output)
    if cluster.unlisted:
        shown = some(cluster.unlisted)
        say(f"you may not list {len(cluster.unlisted)} kinds: {shown}", err=True)


def _nothing(cluster: ClusterReads, kinds: Sequence[Kind], where: ObjectChoice) -> str:
    if not cluster.has_kinds:
        return "the cluster serves no Azure kind: asoctl doctor"
    if kinds and not any(map(cluster.serves, kinds)):
        return _unserved(kinds[0])
    near = "".join(map(cluster.place_hint, where.namespaces))
    return where.nothing(" or ".join(kind.group_kind.kind for kind in kinds)) + near


def _unserved(kind: Kind) -> str:
    name = f"{kind.group}/{kind.group_kind.kind}"
    return (
        f"the cluster does not serve the CRD {kind.plural}.{kind.group}. Let the "
        f"operator install it (--crd-pattern '{name}'), or apply what "
        f"`asoreconcile kinds crd {name}` prints"
    )


def _explained(cluster: ClusterReads, kind: Kind, key: ObjectKey) -> Explanation | None:
    """Return None after a message if the object does not exist."""
    obj = cluster.get(kind.group_kind, key)
    if obj is None:
        title = f"there is no {kind.group_kind.kind} {key}"
        if not cluster.serves(kind):
            say(f"{title}: {_unserved(kind)}", err=True)
            return None
        others = sorted(cluster.namespaces_with(kind.group_kind, key.name))
        if others:
            say(f"{title}; there is one in {others[0]}: -n {others[0]}", err=True)
            return None
        near = hint(key.name, cluster.names(kind, key.namespace))
        say(f"{title}{near}", err=True)
        return None
    return explained(
        obj,
        builtin(),
        cluster,
        now=datetime.now(UTC),
    )


def _print(found: Sequence[Explanation], output: str) -> None:
    for number, one in enumerate(found):
        if output == "json":
            say_json(attrs.asdict(one))
            continue
        if number:
            say()
        for line in one.lines():
            say_wrapped(line, hang=12)


def _print_causes(objects: Sequence[JsonObject], output: str) -> None:
    causes = causes_of(objects, builtin())
    if output == "json":
        for cause in causes:
            say_json(attrs.asdict(cause))
        return
    for cause in causes:
        for line in cause.lines():
            say_wrapped(line, hang=9)
        say()
    count = sum(len(one.objects) + len(one.waiting) for one in causes)
    plural = "" if len(objects) == 1 else "s"
    say(f"{len(objects)} Azure object{plural}, {count} not Ready")


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


def _kinds(word: str, client: KubeClient) -> list[Kind]:
    with usage_errors(KindNameError):
        return kinds_named(word, builtin(), client)


def _named(
    words: Sequence[str], namespace: str, client: KubeClient
) -> list[tuple[Kind, ObjectKey]]:
    """Return the objects that `KIND/NAME...` or `KIND NAME...` names."""
    if "/" not in words[0]:
        words = [f"{words[0]}/{name}" for name in words[1:]]
    found = []
    for text in words:
        wanted, _, name = text.partition("/")
        if not wanted or not name or "/" in name:
            raise click.UsageError(
                f"{text!r}: write KIND/NAME, such as VirtualNetwork/net"
            )
        key = ObjectKey(namespace, name)
        found.append((_kind_with(wanted, key, client), key))
    return found


def _kind_with(word: str, key: ObjectKey, client: KubeClient) -> Kind:
    """Return the kind that a word names: of several, the one with the object."""
    found = _kinds(word, client)
    if len(found) == 1:
        return found[0]
    cluster = ClusterReads(client)
    there = [kind for kind in found if cluster.get(kind.group_kind, key) is not None]
    if not there:
        names = " or ".join(str(kind.group_kind) for kind in found)
        raise AsoreconcileError(f"there is no {names} {key}")
    if len(there) > 1:
        names = ", ".join(f"{kind.group_kind}/{key.name}" for kind in there)
        raise click.UsageError(f"several kinds are a {word}: write one of {names}")
    return there[0]
