"""A cluster that ASO itself ran, its own program, is taken over, and given back.

`hack/aso` builds the program and its CRDs from the Go module and prints their folder;
without it (ASO_ASSETS) these tests are skipped. Both operators run against the same API
server and the same Azure, one after the other.
"""

import base64
import os
import signal
import subprocess
from pathlib import Path

import pytest
import yaml
from asocrds import SERVICE
from clusters import TARGETS, RealCluster
from operation import NAMESPACE, Operation, free_port, resource_for
from test_aso_deployment import arguments, environment, is_ready, route

from asoreconcile.azure.reconcile.model.annotations import POLLER_TOKEN
from asoreconcile.azure.reconcile.model.drift_baseline import OBSERVED
from asoreconcile.base.objects import annotations, copy_json, key_of, labels
from asoreconcile.kube.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    NAMESPACES,
    ApiResource,
)
from asoreconcile.testing.kube import KubeServer
from asoreconcile.testing.throwaway_certificates import certificate_authority

ASSETS = Path(os.environ.get("ASO_ASSETS", "/nonexistent"))
pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        not (ASSETS / "controller").exists(),
        reason="ASO_ASSETS names no folder with ASO's program: see hack/aso",
    ),
]
ESTATE = """
apiVersion: resources.azure.com/v1api20200601
kind: ResourceGroup
metadata: {name: shop}
spec: {location: westeurope, tags: {team: shop}}
---
apiVersion: network.azure.com/v1api20201101
kind: VirtualNetwork
metadata: {name: network}
spec:
  owner: {name: shop}
  location: westeurope
  addressSpace: {addressPrefixes: [10.20.0.0/16]}
---
apiVersion: network.azure.com/v1api20240301
kind: VirtualNetworksSubnet
metadata: {name: web}
spec: {owner: {name: network}, addressPrefix: 10.20.1.0/24}
---
apiVersion: network.azure.com/v1api20240301
kind: PublicIPAddress
metadata: {name: address}
spec:
  owner: {name: shop}
  location: westeurope
  sku: {name: Standard}
  publicIPAllocationMethod: Static
  ddosSettings: {protectionMode: Enabled}
---
apiVersion: storage.azure.com/v1api20230101
kind: StorageAccount
metadata: {name: shoporders2026}
spec:
  owner: {name: shop}
  location: westeurope
  kind: StorageV2
  sku: {name: Standard_LRS, tier: Standard}
  accessTier: Hot
  operatorSpec:
    secrets:
      key1: {name: storage-keys, key: one}
    configMaps:
      blobEndpoint: {name: storage-places, key: blob}
---
apiVersion: managedidentity.azure.com/v1api20230131
kind: UserAssignedIdentity
metadata: {name: app}
spec:
  owner: {name: shop}
  location: westeurope
  operatorSpec:
    configMaps:
      principalId: {name: app-identity, key: principal}
---
apiVersion: authorization.azure.com/v1api20220401
kind: RoleAssignment
metadata: {name: app-reads}
spec:
  owner: {group: storage.azure.com, kind: StorageAccount, name: shoporders2026}
  principalType: ServicePrincipal
  principalIdFromConfig: {name: app-identity, key: principal}
  roleDefinitionReference:
    wellKnownName: Reader
---
apiVersion: servicebus.azure.com/v1api20211101
kind: Namespace
metadata: {name: shopbus2026}
spec:
  owner: {name: shop}
  location: westeurope
  sku: {name: Standard, tier: Standard}
  operatorSpec:
    secrets:
      endpoint: {name: bus, key: endpoint}
---
apiVersion: documentdb.azure.com/v1api20210515
kind: DatabaseAccount
metadata: {name: shopdocs2026}
spec:
  owner: {name: shop}
  location: westeurope
  kind: GlobalDocumentDB
  databaseAccountOfferType: Standard
  locations: [{locationName: westeurope, failoverPriority: 0}]
  networkAclBypassResourceIds: []
"""
OBJECTS = list(yaml.safe_load_all(ESTATE))
for one in OBJECTS:
    one["metadata"]["namespace"] = "default"
GROUP, _, SUBNET, _, ACCOUNT, *_ = OBJECTS


class Aso:
    """ASO's own program, and where its webhooks are."""

    def __init__(self, operation, port):
        self.operation = operation
        self.port = port
        self.folder = folder = operation.folder / "serving-certs"
        folder.mkdir()
        authority = certificate_authority()
        pair = authority.issue([f"{SERVICE.name}.{SERVICE.namespace}.svc"])
        for name, pem in zip(("tls.crt", "tls.key"), pair, strict=True):
            (folder / name).write_bytes(pem)
        (folder / "ca.crt").write_bytes(authority.pem)
        self.bundle = base64.b64encode(authority.pem).decode()
        self._machine = operation.azure.machine(own=operation.azure.client_id)
        self._machine.start()
        self._process = None
        self._starts = 0

    def install(self, objs):
        """Its CRDs of the kinds of some objects, and its admission webhooks."""
        self._names = {f"{r.plural}.{r.group}" for r in map(resource_for, objs)}
        for crd in self._crds():
            self.operation.client.create(CUSTOM_RESOURCE_DEFINITIONS, crd)
        groups = {resource.group for resource in map(resource_for, objs)}
        for path in sorted(ASSETS.glob("hooks-*/manifests.yaml")):
            for found in yaml.safe_load_all(path.read_text()):
                self._configure(found, path.parent.name, groups)

    def put_crds_back(self):
        """As it does itself at a start where `--crd-management` is `auto`."""
        for crd in self._crds():
            self.operation.client.patch(
                CUSTOM_RESOURCE_DEFINITIONS,
                key_of(crd),
                {"metadata": {"labels": labels(crd)}, "spec": crd["spec"]},
            )

    def _crds(self):
        for path in sorted((ASSETS / "crds").glob("*.yaml")):
            crd = yaml.safe_load(path.read_text())
            if crd["metadata"]["name"] not in self._names:
                continue
            crd["metadata"]["labels"] = {
                "app.kubernetes.io/name": "azure-service-operator",
                "app.kubernetes.io/version": "v2.20.0",
            }
            client = self._client("/convert")
            crd["spec"]["conversion"] = {
                "strategy": "Webhook",
                "webhook": {
                    "conversionReviewVersions": ["v1"],
                    "clientConfig": client,
                },
            }
            yield crd

    def _client(self, path):
        service = {"namespace": NAMESPACE, "name": SERVICE.name, "path": path}
        return {"service": {**service, "port": 443}, "caBundle": self.bundle}

    def _configure(self, found, name, groups):
        hooks = [
            hook
            for hook in found["webhooks"]
            if set(hook["rules"][0]["apiGroups"]) & groups
        ]
        for hook in hooks:
            path = hook["clientConfig"]["service"]["path"]
            hook["clientConfig"] = self._client(path)
        kind = found["kind"]
        plural = kind.lower() + "s"
        found["metadata"]["name"] = f"{name}-{kind.lower()}"
        found["webhooks"] = hooks
        resource = ApiResource("admissionregistration.k8s.io", "v1", plural, kind)
        self.operation.client.create(resource, found)

    def start(self):
        """Start it, and wait until it is ready."""
        health = free_port()
        self._starts += 1
        trusted = self.folder / "trusted.pem"
        trusted.write_bytes((self.operation.folder / "azure-ca.pem").read_bytes())
        arguments = (
            "--crd-management=none",
            f"--webhook-port={self.port}",
            f"--webhook-cert-dir={self.folder}",
            f"--health-addr=127.0.0.1:{health}",
        )
        log = self.operation.folder / f"manager-aso-{self._starts}.log"
        given = {**os.environ, **self.operation.environment()}
        # Its way of signing in with a secret asks login.microsoftonline.com first.
        del given["AZURE_CLIENT_SECRET"]
        given |= self._machine.app_service_environment
        with log.open("wb") as written:
            self._process = subprocess.Popen(
                [ASSETS / "controller", *arguments],
                env={**given, "SSL_CERT_FILE": str(trusted)},
                stdout=written,
                stderr=subprocess.STDOUT,
            )
        while not is_ready(health):  # the test's time limit ends it
            assert self._process.poll() is None, log.read_text()[-3000:]

    def stop(self):
        """Ask it to end, as a cluster would; it does."""
        self._process.send_signal(signal.SIGTERM)
        assert self._process.wait(60) == 0

    def kill(self):
        """It gets no chance to write anything."""
        self._process.kill()
        self._process.wait(60)

    def close(self):
        """End what there is of it."""
        if self._process is not None:
            self.kill()
        self._machine.close()


@pytest.fixture(params=TARGETS)
def aso(request, tmp_path):
    """ASO, not started, in a cluster that finds the Service of its webhooks."""
    port = free_port()
    if request.param == "embedded":
        named = f"{SERVICE.namespace}/{SERVICE.name}"
        cluster = KubeServer(services={named: f"127.0.0.1:{port}"})
    else:
        cluster = RealCluster("--enable-aggregator-routing=true")
    with Operation(tmp_path, lro=1.0, cluster=cluster) as operation:
        operation.client.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        if request.param != "embedded":
            route(operation.client, port)
        made = Aso(operation, port)
        yield made
        made.close()


def start_ours(aso):
    """Start our manager by ASO's own manifest, and wait until it is ready."""
    operation, health = aso.operation, free_port()
    given = [
        "--crd-pattern=" if argument.startswith("--crd-pattern") else argument
        for argument in arguments(aso.port, aso.folder, health)
    ]
    operation.start_manager(*given, **dict(environment(operation)))
    while not is_ready(health):  # the test's time limit ends it
        operation.manager.check()


def test_what_aso_made_is_taken_over_and_given_back(aso):
    operation = aso.operation
    aso.install(OBJECTS)
    aso.start()
    for obj in OBJECTS:
        operation.apply(copy_json(obj))
    before = {key_of(obj): operation.wait_ready(obj) for obj in OBJECTS}
    aso.stop()
    made = len(operation.requests("PUT"))

    start_ours(aso)
    for obj in OBJECTS:
        operation.wait_for(obj, is_read_by_us)
    for obj in OBJECTS:
        after = operation.wait_ready(obj)
        was = before[key_of(obj)]
        assert after["spec"] == was["spec"]
        assert after["status"]["id"] == was["status"]["id"]
        assert ready_since(after) == ready_since(was)
        for field in ("finalizers", "ownerReferences"):
            assert after["metadata"].get(field) == was["metadata"].get(field)
    assert [r.path for r in operation.requests("PUT")[made:]] == []
    # Our own work on what ASO made: an edit, a deletion, one more.
    operation.edit(GROUP, {"spec": {"tags": {"team": "ours"}}})
    operation.wait_ready(GROUP)
    operation.delete(SUBNET)
    operation.wait_gone(SUBNET)
    operation.apply(copy_json(SUBNET))
    operation.wait_ready(SUBNET)
    assert operation.manager.end() == 0

    aso.put_crds_back()
    aso.start()
    for obj in OBJECTS:
        # A period of its own comes with each start: it writes what it finds.
        edit = {"metadata": {"annotations": {"example.com/seen": "yes"}}}
        operation.edit(obj, edit)
        back = operation.wait_ready(obj)
        assert back["spec"] == operation.read(obj)["spec"]
    operation.edit(GROUP, {"spec": {"tags": {"team": "theirs"}}})
    operation.wait_ready(GROUP)
    for obj in reversed(OBJECTS):
        operation.delete(obj)
    for obj in OBJECTS:
        operation.wait_gone(obj)
    assert operation.azure.resources() == {}


def is_read_by_us(obj):
    """Return whether our operator has noted a read of the resource at the object."""
    return obj is not None and OBSERVED in annotations(obj)


def ready_since(obj):
    """Return when the object became Ready: an operator that takes over keeps this
    time.
    """
    (ready,) = obj["status"]["conditions"]
    return ready["lastTransitionTime"]


def group_deletes(operation, name):
    """Return the DELETEs of the group itself, not of resources in it."""
    return [
        request
        for request in operation.requests("DELETE", "/resourceGroups/")
        if request.path.endswith(f"/{name}")
    ]


def is_under_way(obj):
    return obj is not None and POLLER_TOKEN in annotations(obj)


def test_an_operation_goes_on_whoever_began_it_and_died(aso):
    operation = aso.operation
    aso.install([GROUP, ACCOUNT])
    aso.start()
    operation.apply(copy_json(GROUP))
    operation.wait_ready(GROUP)
    operation.apply(copy_json(ACCOUNT))
    operation.wait_for(ACCOUNT, is_under_way)
    aso.kill()
    start_ours(aso)
    operation.wait_ready(ACCOUNT)
    assert len(operation.requests("PUT", "storageAccounts/")) == 1

    operation.delete(GROUP)
    operation.wait_for(GROUP, is_under_way)
    operation.kill_manager()
    aso.put_crds_back()
    aso.start()
    operation.wait_gone(GROUP)
    # Its account's object is collected then, which ASO may still look after.
    assert len(group_deletes(operation, "shop")) == 1

    depot = {**GROUP, "metadata": {"name": "depot", "namespace": "default"}}
    operation.apply(copy_json(depot))
    operation.wait_ready(depot)
    operation.delete(depot)
    operation.wait_for(depot, is_under_way)
    aso.kill()
    start_ours(aso)
    operation.wait_gone(depot)
    assert len(group_deletes(operation, "depot")) == 1
