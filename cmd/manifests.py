"""Checks manifests, applies them with the kinds they need, and watches their
objects.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from importlib.util import find_spec

import attrs

from asoreconcile.azure.catalogue.kinds import (
    Catalogue,
    KindVersion,
    NotInCatalogueError,
    UnknownVersionError,
)
from asoreconcile.azure.catalogue.manifests import Manifest
from asoreconcile.azure.catalogue.validation import name_problems, problems
from asoreconcile.azure.catalogue.webhook_manifests import WebhookClient
from asoreconcile.azure.controllers import crds
from asoreconcile.azure.controllers.kind_registry import resource_of
from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.conditions import find_ready
from asoreconcile.azure.reconcile.model.placeholders import with_placeholders
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import (
    GroupKind,
    JsonObject,
    ObjectKey,
    gvk_of,
    key_of,
    metadata,
)
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.errors import AlreadyExistsError, NotFoundError
from asoreconcile.kube.resources import (
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    NAMESPACES,
    SECRETS,
    ApiResource,
)

_BUILT_IN = {
    GroupKind("", "Namespace"): NAMESPACES,
    GroupKind("", "Secret"): SECRETS,
    GroupKind("", "ConfigMap"): CONFIG_MAPS,
}
_RESOURCE_ID = "serviceoperator.azure.com/resource-id"
_MANAGER = "sandbox"
_AZURE = ".azure.com"
# Without the engine the embedded API server refuses CRDs with rules.
_HAS_CEL = find_spec("cel_expr_python") is not None


class ManifestsError(AsoreconcileError):
    """Manifests that cannot be applied; one line a problem, with file and line."""


@attrs.frozen
class Row:
    """The displayed state of one Azure object. requests: number of requests to ARM so
    far.

    resource: `plural.group`, as kubectl accepts it.
    """

    kind: str
    group: str
    resource: str
    key: ObjectKey
    status: str
    severity: str
    reason: str
    message: str
    age_seconds: float
    requests: int

    @property
    def is_ready(self) -> bool:
        """True once the object's Ready condition is True."""
        return self.status == "True"

    @property
    def title(self) -> str:
        """Kind and key, as messages name the object."""
        return f"{self.kind} {self.key}"


class AppliedManifests:
    """Manifests, and the operations that apply them to a cluster."""

    def __init__(
        self,
        catalogue: Catalogue,
        manifests: Sequence[Manifest],
        *,
        all_versions: bool = False,
    ) -> None:
        """all_versions: whether manifests of one kind may have several versions.

        Raises ManifestsError with every problem of every manifest.
        """
        self._manifests = manifests
        self._all_versions = all_versions
        self._versions: dict[GroupKind, KindVersion] = {}
        found = [p for m in manifests for p in self._problems(catalogue, m)]
        if found:
            raise ManifestsError("\n".join(found))
        self._catalogue = catalogue
        for version in list(self._versions.values()):
            self._add_owner(version)
        self._by_resource = {
            f"{version.plural}.{version.gvk.group}": version
            for version in self._versions.values()
        }

    @property
    def kind_count(self) -> int:
        """The number of different kinds in the manifests, and so of needed CRDs."""
        return len(self._versions)

    @property
    def versions(self) -> Collection[KindVersion]:
        """The kinds of the manifests and of their owners."""
        return self._versions.values()

    @cached_property
    def other_kinds(self) -> Mapping[str, KindVersion]:
        """The kinds of the catalogue that neither the manifests nor their owners have,
        by resource.
        """
        return {
            f"{kind.plural}.{kind.group}": kind.version()
            for kind in self._catalogue.kinds()
            if kind.group_kind not in self._versions
        }

    def install_kinds(
        self, client: KubeClient, *, conversion: WebhookClient | None = None
    ) -> None:
        """Apply the CRDs of the kinds and of their owners.

        The versions of the manifests are served, else the storage version; with a
        conversion webhook all versions are served.
        """
        for _, version in sorted(self._versions.items(), key=str):
            self.install_kind(client, version, conversion=conversion)

    def install_kind(
        self,
        client: KubeClient,
        version: KindVersion,
        *,
        conversion: WebhookClient | None = None,
    ) -> None:
        """Apply the CRD of one kind. Raises ApiError, TransportError."""
        kind = self._catalogue.kind(version.gvk.group_kind)
        document = crds.manifest(
            kind, version.gvk.version, conversion=conversion, rules=_HAS_CEL
        )
        client.patch(
            CUSTOM_RESOURCE_DEFINITIONS,
            key_of(document),
            document,
            kind="apply",
            field_manager=crds.FIELD_MANAGER,
            force=True,
        )

    def apply(self, client: KubeClient) -> None:
        """Apply every manifest, after its namespace. Raises ApiError."""
        for namespace in {self._key(m.obj).namespace for m in self._manifests} - {""}:
            body = {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": namespace},
            }
            try:
                client.create(NAMESPACES, body)
            except AlreadyExistsError:
                continue
        for manifest in self._manifests:
            key, obj = self._key(manifest.obj), manifest.obj
            if gvk_of(obj).group_kind not in _BUILT_IN:
                # As the webhook does, which need not run here.
                obj = with_placeholders(self._catalogue.version(gvk_of(obj)), obj)
            obj = {**obj, "metadata": dict(metadata(obj))}
            if key.namespace:
                obj["metadata"]["namespace"] = key.namespace
            client.patch(
                self._resource(manifest.obj),
                key,
                obj,
                kind="apply",
                field_manager=_MANAGER,
                force=True,
            )

    def find(self, client: KubeClient, obj: JsonObject) -> JsonObject | None:
        """Return the object that a manifest was applied to, or None. Raises
        ApiError.
        """
        try:
            return client.get(self._resource(obj), self._key(obj))
        except NotFoundError:
            return None

    def rows(
        self,
        client: KubeClient,
        *,
        objects: Mapping[str, int],
        requests: Mapping[str, int],
        now: datetime,
    ) -> list[Row]:
        """Return the state of all Azure objects, not only those of the manifests.

        objects: number of objects by `plural.group`; kinds without objects are not
        read. requests: number of requests by ARM id in lower case.
        """
        return [
            _row(obj, resource, requests, now)
            for resource, version in self.present(objects).items()
            for obj in _listed(client, version)
        ]

    def present(self, objects: Mapping[str, int]) -> Mapping[str, KindVersion]:
        """Return the kinds that have objects, by resource.

        objects: number of objects by `plural.group`.
        """
        found = {
            resource: self._version_of(resource)
            for resource, count in sorted(objects.items())
            if count and resource.endswith(_AZURE)
        }
        return {name: version for name, version in found.items() if version is not None}

    def _version_of(self, resource: str) -> KindVersion | None:
        return self._by_resource.get(resource) or self.other_kinds.get(resource)

    def _add_owner(self, version: KindVersion) -> None:
        """Add the kind of an object's owner, because the owner may be applied later by
        hand.
        """
        owner = version.owner
        if owner is not None and owner not in self._versions:
            self._versions[owner] = self._catalogue.kind(owner).version()
            self._add_owner(self._versions[owner])

    def _problems(self, catalogue: Catalogue, manifest: Manifest) -> Iterator[str]:
        obj, where = manifest.obj, manifest.where
        gvk = gvk_of(obj)
        if gvk.group_kind in _BUILT_IN:
            return
        try:
            version = catalogue.version(gvk)
        except (NotInCatalogueError, UnknownVersionError) as error:
            yield f"{where}: {error}"
            return
        known = self._versions.setdefault(gvk.group_kind, version)
        if known.gvk != version.gvk and not self._all_versions:
            yield (
                f"{where}: {gvk.kind} is here at {gvk.version} and elsewhere at "
                f"{known.gvk.version}: use one version of a kind, or not --one-version"
            )
        title = f"{gvk.kind} {metadata(obj).get('name', '')}"
        whole = with_placeholders(version, obj)
        for problem in (*problems(version, whole), *name_problems(version, obj)):
            yield f"{where}: {title}: {problem.path}: {problem.message}"

    def _key(self, obj: JsonObject) -> ObjectKey:
        key = key_of(obj)
        if gvk_of(obj).group_kind == GroupKind("", "Namespace"):
            return key
        return ObjectKey(key.namespace or "default", key.name)

    def _resource(self, obj: JsonObject) -> ApiResource:
        group_kind = gvk_of(obj).group_kind
        built_in = _BUILT_IN.get(group_kind)
        return built_in or resource_of(self._catalogue.version(gvk_of(obj)))


def _listed(client: KubeClient, version: KindVersion) -> Sequence[JsonObject]:
    """Return the objects of a kind; none if its CRD was deleted meanwhile."""
    try:
        return client.list_page(resource_of(version)).items
    except NotFoundError:
        return ()


def _row(
    obj: JsonObject, resource: str, requests: Mapping[str, int], now: datetime
) -> Row:
    ready = find_ready((obj.get("status") or {}).get("conditions")) or {}
    made = datetime.fromisoformat(metadata(obj)["creationTimestamp"])
    arm_id = annotations(obj).get(_RESOURCE_ID, "").lower()
    return Row(
        kind=str(obj["kind"]),
        group=resource.partition(".")[2],
        resource=resource,
        key=key_of(obj),
        status=str(ready.get("status", "")),
        severity=str(ready.get("severity", "")),
        reason=str(ready.get("reason", "")),
        message=str(ready.get("message", "")),
        age_seconds=max(0.0, (now - made).total_seconds()),
        requests=requests.get(arm_id, 0),
    )
