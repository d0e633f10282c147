"""Remove an installation of the operator, for `asoctl uninstall`.

Nothing here writes to Azure. To keep Azure's resources, the operator is stopped first;
then the conversion webhook is taken out of the CRDs, as no process answers it any more,
and objects lose the finalizer that a stopped operator does not remove. To delete
Azure's resources, the objects are deleted while the operator runs.
Each step may be repeated: an interrupted removal is run again.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

import attrs

from asoreconcile.azure.catalogue.kinds import Catalogue, KindVersion
from asoreconcile.azure.catalogue.reserved import (
    RECORD_KEY_SECRET,
    SERVING_SECRET,
    SETTINGS_SECRET,
)
from asoreconcile.azure.catalogue.storage_codec import storage_codec_of
from asoreconcile.azure.catalogue.webhook_manifests import (
    MUTATING_NAME,
    VALIDATING_NAME,
)
from asoreconcile.azure.controllers import credential_hold
from asoreconcile.azure.controllers.crd_cleanup import operators_crds
from asoreconcile.azure.controllers.crd_coverage import stored_version
from asoreconcile.azure.controllers.discovery import discover
from asoreconcile.azure.controllers.kind_registry import resource_of
from asoreconcile.azure.controllers.storage_rewrite import stored_resource
from asoreconcile.azure.reconcile.model.annotations import FINALIZER
from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import (
    JsonObject,
    ObjectKey,
    finalizers,
    key_of,
    owner_references,
    resource_version,
    spec,
)
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.create_or_patch import AT_ONCE, retry_on_conflict
from asoreconcile.kube.errors import NotFoundError
from asoreconcile.kube.resources import (
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    DEPLOYMENTS,
    LEASES,
    NETWORK_POLICIES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
    ApiResource,
)
from asoreconcile.kube.selection import Selection
from asoreconcile.webhooks.ca_bundles import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS

MANAGER = "azureserviceoperator-controller-manager"
_PODS = "control-plane=controller-manager"
_PREFIX = "azureserviceoperator-"
_OWN_SECRETS = (SERVING_SECRET, RECORD_KEY_SECRET, SETTINGS_SECRET)
_LEASE = "controllers-leader-election-azinfra-generated"
_PAUSE_SECONDS = 2.0
_RBAC = "rbac.authorization.k8s.io"
_OF_NAMESPACE = (
    SERVICES,
    POD_DISRUPTION_BUDGETS,
    NETWORK_POLICIES,
    ApiResource(_RBAC, "v1", "rolebindings", "RoleBinding"),
    ApiResource(_RBAC, "v1", "roles", "Role"),
    SERVICE_ACCOUNTS,
    DEPLOYMENTS,
)
_OF_CLUSTER = (
    ApiResource(_RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", False),
    ApiResource(_RBAC, "v1", "clusterroles", "ClusterRole", False),
)


class UninstallError(AsoreconcileError):
    """The removal has stopped; the message says what is left."""


@attrs.frozen
class Uninstall:
    """Removes an installation step by step. Blocking; each step raises ApiError and
    TransportError.

    wait_seconds: longest wait for the end of pods, objects or CRDs.
    """

    client: KubeClient
    catalogue: Catalogue
    clock: Clock
    wait_seconds: float

    def objects(self) -> Iterator[JsonObject]:
        """Yield all Azure objects, as their authors wrote them.

        Objects are read as they are stored, which works without a conversion webhook.
        """
        for version in self._served():
            kind = self.catalogue.kind(version.group_kind)
            form = storage_codec_of(version, kind)
            for obj in self.client.list_all(resource_of(version)):
                yield form.read(obj)

    def crds(self) -> list[JsonObject]:
        """Return the CRDs of Azure kinds."""
        found = self.client.list_all(CUSTOM_RESOURCE_DEFINITIONS)
        return operators_crds([*found], self.catalogue)

    def managers(self) -> list[ObjectKey]:
        """Return the Deployments of all operators of the cluster."""
        named = Selection(DEPLOYMENTS, field_selector=f"metadata.name={MANAGER}")
        return [key_of(one) for one in self.client.list_all(named)]

    def exports(self) -> list[tuple[ApiResource, JsonObject]]:
        """Return the Secrets and ConfigMaps that objects own, without their data."""
        return [
            (resource, obj)
            for resource in (SECRETS, CONFIG_MAPS)
            for obj in self.client.list_all(Selection(resource, metadata_only=True))
            if any(map(self._is_ours, owner_references(obj)))
        ]

    def delete_objects(self, say: Callable[[str], None]) -> None:
        """Delete all objects, and wait until the operator has deleted their resources.
        Raises UninstallError if some are left, or if no operator is there.
        """
        found = self._found()
        if found and not self.managers():
            raise UninstallError(
                "no operator is there that would delete the resources in Azure: "
                "install it again, or use --keep-azure"
            )
        for resource, key in found:
            self._delete(resource, key)

        def left() -> list[str]:
            return [f"{resource.kind} {key}" for resource, key in self._found()]

        self._wait("objects are still being deleted in Azure", left, say)

    def stop_managers(self, say: Callable[[str], None]) -> None:
        """Scale the Deployments to 0, and wait until their pods have ended."""
        namespaces = []
        for key in self.managers():
            namespaces.append(key.namespace)
            self.client.patch(DEPLOYMENTS, key, {"spec": {"replicas": 0}})

        def pods() -> list[str]:
            return [
                str(key_of(pod))
                for namespace in namespaces
                for pod in self.client.list_all(
                    Selection(PODS, namespace=namespace, label_selector=_PODS)
                )
            ]

        self._wait("pods of the operator have not ended", pods, say)

    def remove_webhooks(self) -> None:
        """Delete the webhook configurations, and take the webhook out of the CRDs."""
        self._delete(MUTATING_WEBHOOKS, ObjectKey("", MUTATING_NAME))
        self._delete(VALIDATING_WEBHOOKS, ObjectKey("", VALIDATING_NAME))
        none = {"spec": {"conversion": {"strategy": "None", "webhook": None}}}
        for crd in self.crds():
            if spec(crd).get("conversion", {}).get("strategy") == "Webhook":
                self.client.patch(CUSTOM_RESOURCE_DEFINITIONS, key_of(crd), none)

    def detach(self) -> list[str]:
        """Remove the operator's owner references and finalizers; return the names of
        the Secrets and ConfigMaps that stay.
        """
        stay = []
        for resource, obj in self.exports():
            stay.append(f"{resource.kind} {key_of(obj)}")
            self._change(resource, obj, self._without_owners)
        for crd in self.crds():
            self._release(stored_resource(crd, stored_version(crd)))
        return stay

    def release_secrets(self) -> None:
        """Remove the operator's finalizer from Secrets with credentials."""
        self._release(SECRETS)

    def _release(self, resource: ApiResource) -> None:
        for obj in self.client.list_all(Selection(resource, metadata_only=True)):
            self._change(resource, obj, _without_finalizer)

    def remove_crds(self, say: Callable[[str], None]) -> None:
        """Delete the CRDs with their objects, and wait until they are gone."""
        for crd in self.crds():
            self._delete(CUSTOM_RESOURCE_DEFINITIONS, key_of(crd))

        def left() -> list[str]:
            return [key_of(crd).name for crd in self.crds()]

        self._wait("CRDs have not gone", left, say)

    def remove_rest(self, managers: Iterable[ObjectKey]) -> None:
        """Delete what the chart and the manifests have made for these operators."""
        for manager in managers:
            for resource in _OF_NAMESPACE:
                self._delete_named(Selection(resource, namespace=manager.namespace))
            self._delete(LEASES, ObjectKey(manager.namespace, _LEASE))
            for name in _OWN_SECRETS:
                self._delete(SECRETS, ObjectKey(manager.namespace, name))
        for resource in _OF_CLUSTER:
            self._delete_named(Selection(resource))

    def _served(self) -> list[KindVersion]:
        found = discover(self.client, self.catalogue)
        if found.refused:
            kinds = ", ".join(sorted(map(str, found.refused)))
            raise UninstallError(
                f"{kinds}: these kinds have versions that this release of asoctl does "
                "not know: use a newer one"
            )
        return [*found.versions.values()]

    def _found(self) -> list[tuple[ApiResource, ObjectKey]]:
        return [
            (resource, key_of(obj))
            for resource in map(resource_of, self._served())
            for obj in self.client.list_all(Selection(resource, metadata_only=True))
        ]

    def _is_ours(self, owner: JsonObject) -> bool:
        return str(owner.get("apiVersion", "")).partition("/")[0] in set(
            self.catalogue.groups()
        )

    def _without_owners(self, obj: JsonObject) -> JsonObject | None:
        kept = [one for one in owner_references(obj) if not self._is_ours(one)]
        return None if kept == owner_references(obj) else {"ownerReferences": kept}

    def _change(
        self,
        resource: ApiResource,
        obj: JsonObject,
        change: Callable[[JsonObject], JsonObject | None],
    ) -> None:
        """Change metadata that another writer may change at the same time."""
        key = key_of(obj)

        def once() -> None:
            live = self.client.get(resource, key, metadata_only=True)
            wanted = change(live)
            if wanted is not None:
                meta = {**wanted, "resourceVersion": resource_version(live)}
                self.client.patch(resource, key, {"metadata": meta})

        if change(obj) is not None:
            with suppress(NotFoundError):
                retry_on_conflict(once, clock=self.clock, backoff=AT_ONCE)

    def _delete_named(self, selection: Selection) -> None:
        for obj in self.client.list_all(attrs.evolve(selection, metadata_only=True)):
            if key_of(obj).name.startswith(_PREFIX):
                self._delete(selection.resource, key_of(obj))

    def _delete(self, resource: ApiResource, key: ObjectKey) -> None:
        with suppress(NotFoundError):
            self.client.delete(resource, key)

    def _wait(
        self, what: str, left: Callable[[], list[str]], say: Callable[[str], None]
    ) -> None:
        deadline = self.clock.monotonic() + self.wait_seconds
        count = -1
        while found := left():
            if len(found) != count:
                count = len(found)
                say(f"{count} left: {', '.join(found[:3])}")
            if self.clock.monotonic() >= deadline:
                raise UninstallError(
                    f"{what} after {self.wait_seconds:.0f} s: {', '.join(found[:10])}; "
                    "nothing else was removed: run this again"
                )
            self.clock.wait(threading.Event(), _PAUSE_SECONDS)


def _without_finalizer(obj: JsonObject) -> JsonObject | None:
    ours = {FINALIZER, credential_hold.FINALIZER}
    kept = [one for one in finalizers(obj) if one not in ours]
    return None if kept == finalizers(obj) else {"finalizers": kept}
