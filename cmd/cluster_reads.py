"""Read the Azure objects of a cluster, and the objects that belong to them."""

from collections.abc import Collection, Sequence

from asoreconcile.azure.catalogue.kinds import Kind, NotInCatalogueError
from asoreconcile.azure.catalogue.suggestions import hint
from asoreconcile.azure.cmd.sharedoptions import ClusterChoice, ObjectChoice
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.discovery import discover
from asoreconcile.azure.controllers.kind_registry import resource_of
from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.base.objects import GroupKind, JsonObject, ObjectKey, key_of, uid_of
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.errors import ApiError, ForbiddenError, NotFoundError
from asoreconcile.kube.resources import (
    CONFIG_MAPS,
    EVENTS,
    NAMESPACES,
    SECRETS,
    ApiResource,
)
from asoreconcile.kube.selection import Selection


def served_resources(client: KubeClient) -> list[ApiResource]:
    """Return the Azure kinds that the cluster serves. Blocking; raises ApiError,
    TransportError.
    """
    served = discover(client, builtin()).versions
    # At a version that people write, whatever form the cluster keeps.
    return [resource_of(builtin().version(one.gvk)) for one in served.values()]


def azure_objects(choice: ClusterChoice, wanted: ObjectChoice) -> list[JsonObject]:
    """Return the Azure objects, at the version that the cluster prefers.

    Their Namespaces, and the ConfigMaps there, which they may refer to, are included;
    Secrets are not. Blocking. Raises KubeConfigError, ApiError, TransportError.
    """
    with choice.client() as client:
        found = [
            obj
            for resource in served_resources(client)
            for place in wanted.namespaces or ("",)
            for obj in client.list_all(
                Selection(resource, place, label_selector=wanted.labels)
            )
        ]
        for namespace in sorted({key_of(obj).namespace for obj in found}):
            found.append(client.get(NAMESPACES, ObjectKey("", namespace)))
            found += client.list_all(Selection(CONFIG_MAPS, namespace=namespace))
        return found


def secret_in_cluster(key: ObjectKey, choice: ClusterChoice) -> JsonObject:
    """Return one Secret. Blocking. Raises the errors of `azure_objects`."""
    with choice.client() as client:
        return client.get(SECRETS, key)


class ClusterReads:
    """`explanation.ClusterView` that reads with a client, without a cache."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self.has_kinds = True
        self.unlisted: list[str] = []

    def get(self, group_kind: GroupKind, key: ObjectKey) -> JsonObject | None:
        """Return an Azure object, or None."""
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

    def serves(self, kind: Kind) -> bool:
        """Return True if the cluster serves the kind, also if this release cannot run
        it.
        """
        found = discover(self._client, builtin())
        return kind.group_kind in found.versions or kind.group_kind in found.refused

    def objects(
        self, chosen: ObjectChoice, kinds: Collection[GroupKind] = ()
    ) -> list[JsonObject]:
        """Return the Azure objects that are chosen.

        kinds: the kinds to list; () for all that the cluster serves. Kinds that the
        user may not list are added to `unlisted`. Raises ForbiddenError if the user may
        list none of them.
        """
        served = served_resources(self._client)
        self.has_kinds = bool(served)
        wanted = [one for one in served if not kinds or one.group_kind in kinds]
        found: list[JsonObject] = []
        for one in wanted:
            place = Selection(one, *chosen.namespaces[:1], label_selector=chosen.labels)
            try:
                found += self._client.list_all(place)
            except ForbiddenError:
                self.unlisted.append(f"{one.kind}.{one.group}")
                if len(self.unlisted) == len(wanted):
                    raise
        return found

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
                break  # only for a hint: the reader may see one namespace alone
        return []

    def place_hint(self, namespace: str) -> str:
        """Return a hint at other namespaces if a namespace has no such objects."""
        try:
            names = [key_of(one).name for one in self._client.list_all(NAMESPACES)]
        except ApiError:
            return ""  # only a hint
        if namespace not in names:
            return f", which is not there{hint(namespace, names)}"
        return ": -A looks in all namespaces"

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
