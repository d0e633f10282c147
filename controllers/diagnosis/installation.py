"""Reads an installation: the operator's objects, CRDs, and the objects of Azure kinds.

Each part is read when a check first needs it, and once.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import attrs

from asoreconcile.azure.catalogue.kinds import Catalogue, KindVersion
from asoreconcile.azure.controllers.diagnosis.object_parts import (
    containers_of,
    names_in,
    setting_of,
)
from asoreconcile.azure.controllers.diagnosis.rights import Right
from asoreconcile.azure.controllers.discovery import OldServerError, discover
from asoreconcile.azure.controllers.kind_registry import resource_of
from asoreconcile.azure.reconcile.model.conditions import find_ready
from asoreconcile.base.lazy import computed_once
from asoreconcile.base.objects import (
    GroupKind,
    JsonObject,
    ObjectKey,
    annotations,
    dig,
    key_of,
    spec,
    status,
)
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.errors import ApiError, ForbiddenError, NotFoundError
from asoreconcile.kube.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    DEPLOYMENTS,
    LEASES,
    NAMESPACES,
    PODS,
    SECRETS,
    ApiResource,
)
from asoreconcile.kube.selection import Selection

_REVIEWS = ApiResource(
    "authorization.k8s.io",
    "v1",
    "subjectaccessreviews",
    "SubjectAccessReview",
    namespaced=False,
)
_TARGETS = "AZURE_TARGET_NAMESPACES"
_ASKED_AT_ONCE = 8


@attrs.frozen
class Installation:
    """The names of an operator's objects, as in its manifests."""

    namespace: str = "azureserviceoperator-system"
    deployment: str = "azureserviceoperator-controller-manager"
    service_account: str = "azureserviceoperator-default"
    settings: str = "aso-controller-settings"
    lease: str = "controllers-leader-election-azinfra-generated"


@attrs.define(slots=False)
class InstallationReads:
    """The objects of one installation. Blocking; for one thread.

    names: the names of the operator's objects.
    elsewhere: the namespaces with a Deployment of the operator's name.
    unlisted: kinds whose objects cannot be listed, and why. refused: the kinds whose
    objects the user may not list.

    Each read raises ApiError, TransportError.
    """

    client: KubeClient
    catalogue: Catalogue
    names: Installation
    elsewhere: Sequence[str] = attrs.field(default=(), init=False)
    unlisted: dict[str, str] = attrs.field(factory=dict, init=False)
    refused: dict[str, ForbiddenError] = attrs.field(factory=dict, init=False)

    @computed_once
    def deployment(self) -> JsonObject | None:
        """The operator's Deployment; unless a namespace was given, the only one of its
        name in any namespace.
        """
        found = self.get(DEPLOYMENTS, self.names.deployment)
        if found is not None:
            return found
        named = f"metadata.name={self.names.deployment}"
        others = [*self.client.list_all(Selection(DEPLOYMENTS, field_selector=named))]
        self.elsewhere = sorted(key_of(one).namespace for one in others)
        if len(others) != 1 or self.names != Installation():
            return None
        self.names = attrs.evolve(self.names, namespace=self.elsewhere[0])
        return others[0]

    @computed_once
    def runs_outside(self) -> bool:
        """Return whether objects show that an operator without a Deployment runs."""
        if self.deployment is not None or self.elsewhere:
            return False
        return any(find_ready(status(obj).get("conditions")) for obj in self.objects)

    @computed_once
    def namespaces(self) -> Mapping[str, Mapping[str, str]]:
        """The annotations of the Namespaces, by name."""
        found = self.client.list_all(Selection(NAMESPACES, metadata_only=True))
        return {key_of(one).name: annotations(one) for one in found}

    @computed_once
    def user(self) -> str:
        """The operator's user name, made from the service account in its Deployment."""
        named = dig(self.deployment or {}, "spec.template.spec.serviceAccountName")
        account = named or self.names.service_account
        return f"system:serviceaccount:{self.names.namespace}:{account}"

    @computed_once
    def settings(self) -> JsonObject | None:
        """The Secret with the settings; None if the Secret does not exist."""
        return self.get(SECRETS, self.names.settings)

    @computed_once
    def targets(self) -> Sequence[str]:
        """The namespaces that the operator works in; () for all."""
        deployment, settings = None, None
        with suppress(ForbiddenError):
            deployment = self.deployment
            settings = self.settings
        return names_in(setting_of(deployment, settings, _TARGETS))

    @computed_once
    def is_aso(self) -> bool:
        """True if the operator is Azure Service Operator."""
        return any(
            "azureserviceoperator" in image and "asoreconcile" not in image
            for image in self.images
        )

    @computed_once
    def images(self) -> Sequence[str]:
        """The images of the operator's containers."""
        return [str(one.get("image")) for one in containers_of(self.deployment)]

    @computed_once
    def lease(self) -> JsonObject | None:
        """The lease of the leader election; None if no lease exists."""
        return self.get(LEASES, self.names.lease)

    @computed_once
    def pods(self) -> Sequence[JsonObject]:
        """The operator's pods."""
        if self.deployment is None:
            return []
        labels = (spec(self.deployment).get("selector") or {}).get("matchLabels") or {}
        selector = ",".join(f"{name}={value}" for name, value in labels.items())
        pods = Selection(PODS, namespace=self.names.namespace, label_selector=selector)
        try:
            return [*self.client.list_all(pods)]
        except NotFoundError:
            return []  # an API server without nodes, such as a sandbox's

    @computed_once
    def crds(self) -> Sequence[JsonObject]:
        """All CRDs of the cluster."""
        return [*self.client.list_all(CUSTOM_RESOURCE_DEFINITIONS)]

    @computed_once
    def kept(self) -> Mapping[GroupKind, KindVersion]:
        """The kinds in the form that the cluster stores."""
        try:
            return discover(self.client, self.catalogue).versions
        except OldServerError:
            return {}  # a finding about kinds says so

    @computed_once
    def served(self) -> Sequence[KindVersion]:
        """The kinds at a version that people write, whatever form the cluster keeps."""
        return [self.catalogue.version(one.gvk) for one in self.kept.values()]

    @computed_once
    def objects(self) -> Sequence[JsonObject]:
        """The objects of Azure kinds that the user may list."""
        found: list[JsonObject] = []
        for version in self.served:
            try:
                found += self.listed(version)
            except ForbiddenError as refused:
                self.refused[str(version.group_kind)] = refused
                if len(self.refused) == len(self.served):
                    raise
            except ApiError as failed:
                self.unlisted[str(version.group_kind)] = str(failed)
        return found

    def listed(self, version: KindVersion) -> Iterator[JsonObject]:
        """Yield the objects of a kind in the namespaces that the operator works in."""
        for place in self.targets or ("",):
            yield from self.client.list_all(Selection(resource_of(version), place))

    def allowed(self, asked: Sequence[Right]) -> Mapping[Right, bool]:
        """Ask the API server about the operator's rights, as an administrator may."""

        def allowed(right: Right) -> bool:
            body = {
                "spec": {"user": self.user, "resourceAttributes": right.attributes()}
            }
            review = self.client.create(_REVIEWS, body)
            return (review.get("status") or {}).get("allowed") is True

        with ThreadPoolExecutor(_ASKED_AT_ONCE) as pool:
            return dict(zip(asked, pool.map(allowed, asked), strict=True))

    def place(self, name: str) -> str:
        """Return `namespace/name` of one of the operator's objects."""
        return str(ObjectKey(self.names.namespace, name))

    def get(self, resource: ApiResource, name: str) -> JsonObject | None:
        """Return an object of the operator's namespace; None if it does not exist."""
        return self.read(resource, ObjectKey(self.names.namespace, name))

    def read(self, resource: ApiResource, key: ObjectKey) -> JsonObject | None:
        """Return an object; None if it does not exist."""
        try:
            return self.client.get(resource, key)
        except NotFoundError:
            return None
