"""`asoctl explain`: why an object of the cluster is as it is."""

import sys
from collections.abc import Collection, Sequence
from datetime import UTC, datetime

import click

from asoreconcile import jsontext
from asoreconcile.azure.explanation import explain as explained
from asoreconcile.catalogue.kinds import Kind, NotInCatalogueError
from asoreconcile.catalogue.suggestions import hint
from asoreconcile.cmd import sharedoptions
from asoreconcile.controllers.catalogue import builtin
from asoreconcile.controllers.kind_registry import resource_of
from asoreconcile.errors import AsoreconcileError
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.config import load
from asoreconcile.kube.errors import ApiError, NotFoundError
from asoreconcile.kube.resources import (
    CONFIG_MAPS,
    EVENTS,
    NAMESPACES,
    SECRETS,
    ApiResource,
)
from asoreconcile.kube.selection import Selection
from asoreconcile.objects import (
    GroupKind,
    JsonObject,
    ObjectKey,
    annotations,
    key_of,
    uid_of,
)

_MISSING = 1


@click.command()
@click.argument("name", metavar="KIND[.GROUP]/NAME")
@click.option("-n", "--namespace", default="default", show_default=True, metavar="NAME")
@sharedoptions.table_output
def explain(*, name: str, namespace: str, output: str) -> None:
    """Say why an Azure object of the cluster is as it is, and what to do.

    Its condition, the chain of its owners, what it refers to and whether that is there,
    the credential in use, a running operation, and the last events. Reads the cluster
    that KUBECONFIG names, and nothing of Azure; values of Secrets are not shown.

    \b
    Example:
      asoctl explain VirtualNetwork/net --namespace shop

    Exit code 1 when there is no such object, 2 for a wrong call.
    """  # noqa: D301 -- click wants the character
    kind, object_name = _named(name)
    try:
        client = KubeClient(load(), user_agent="asoctl")
        try:
            cluster = _Cluster(client)
            obj = cluster.get(kind.group_kind, ObjectKey(namespace, object_name))
            if obj is None:
                near = hint(object_name, cluster.names(kind, namespace))
                title = f"{kind.group_kind.kind} {namespace}/{object_name}"
                click.echo(f"there is no {title}{near}", err=True)
                sys.exit(_MISSING)
            now = datetime.now(UTC)
            found = explained(obj, builtin(), cluster, now=now)
        finally:
            client.close()
    except AsoreconcileError as error:
        raise click.ClickException(str(error)) from error
    if output == "json":
        click.echo(jsontext.dumps(found.to_json()).decode())
        return
    for line in found.lines():
        click.echo(line)


def _named(text: str) -> tuple[Kind, str]:
    """A kind by its name, its plural or with its group, in any case; and the rest."""
    wanted, slash, name = text.partition("/")
    if not slash or not wanted or not name:
        raise click.UsageError(f"{text!r}: write KIND/NAME, such as VirtualNetwork/net")
    kind_name, _, group = wanted.partition(".")
    if group:
        found = [k for k in _kinds(kind_name) if k.group == group]
        if not found:
            try:
                return builtin().kind(GroupKind(group, kind_name)), name
            except NotInCatalogueError as error:
                raise click.UsageError(str(error)) from error
        return found[0], name
    found = _kinds(kind_name)
    if not found:
        near = hint(kind_name, {k.group_kind.kind for k in builtin().kinds()})
        raise click.UsageError(f"there is no kind {kind_name!r}{near}")
    if len(found) > 1:
        names = ", ".join(f"{k.group_kind.kind}.{k.group}/{name}" for k in found)
        raise click.UsageError(
            f"several groups have a {kind_name}: write one of {names}"
        )
    return found[0], name


def _kinds(name: str) -> list[Kind]:
    lower = name.lower()
    return [
        kind
        for kind in builtin().kinds()
        if lower in (kind.group_kind.kind.lower(), kind.plural)
    ]


class _Cluster:
    """`explanation.ClusterView` over a client."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client

    def get(self, group_kind: GroupKind, key: ObjectKey) -> JsonObject | None:
        try:
            kind = builtin().kind(group_kind)
        except NotInCatalogueError:
            return None
        # At a version that people write, whatever form the cluster keeps.
        for version in reversed(kind.versions):
            found = self._read(resource_of(kind.version(version)), key)
            if found is not None:
                return found
        return None

    def names(self, kind: Kind, namespace: str) -> list[str]:
        try:
            resource = resource_of(kind.version())
            listed = self._client.list_all(Selection(resource, namespace=namespace))
            return [key_of(obj).name for obj in listed]
        except ApiError:
            return []  # only for a hint

    def namespaces_with(self, group_kind: GroupKind, name: str) -> Collection[str]:
        try:
            kind = builtin().kind(group_kind)
        except NotInCatalogueError:
            return []
        for version in reversed(kind.versions):
            resource = resource_of(kind.version(version))
            named = Selection(resource, field_selector=f"metadata.name={name}")
            try:
                return [key_of(obj).namespace for obj in self._client.list_all(named)]
            except NotFoundError:
                continue  # it is not served
            except ApiError:
                break  # only for a hint: who reads may see one namespace alone
        return []

    def keys_of(self, kind: str, key: ObjectKey) -> Collection[str] | None:
        found = self._read(SECRETS if kind == "Secret" else CONFIG_MAPS, key)
        if found is None:
            return None
        return {**(found.get("data") or {}), **(found.get("binaryData") or {})}.keys()

    def events(self, obj: JsonObject) -> Sequence[JsonObject]:
        about = Selection(
            EVENTS,
            namespace=key_of(obj).namespace,
            field_selector=f"involvedObject.uid={uid_of(obj)}",
        )
        return sorted(self._client.list_all(about), key=_time_of)

    def namespace_annotations(self, namespace: str) -> JsonObject:
        found = self._read(NAMESPACES, ObjectKey("", namespace))
        return {} if found is None else dict(annotations(found))

    def _read(self, resource: ApiResource, key: ObjectKey) -> JsonObject | None:
        try:
            return self._client.get(resource, key)
        except NotFoundError:
            return None


def _time_of(event: JsonObject) -> str:
    return str(event.get("lastTimestamp") or event.get("eventTime") or "")
