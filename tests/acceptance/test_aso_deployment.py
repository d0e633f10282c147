"""Azure Service Operator's Deployment starts this operator, with nothing changed in it.

Arguments, environment and grace are what ASO's manifest gives its manager (facts:
operations 1 to 3); only what one machine cannot have twice is put in their place: ports
and the folder of the certificate. The CRDs are an ASO's that came before.
"""

import json
import re
import socket
import time
import urllib.error
import urllib.request

import pytest
import yaml
from asocrds import SERVICE, aso_crd
from clusters import TARGETS, RealCluster
from operation import NAMESPACE, Operation, free_port
from world import resource_group, virtual_network

from asoreconcile.azure.catalogue.conversion import stored_name
from asoreconcile.azure.catalogue.webhook_manifests import WebhookClient
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.webhooks import WebhookOptions
from asoreconcile.base.objects import (
    GroupKind,
    ObjectKey,
    annotations,
    copy_json,
    labels,
)
from asoreconcile.kube.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    LEASES,
    NAMESPACES,
    ApiResource,
)
from asoreconcile.testing.kube import KubeServer
from asoreconcile.testing.throwaway_certificates import certificate_authority

MANIFEST = """
terminationGracePeriodSeconds: 10
containers:
- name: manager
  args:
  - --metrics-addr=0.0.0.0:8443
  - --secure-metrics=true
  - --profiling-metrics=false
  - --health-addr=:8081
  - --enable-leader-election
  - --v=2
  - --crd-pattern=resources.azure.com/*;network.azure.com/VirtualNetwork
  - --crd-labels=
  - --webhook-port=9443
  - --webhook-cert-dir=/tmp/k8s-webhook-server/serving-certs
  env:
  - {name: AZURE_CLIENT_ID, valueFrom: {secretKeyRef: {key: AZURE_CLIENT_ID}}}
  - {name: AZURE_CLIENT_SECRET, valueFrom: {secretKeyRef: {key: AZURE_CLIENT_SECRET}}}
  - {name: AZURE_TENANT_ID, valueFrom: {secretKeyRef: {key: AZURE_TENANT_ID}}}
  - {name: AZURE_SUBSCRIPTION_ID, valueFrom: {secretKeyRef: {key: AZURE_SUBSCRIPTION_ID}}}
  - {name: AZURE_CLIENT_CERTIFICATE, value: ""}
  - {name: AZURE_CLIENT_CERTIFICATE_PASSWORD, value: ""}
  - {name: AZURE_ADDITIONAL_TENANTS, value: ""}
  - {name: AZURE_AUTHORITY_HOST, valueFrom: {secretKeyRef: {key: AZURE_AUTHORITY_HOST}}}
  - {name: AZURE_RESOURCE_MANAGER_ENDPOINT, valueFrom: {secretKeyRef: {key: AZURE_RESOURCE_MANAGER_ENDPOINT}}}
  - {name: AZURE_RESOURCE_MANAGER_AUDIENCE, valueFrom: {secretKeyRef: {key: AZURE_RESOURCE_MANAGER_AUDIENCE}}}
  - {name: AZURE_TARGET_NAMESPACES, value: ""}
  - {name: AZURE_OPERATOR_MODE, value: ""}
  - {name: AZURE_SYNC_PERIOD, value: ""}
  - {name: AZURE_USER_AGENT_SUFFIX, value: ""}
  - {name: ALLOW_MULTI_ENV_MANAGEMENT, value: "false"}
  - {name: USE_WORKLOAD_IDENTITY_AUTH, value: "false"}
  - {name: MAX_CONCURRENT_RECONCILES, value: "4"}
  - {name: RATE_LIMIT_MODE, value: disabled}
  - {name: RATE_LIMIT_QPS, value: "5"}
  - {name: RATE_LIMIT_BUCKET_SIZE, value: "100"}
  - {name: POD_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
"""
GROUP = builtin().kind(GroupKind("resources.azure.com", "ResourceGroup"))
VNET = builtin().kind(GroupKind("network.azure.com", "VirtualNetwork"))
LEASE = ObjectKey(NAMESPACE, "controllers-leader-election-azinfra-generated")


PREFIX = "serviceoperator.azure.com/"
ID = "/subscriptions/S/resourceGroups/rg"
NETWORK_ID = f"{ID}/providers/Microsoft.Network/virtualNetworks/vnet"
# Values that ASO writes into a child's metadata, except its build.
MARKS = {
    "ownerReferences": [
        {
            "apiVersion": f"resources.azure.com/{stored_name(GROUP)}",
            "kind": "ResourceGroup",
            "name": "rg",
            "uid": "the owner's",
        }
    ],
    "finalizers": [f"{PREFIX}finalizer"],
    "labels": {
        f"{PREFIX}owner-name": "rg",
        f"{PREFIX}owner-group-kind": "ResourceGroup.resources.azure.com",
        f"{PREFIX}owner-uid": "the owner's",
        f"{PREFIX}last-reconciled-version": "asoreconcile",
    },
    "annotations": {
        f"{PREFIX}latest-reconciled-generation": "1",
        f"{PREFIX}operator-namespace": NAMESPACE,
        f"{PREFIX}resource-id": NETWORK_ID,
    },
}
# Source, kind, reason, type and text.
EVENTS = {
    (source, kind, *rest)
    for source, kind, arm_id in (
        ("resources_resourcegroup", "ResourceGroup", ID),
        ("network_virtualnetwork", "VirtualNetwork", NETWORK_ID),
    )
    for rest in (
        (
            "CredentialFrom",
            "Normal",
            f'Using credential from "{NAMESPACE}/aso-controller-settings"',
        ),
        (
            "BeginCreateOrUpdate",
            "Normal",
            f'Successfully sent resource to Azure with ID "{arm_id}"',
        ),
    )
}


def marks(operation, obj, owner):
    """Return the operator's values in metadata, with each uid and build replaced by its
    meaning.
    """
    meta = obj["metadata"]
    found = {name: meta.get(name) for name in MARKS}
    # Records of ours have a prefix that no other program reads.
    found["annotations"] = {
        name: value
        for name, value in annotations(obj).items()
        if not name.startswith("asoreconcile/")
    }
    text = json.dumps(found)
    text = text.replace(owner["metadata"]["uid"], "the owner's")
    text = text.replace(operation.azure.settings()["AZURE_SUBSCRIPTION_ID"], "S")
    return json.loads(re.sub(r"asoreconcile-[0-9.]+", "asoreconcile", text))


def events(operation):
    subscription = operation.azure.settings()["AZURE_SUBSCRIPTION_ID"]
    found = set()
    for event in operation.events():
        about = event["involvedObject"]
        found.add(
            (
                event["source"]["component"],
                about["kind"],
                event["reason"],
                event["type"],
                event["message"].replace(subscription, "S"),
            )
        )
    return found


def at(kind, version):
    group, name = kind.group_kind.group, kind.group_kind.kind
    return ApiResource(group=group, version=version, plural=kind.plural, kind=name)


@pytest.fixture(params=TARGETS)
def made(request, tmp_path):
    """An operation whose API server finds ASO's Service, and its port."""
    port = free_port()
    if request.param == "embedded":
        named = f"{SERVICE.namespace}/{SERVICE.name}"
        cluster = KubeServer(services={named: f"127.0.0.1:{port}"})
    else:
        cluster = RealCluster("--enable-aggregator-routing=true")
    with Operation(tmp_path, cluster=cluster) as operation:
        operation.client.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        if request.param != "embedded":
            route(operation.client, port)
        yield operation, port


def route(client, port):
    """ASO's Service with this machine behind it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            pytest.skip("this machine has no address but the loopback's")
        address = probe.getsockname()[0]
    ports = [{"name": "webhooks", "port": 443, "targetPort": port}]
    client.create(
        ApiResource("", "v1", "services", "Service"),
        {
            "metadata": {"namespace": NAMESPACE, "name": SERVICE.name},
            "spec": {"ports": ports},
        },
    )
    client.create(
        ApiResource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice"),
        {
            "metadata": {
                "namespace": NAMESPACE,
                "name": SERVICE.name,
                "labels": {"kubernetes.io/service-name": SERVICE.name},
            },
            "addressType": "IPv4",
            "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
            "ports": [{"name": "webhooks", "port": port, "protocol": "TCP"}],
        },
    )


def certificate(folder):
    """Make the files that cert-manager mounts, and the client configuration for ASO's
    CRDs.
    """
    authority = certificate_authority()
    folder.mkdir()
    pair = authority.issue([f"{SERVICE.name}.{SERVICE.namespace}.svc"])
    names = ("tls.crt", "tls.key", "ca.crt")
    for name, pem in zip(names, (*pair, authority.pem), strict=True):
        (folder / name).write_bytes(pem)
    named = f"{SERVICE.namespace}/{SERVICE.name}"
    options = WebhookOptions(address=":1", cert_dir=folder, service=named)
    return options.client()


def arguments(port, folder, health):
    (container,) = yaml.safe_load(MANIFEST)["containers"]
    places = {
        "0.0.0.0:8443": f"127.0.0.1:{free_port()}",
        ":8081": f"127.0.0.1:{health}",
        "9443": str(port),
        "/tmp/k8s-webhook-server/serving-certs": str(folder),
    }
    for argument in container["args"]:
        name, equals, value = argument.partition("=")
        yield f"{name}{equals}{places.get(value, value)}"


def environment(operation):
    (container,) = yaml.safe_load(MANIFEST)["containers"]
    secret = operation.azure.settings()
    for entry in container["env"]:
        reference = entry.get("valueFrom", {}).get("secretKeyRef")
        if reference:
            yield entry["name"], secret.get(reference["key"], "")
        elif "value" in entry:
            yield entry["name"], entry["value"]


def start(operation, port, folder):
    """Start it, and wait until it is ready. Nothing of it is ours but where the two
    servers are.
    """
    given = dict(environment(operation))
    theirs = {n for n in operation.azure.settings() if n.startswith("AZURE_")}
    assert not theirs - set(given)
    health = free_port()
    operation.start_manager(*arguments(port, folder, health), **given)
    while not is_ready(health):  # the test's time limit ends it
        operation.manager.check()


def is_ready(health):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{health}/readyz") as answer:
            return answer.status == 200
    except urllib.error.HTTPError as refused:
        with refused:
            return False
    except urllib.error.URLError:
        return False


def stored_group(name):
    """An object as ASO keeps it."""
    return {
        "apiVersion": f"resources.azure.com/{stored_name(GROUP)}",
        "kind": "ResourceGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "azureName": name,
            "location": "westeurope",
            "originalVersion": "v1api20200601",
        },
    }


def test_aso_s_manifest_starts_this_operator_and_the_stop_fits_its_grace(made):
    operation, port = made
    folder = operation.folder / "serving-certs"
    client: WebhookClient = certificate(folder)
    create = operation.client.create
    group = create(
        CUSTOM_RESOURCE_DEFINITIONS, copy_json(aso_crd(GROUP, client=client))
    )
    older = aso_crd(VNET, VNET.versions[:2], build="v2.5.0", client=client)
    create(CUSTOM_RESOURCE_DEFINITIONS, copy_json(older))
    operation.wait_served(
        resource_group(),
        virtual_network() | {"apiVersion": f"network.azure.com/{VNET.versions[0]}"},
    )
    create(at(GROUP, stored_name(GROUP)), stored_group("rg"))
    start(operation, port, folder)

    operation.wait_ready(resource_group())

    # ASO's CRD is run as it is, and the one of its older release got what it lacked.
    (puts,) = operation.requests("PUT", "resourceGroups/rg")
    assert puts.api_version == "2020-06-01"
    key = ObjectKey("", f"{GROUP.plural}.{GROUP.group}")
    found = operation.client.get(CUSTOM_RESOURCE_DEFINITIONS, key)
    assert found["metadata"]["generation"] == group["metadata"]["generation"]
    assert labels(found) == labels(group)
    key = ObjectKey("", f"{VNET.plural}.{VNET.group}")
    found = operation.client.get(CUSTOM_RESOURCE_DEFINITIONS, key)
    assert labels(found)["app.kubernetes.io/version"].startswith("asoreconcile-")
    # Its objects stay stored as that release can read them.
    assert stored_name(VNET) not in found["status"]["storedVersions"]

    # The marks by which tools and alerts know ASO's objects.
    network = virtual_network()
    operation.wait_served(network)
    operation.apply(network)
    child = operation.wait_ready(network)
    owner = operation.read(resource_group())
    assert marks(operation, child, owner) == MARKS
    assert events(operation) == EVENTS

    # A write that gets no answer does not hold up the stop, nor the lease.
    held = operation.azure.faults.hold(method="PUT", path="virtualNetworks/vnet")
    operation.edit(network, {"spec": {"tags": {"a": "b"}}})
    assert held.wait_arrived(30.0), operation.logs()[-6000:]
    assert operation.client.get(LEASES, LEASE)["spec"]["holderIdentity"]
    begun = time.monotonic()
    code = operation.manager.end(grace_seconds=30)
    seconds = time.monotonic() - begun
    grace = yaml.safe_load(MANIFEST)["terminationGracePeriodSeconds"]
    assert seconds < grace, operation.logs()[-3000:]
    assert code == 0, operation.logs()[-3000:]
    assert not operation.client.get(LEASES, LEASE)["spec"].get("holderIdentity")
    held.release()
