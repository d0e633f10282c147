"""One Azure kind at a time, reconciled step by step, over real HTTPS on both sides.

The embedded API server and the ARM simulator run as in the sandbox. The queue and its
threads are left out, so a test decides when a reconcile happens and reads its result.
The test also controls the time: operations progress when it advances the clock.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self
from unittest import mock

import attrs
from globalconnection import GlobalConnection

from asoreconcile.azure.arm import ids
from asoreconcile.azure.arm.budget import Budget
from asoreconcile.azure.arm.client import ArmClient
from asoreconcile.azure.arm.credentials import ClientSecret, CloudConfig
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.rules import RULES
from asoreconcile.azure.catalogue.storage_codec import SingleVersionCodec
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.crds import manifest
from asoreconcile.azure.controllers.kind_registry import RunningKind, resource_of
from asoreconcile.azure.controllers.namespace_annotations import NamespaceAnnotations
from asoreconcile.azure.controllers.protected_objects import ProtectedObjects
from asoreconcile.azure.expressions.api import shared
from asoreconcile.azure.extensions.registry import builtin_sets
from asoreconcile.azure.graph.client import GraphClient
from asoreconcile.azure.middleware.chain import Extensions
from asoreconcile.azure.middleware.extension_set import ExtensionSet
from asoreconcile.azure.non_arm.reconciler import ExternalReconciler
from asoreconcile.azure.non_arm.resource import ExternalResource
from asoreconcile.azure.reconcile.engine.reconciler import ArmReconciler
from asoreconcile.azure.reconcile.model.annotations import (
    OPERATOR_NAMESPACE,
)
from asoreconcile.azure.reconcile.model.conditions import find_ready
from asoreconcile.azure.reconcile.model.decisions import IN_PROGRESS_PRIORITY
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.model.owner import owner_target
from asoreconcile.azure.reconcile.model.policy import Policy
from asoreconcile.azure.reconcile.model.protection import DELETION_PROTECTION_ROW
from asoreconcile.azure.reconcile.model.record_key import RecordKey
from asoreconcile.azure.reconcile.model.switches import is_on
from asoreconcile.azure.reconcile.model.sync_mode import (
    ForeignTags,
    SyncMode,
    Undeclared,
)
from asoreconcile.azure.reconcile.scope.shared_dependencies import (
    KindRuntime,
    SharedDependencies,
)
from asoreconcile.azure.reconcile.state.exported_objects import ExportedObjects
from asoreconcile.azure.reconcile.state.memory import ObjectMemories
from asoreconcile.azure.reconcile.state.read_set import InFlightReads
from asoreconcile.azure.reconcile.state.requeue_backoff import RequeueBackoff
from asoreconcile.azure.reconcile.state.waiting import Waiting
from asoreconcile.base.jsontext import loads
from asoreconcile.base.objects import (
    GroupKind,
    GroupVersionKind,
    JsonObject,
    ObjectKey,
    annotations,
    copy_json,
    gvk_of,
    key_of,
    uid_of,
)
from asoreconcile.base.reconcile_context import Context, current, running
from asoreconcile.cache.entry import Entry
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.config import load
from asoreconcile.kube.resources import (
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    NAMESPACES,
    SECRETS,
    ApiResource,
)
from asoreconcile.kube.selection import Selection
from asoreconcile.runtime.reconciler import Reconciler, Request, Result
from asoreconcile.testing.arm import ArmServer
from asoreconcile.testing.clock import FakeClock
from asoreconcile.testing.http import HttpRequest
from asoreconcile.testing.kube import KubeServer
from asoreconcile.testing.kube.access.users import ADMIN

OPERATOR = "azure-operator"
RECORD_KEY = RecordKey(b"k" * 32)
SYNC_SECONDS = 3600.0


@cache
def _extensions(*extra_sets: ExtensionSet) -> Extensions:
    return Extensions.of_catalogue(
        (*builtin_sets(), *extra_sets),
        builtin(),
    )


class World:
    """A cluster, an Azure and one operator in between. Use as a context manager.

    folder, outside, server, users: values of fixtures, for their tests.
    """

    folder: Any
    outside: Any
    server: Any
    users: Any

    def __init__(
        self,
        tmp_path: Path,
        *,
        extensions: Iterable[ExtensionSet] = (),
        azure: Any = None,
        budgeted: bool = False,
        **arm_options: Any,
    ) -> None:
        """Make the world.

        azure: server to use in place of a simulator with `arm_options`.
        budgeted: whether requests that Azure would throttle are held back, as in the
        operator.
        """
        self.clock = FakeClock()
        self._stack = ExitStack()
        self._kube_server = KubeServer()
        self._arm_server = azure or ArmServer(clock=self.clock, **arm_options)
        self._tmp_path = tmp_path
        self._budget = Budget(self.clock) if budgeted else None
        self._extra_sets = tuple(extensions)
        self._kinds: dict[GroupKind, KindRuntime] = {}
        self.events: list[tuple[str, str, str, str]] = []
        self.writes: list[JsonObject] = []
        self.ended: list[tuple[ObjectKey, str]] = []
        self.woken: list[ObjectKey] = []
        self.is_lagging = False
        # The actions of kinds without ARM.
        self.external: dict[GroupKind, ExternalResource] = {}

    def __enter__(self) -> Self:
        self.cluster = self._stack.enter_context(self._kube_server)
        self.azure = self._stack.enter_context(self._arm_server)
        kubeconfig = self._tmp_path / "kubeconfig"
        self.cluster.write_kubeconfig(kubeconfig)
        self.client = KubeClient(load(str(kubeconfig)), user_agent="tests")
        self._stack.callback(self.client.close)
        self.arm = self._arm_client()
        self._stack.callback(self.arm.close)
        self.operator = self.make_operator()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._stack.close()

    def _arm_client(self) -> ArmClient:
        azure = self.azure
        ca_file = self._tmp_path / "azure-ca.pem"
        azure.write_ca(ca_file)
        trust = mock.patch.dict(os.environ, {"REQUESTS_CA_BUNDLE": str(ca_file)})
        self._stack.enter_context(trust)
        self._identity = identity = ClientSecret(
            tenant_id=azure.tenant_id,
            client_id=azure.client_id,
            client_secret=azure.client_secret,
            subscription_id=azure.subscription_id,
            cloud=CloudConfig(authority_host=azure.authority, endpoint=azure.url),
        )
        return ArmClient(
            azure.url,
            identity.credential(),
            scope=identity.cloud.scope,
            clock=self.clock,
            budget=self._budget,
        )

    @cache  # noqa: B019 - a world is a test's
    def graph(self) -> GraphClient:
        """Return the client of Microsoft Graph."""
        client = GraphClient(
            self.azure.graph.url,
            self._identity.credential(),
            clock=self.clock,
            budget=self._budget,
        )
        self._stack.callback(client.close)
        return client

    def make_operator(
        self, *, namespace: str = OPERATOR, policy: Policy = Policy.MANAGE
    ) -> SharedDependencies:
        return SharedDependencies(
            clock=self.clock,
            client=self.client,
            catalogue=builtin(),
            objects=self,
            connections=GlobalConnection(
                self.arm,
                subscription_id=self.azure.subscription_id,
                source="azure-operator/aso-controller-settings",
                tenant_id=self._identity.tenant_id,
                graph=self.graph,
            ),
            extensions=_extensions(*self._extra_sets),
            recorder=_double(self),
            namespace_annotations=NamespaceAnnotations(
                _double(_FreshNamespaces(self)), self.client, self.clock
            ),
            namespace=namespace,
            default_policy=policy,
            build="test",
            record_key=lambda: RECORD_KEY,
            objects_with_arm_id=self._namesakes,
            protected_below=ProtectedObjects(
                _double(_FreshKinds(self)), _double(_FreshNamespaces(self))
            ),
            objects_of=self._objects_of,
            sync_mode=SyncMode.PUT,
            undeclared=Undeclared.PUT,
            foreign_tags=ForeignTags.KEEP,
            ignore_fields="",
            count_replaced=lambda _kind: None,
            force_put_seconds=None,
            count_sync=lambda _cause, _is_put: None,
            count_confirmation=lambda _of: None,
            predecessor_renewed=lambda: None,
            expressions=shared,
            is_credential=lambda _key: False,
            why_secrets_unchecked=lambda _version, _obj: "",
            is_granted=lambda _kind, _namespace, _arm_id: False,
            wake_children=lambda _node: None,
            children_of=self._children_of,
            waiting=Waiting(),
            export_loop=lambda _node: (),
            leads_to=lambda _start, _goal: False,
            wait_for_references=True,
            collection_reads=None,
            exported=ExportedObjects(
                {
                    resource.group_kind: _FreshCache(self, resource)
                    for resource in (SECRETS, CONFIG_MAPS)
                }
            ),
        )

    # The operator's view of the cluster: always fresh, without a cache.

    def get(self, group_kind: GroupKind, key: ObjectKey) -> JsonObject | None:
        kind = self._kinds.get(group_kind)
        return None if kind is None else self._read(kind.resource, key)

    def is_installed(self, group_kind: GroupKind) -> bool:
        return group_kind in self._kinds

    def served(self, group_kind: GroupKind) -> KindVersion | None:
        kind = self._kinds.get(group_kind)
        return None if kind is None else kind.version

    def event(self, obj: JsonObject, type_: str, reason: str, message: str) -> None:
        self.events.append((key_of(obj).name, type_, reason, message))

    def _namesakes(self, arm_id: str) -> Iterator[tuple[KindVersion, JsonObject]]:
        """Return all objects of the type. The cache's index would only return
        candidates.
        """
        type_ = ids.parse(arm_id).type.lower() if "/" in arm_id else ""
        for kind in self._kinds.values():
            if kind.version.arm_type.lower() == type_:
                for obj in self.client.list_all(kind.resource):
                    yield kind.version, obj

    def entries(self) -> dict[ObjectReference, Entry]:
        """Return the cached object of each node, as by caches without lag."""
        return {
            ObjectReference(group_kind, key_of(obj)): Entry(obj)
            for group_kind, kind in self._kinds.items()
            for obj in self.client.list_all(kind.resource)
        }

    def kinds(self) -> dict[GroupKind, KindRuntime]:
        """Return the installed kinds."""
        return dict(self._kinds)

    def _children_of(self, owner: ObjectReference) -> list[ObjectReference]:
        return [
            ObjectReference(group_kind, key_of(obj))
            for group_kind in self.kinds()
            for version, obj in self._objects_of(group_kind)
            if owner_target(version, obj) == owner
        ]

    def _objects_of(
        self, group_kind: GroupKind
    ) -> Iterator[tuple[KindVersion, JsonObject]]:
        if kind := self._kinds.get(group_kind):
            for obj in self.client.list_all(kind.resource):
                yield kind.version, obj

    def _read(self, resource: ApiResource, key: ObjectKey) -> JsonObject | None:
        """Return an object as a cache has it, which makes no request, or None."""
        path = resource.path(key.namespace, key.name)
        asked = HttpRequest("GET", path, path, {}, {}, b"")
        answer = self.cluster._answer(asked, ADMIN)
        assert answer.status in {200, 404}, answer
        if answer.status == 404:
            return None
        assert isinstance(answer.body, bytes)
        found: JsonObject = loads(answer.body)
        return found

    # The actions of tests.

    def install(self, *kinds: str) -> None:
        """Install the CRDs of kinds given as `group/Kind`, at their newest version."""
        for name in kinds:
            group, _, kind = name.partition("/")
            newest = builtin().kind(GroupKind(group, kind)).version()
            self.install_version(newest.gvk)

    def install_version(self, gvk: GroupVersionKind) -> None:
        """Install the CRD of a kind at a version."""
        kind = builtin().kind(gvk.group_kind)
        document = manifest(kind, gvk.version)
        self.client.patch(
            CUSTOM_RESOURCE_DEFINITIONS,
            key_of(document),
            document,
            kind="apply",
            field_manager="tests",
            force=True,
        )
        self._kinds[kind.group_kind] = self._kind(kind.version(gvk.version))

    def drop_rules(self, obj: JsonObject) -> None:
        """Make the API server accept what only the reconciler refuses, as with ASO's
        CRDs.
        """
        resource = self.resource_for(obj)
        key = ObjectKey("", f"{resource.plural}.{resource.group}")
        definition = self.client.get(CUSTOM_RESOURCE_DEFINITIONS, key)
        (version,) = definition["spec"]["versions"]
        schema = version["schema"]["openAPIV3Schema"]
        for part in (schema, schema["properties"]["spec"]):
            part.pop(RULES, None)
        self.client.replace(CUSTOM_RESOURCE_DEFINITIONS, definition)

    def _kind(self, version: KindVersion) -> KindRuntime:
        resource = resource_of(version)
        return KindRuntime(
            version=version,
            resource=resource,
            cache=_double(self),
            in_flight_reads=InFlightReads(self.woken.append),
            requeue_backoff=RequeueBackoff(
                sync_period_seconds=SYNC_SECONDS, uniform=lambda _low, _high: 1.0
            ),
            form=SingleVersionCodec(version),
            memories=ObjectMemories(),
            selections=[Selection(resource)],
            unreadable=dict,
            recorder=_double(self),
        )

    def kind_of(self, obj: JsonObject) -> KindRuntime:
        """Return an object's kind, with its memory."""
        return self._kinds[gvk_of(obj).group_kind]

    def set_period(self, obj: JsonObject, seconds: float | None) -> None:
        """Set the sync period of an object's kind, until `restart`."""
        kind = self.kind_of(obj)
        backoff = attrs.evolve(kind.requeue_backoff, sync_period_seconds=seconds)
        self._kinds[gvk_of(obj).group_kind] = attrs.evolve(
            kind, requeue_backoff=backoff
        )

    def fresh_kind(self, obj: JsonObject) -> KindRuntime:
        """Return an object's kind as in a process that has just started."""
        return self._kind(self._kinds[gvk_of(obj).group_kind].version)

    def record_write(self, obj: JsonObject) -> None:
        """Record a write for tests. Reads are always fresh, so no cache needs it."""
        self.writes.append(obj)

    def record_deletion(self, key: ObjectKey, uid: str) -> None:
        """Record a deletion for tests, as for writes."""
        self.ended.append((key, uid))

    def is_behind(self, _obj: JsonObject) -> bool:
        """Return whether the watches lag, as a test says."""
        return self.is_lagging

    def apply(self, obj: JsonObject, *, marked: bool = True) -> JsonObject:
        """Apply an object server-side.

        marked: if true, the object already has this operator's mark.
        """
        obj.setdefault("metadata", {}).setdefault("namespace", "default")
        if marked:
            notes = obj["metadata"].setdefault("annotations", {})
            notes.setdefault(OPERATOR_NAMESPACE, OPERATOR)
        return self.client.patch(
            self.resource_for(obj),
            key_of(obj),
            obj,
            kind="apply",
            field_manager="user",
            force=True,
        )

    def annotate(self, obj: JsonObject, **notes: str | None) -> JsonObject:
        """Set annotations by hand; None removes one."""
        body = {"metadata": {"annotations": notes}}
        return self.client.patch(self.resource_for(obj), _key(obj), body)

    def resource_for(self, obj: JsonObject) -> ApiResource:
        builtins = {"Secret": SECRETS, "ConfigMap": CONFIG_MAPS}
        known = builtins.get(obj["kind"]) if obj["apiVersion"] == "v1" else None
        return known or self._kinds[gvk_of(obj).group_kind].resource

    def read(self, obj: JsonObject) -> Any:
        """Return the object as the API server has it now, or None."""
        return self._read(self.resource_for(obj), _key(obj))

    def delete(self, obj: JsonObject) -> None:
        self.client.delete(self.resource_for(obj), _key(obj))

    def run(
        self,
        obj: JsonObject,
        *,
        operator: SharedDependencies | None = None,
        stale: JsonObject | None = None,
    ) -> Result:
        """Reconcile an object; return the Result.

        stale: object that a cache still has.

        The claim of a marked object, which is a reconcile of its own, and the next one
        count as one here.
        """
        if stale is not None:
            return self.run_once(obj, operator=operator, stale=stale)
        was_marked = OPERATOR_NAMESPACE in annotations(self.read(obj) or {})
        result = self.run_once(obj, operator=operator)
        if was_marked and result.priority == IN_PROGRESS_PRIORITY:
            result = self.run_once(obj, operator=operator)
        return result

    def run_once(
        self,
        obj: JsonObject,
        *,
        operator: SharedDependencies | None = None,
        stale: JsonObject | None = None,
        priority: int = 0,
    ) -> Result:
        """Reconcile an object once, as the queue would; return the Result."""
        kind = self._kinds[gvk_of(obj).group_kind]
        reader = self.reader(kind)
        if stale is not None:
            reader = _Reader(lambda _key: copy_json(stale))
        operator = operator or self.operator
        if kind.version.is_arm:
            reconciler: Reconciler = ArmReconciler(operator, kind, reader)
        else:
            outside = self.external[kind.version.group_kind]
            reconciler = ExternalReconciler(operator, kind, reader, outside)
        context = current() or Context(self.clock)
        with running(attrs.evolve(context, priority=priority)):
            return reconciler.reconcile(Request(_key(obj)))

    def reader(self, kind: KindRuntime) -> Any:
        return _Reader(lambda key: self._read(kind.resource, key))

    def settled(self, obj: JsonObject) -> JsonObject:
        """Apply an object and wait until it is Ready; return the manifest."""
        self.apply(obj)
        self.settle(obj)
        return obj

    def settle(self, obj: JsonObject, *, passes: int = 20) -> Any:
        """Reconcile until the object is Ready or gone, and move time on as each Result
        asks.
        """
        for _ in range(passes):
            result = self.run(obj)
            present = self.read(obj)
            if present is None:
                return None
            ready = self.ready(obj)
            if (
                ready
                and ready["status"] == "True"
                and ready.get("observedGeneration") == present["metadata"]["generation"]
                and "deletionTimestamp" not in present["metadata"]
            ):
                return present
            self.clock.advance(result.requeue_after_seconds or 0.0)
        message = f"not settled after {passes} passes: {self.ready(obj)}"
        raise AssertionError(message)

    def restart(self) -> None:
        """Forget all memory of a process, as a crash does."""
        self._kinds = {gk: self._kind(kind.version) for gk, kind in self._kinds.items()}

    def remembers(self, obj: JsonObject) -> bool:
        """Return whether there is any memory of an object."""
        return _key(obj) in self.kind_of(obj).memories._by_key

    def tell(self, obj: JsonObject, changed: ObjectReference, version: str) -> None:
        """Wake an object's kind as the event of a change does; see `woken`."""
        self.kind_of(obj).in_flight_reads.changed(_key(obj), changed, version)

    def ready(self, obj: JsonObject) -> Any:
        present = self.read(obj)
        status = (present or {}).get("status") or {}
        return find_ready(status.get("conditions"))

    def requests(self, method: str, fragment: str = "") -> list[Any]:
        """Return the journalled ARM requests of a method whose path contains a text."""
        return [
            r
            for r in self.azure.journal
            if r.method == method and fragment.lower() in r.path.lower()
        ]


def _double(double: object) -> Any:
    """Return an object that has of another class only what the reconciler uses."""
    return double


class _FreshKinds:
    """Caches of all kinds that lag behind nothing."""

    def __init__(self, world: World) -> None:
        self._world = world

    def running(self) -> dict[GroupKind, RunningKind]:
        return {
            group_kind: RunningKind(
                kind.version,
                _double(_FreshInformer(self._world, group_kind)),
                _double(None),
                kind.form,
                *[_double(None)] * 2,
            )
            for group_kind, kind in self._world.kinds().items()
        }

    def get(self, group_kind: GroupKind, key: ObjectKey) -> JsonObject | None:
        return self._world.operator.objects.get(group_kind, key)

    def is_installed(self, group_kind: GroupKind) -> bool:
        return self._world.operator.objects.is_installed(group_kind)

    def entries_in(self, namespace: str) -> dict[ObjectReference, Entry]:
        entries = self._world.entries().items()
        return {n: entry for n, entry in entries if n.key.namespace == namespace}


class _FreshInformer:
    def __init__(self, world: World, group_kind: GroupKind) -> None:
        self._world = world
        self._group_kind = group_kind

    def has_synced(self) -> bool:
        return True

    def by_index(self, _name: str, _value: str) -> list[ObjectKey]:
        return [
            node.key
            for node, entry in self._world.entries().items()
            if node.group_kind == self._group_kind
            and is_on(entry.annotations, DELETION_PROTECTION_ROW)
        ]

    def entry(self, key: ObjectKey) -> Entry | None:
        return self._world.entries().get(ObjectReference(self._group_kind, key))


class _FreshCache:
    """A cache of Secrets or ConfigMaps that lags behind nothing."""

    def __init__(self, world: World, resource: ApiResource) -> None:
        self._world, self._resource = world, resource

    def has_synced(self) -> bool:
        return True

    def entry(self, key: ObjectKey) -> Entry | None:
        found = self._world._read(self._resource, key)
        return None if found is None else Entry(found)


class _FreshNamespaces:
    """A cache of Namespaces that lags behind nothing."""

    def __init__(self, world: World) -> None:
        self._world = world

    def keys(self, _namespace: str) -> list[ObjectKey]:
        return [key_of(one) for one in self._world.client.list_all(NAMESPACES)]

    def has_synced(self) -> bool:
        return True

    def entry(self, key: ObjectKey) -> Entry | None:
        found = self._world._read(NAMESPACES, key)
        return None if found is None else Entry(found)

    def record_write(self, obj: JsonObject) -> None:
        """Keep nothing: every read goes to the server."""


class _Reader:
    def __init__(self, get: Callable[[ObjectKey], JsonObject | None]) -> None:
        self.get = get


class LaggingNamespaces:
    """A watch of Namespaces that is behind: the cache shows these annotations."""

    def __init__(
        self, world: World, before: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self._live = world.operator.namespace_annotations.live
        self._before = before
        self.reads = 0

    def __call__(self, _namespace: str) -> Mapping[str, str]:
        return self._before

    def live(self, namespace: str, *, since: float) -> Mapping[str, str]:
        self.reads += 1
        return self._live(namespace, since=since)


def _key(obj: JsonObject) -> ObjectKey:
    """Return an object's key. Most manifests have no namespace."""
    key = key_of(obj)
    return ObjectKey(key.namespace or "default", key.name)


def another_owner(world: World) -> JsonObject:
    """Return a reference to an owner of a foreign kind: a ConfigMap that exists."""
    meta = {"name": "release", "namespace": "default"}
    release = world.client.create(CONFIG_MAPS, {"metadata": meta})
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "release",
        "uid": uid_of(release),
    }


def resource_group(name: str = "rg", **spec: Any) -> JsonObject:
    return {
        "apiVersion": "resources.azure.com/v1api20200601",
        "kind": "ResourceGroup",
        "metadata": {"name": name},
        "spec": {"location": "westeurope", **spec},
    }


def virtual_network(name: str = "vnet", owner: str = "rg", **spec: Any) -> JsonObject:
    return {
        "apiVersion": "network.azure.com/v20250301",
        "kind": "VirtualNetwork",
        "metadata": {"name": name},
        "spec": {
            "location": "westeurope",
            "owner": {"name": owner},
            "addressSpace": {"addressPrefixes": ["10.0.0.0/16"]},
            **spec,
        },
    }


def postgres_server(name: str = "pg-db", owner: str = "rg") -> JsonObject:
    """Return a server whose password is in the Secret db-admin, key password."""
    return {
        "apiVersion": "dbforpostgresql.azure.com/v20250801",
        "kind": "FlexibleServer",
        "metadata": {"name": name},
        "spec": {
            "owner": {"name": owner},
            "location": "westeurope",
            "administratorLogin": "admin",
            "administratorLoginPassword": {"name": "db-admin", "key": "password"},
        },
    }


def role_assignment(role: str, name: str = "reads", **principal: Any) -> JsonObject:
    """Return a role assignment on the resource group rg.

    principal: principalId, or its place.
    """
    return {
        "apiVersion": "authorization.azure.com/v20220401",
        "kind": "RoleAssignment",
        "metadata": {"name": name},
        "spec": {
            "owner": {
                "group": "resources.azure.com",
                "kind": "ResourceGroup",
                "name": "rg",
            },
            "roleDefinitionReference": {"wellKnownName": role},
            **principal,
        },
    }
