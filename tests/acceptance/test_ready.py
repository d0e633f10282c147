"""What readiness promises: it is said when it is true, and says what is waited for."""

import base64
import urllib.error
import urllib.request

import pytest
from operation import Operation, free_port
from world import resource_group, virtual_network

from asoreconcile.azure.controllers import crds
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base.objects import GroupKind, ObjectKey, dig, key_of
from asoreconcile.kube.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    NAMESPACES,
    SECRETS,
)

VNET = builtin().kind(GroupKind("network.azure.com", "VirtualNetwork"))
OLD, NEW = VNET.versions[0], VNET.storage
NAMESPACE = "azureserviceoperator-system"
SERVING = ObjectKey(NAMESPACE, "asoreconcile-webhook-certificate")
BUNDLE = "spec.conversion.webhook.clientConfig.caBundle"
PATTERN = "resources.azure.com/*;network.azure.com/VirtualNetwork"


@pytest.fixture
def operation(tmp_path):
    with Operation(tmp_path) as made:
        made.client.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        yield made


def readiness(port):
    """The status and the text of `/readyz?verbose`; 0 while nobody answers."""
    url = f"http://127.0.0.1:{port}/readyz?verbose"
    try:
        with urllib.request.urlopen(url) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()
    except urllib.error.URLError:
        return 0, ""


def wait_ready(port):
    """Ask until it is ready; the test's time limit ends it."""
    while True:
        status, text = readiness(port)
        if status == 200:
            return text


def serve_webhooks(operation, *arguments):
    """Start a manager whose webhooks an API server can call; its port for probes."""
    port, health = free_port(), free_port()
    operation.start_manager(
        *("--all-versions", f"--crd-pattern={PATTERN}"),
        *(f"--webhook-port={port}", f"--webhook-url=https://localhost:{port}"),
        f"--health-addr=127.0.0.1:{health}",
        *arguments,
    )
    return health


@pytest.mark.parametrize("arguments", [(), ("--enable-leader-election",)], ids=str)
def test_who_is_ready_has_installed_and_told_all_crds(operation, arguments):
    """The first `kubectl apply` after it must not fail with `x509`."""
    health = serve_webhooks(operation, *arguments)
    text = wait_ready(health)
    authority = operation.client.get(SECRETS, SERVING)["data"]["ca.crt"]
    definitions = operation.client.list_page(CUSTOM_RESOURCE_DEFINITIONS).items
    assert len(definitions) == 2
    assert {dig(obj, BUNDLE) for obj in definitions} == {authority}
    assert "[+]conversion ok\n    no object whose conversion" in text
    network = virtual_network() | {"apiVersion": f"network.azure.com/{OLD}"}
    operation.apply(network)  # converted, at once


def test_who_comes_back_is_ready_once_a_conversion_was_answered(operation):
    """Another certificate than the CRDs trust is what an API server's call would meet."""
    health = serve_webhooks(operation)
    wait_ready(health)
    operation.apply(resource_group())
    operation.apply(virtual_network())
    operation.wait_ready(virtual_network())
    assert operation.manager.end() == 0
    operation.client.delete(SECRETS, SERVING)  # a new one is made
    health = serve_webhooks(operation)
    text = wait_ready(health)
    assert "was answered" in text
    authority = operation.client.get(SECRETS, SERVING)["data"]["ca.crt"]
    definitions = operation.client.list_page(CUSTOM_RESOURCE_DEFINITIONS).items
    assert {dig(obj, BUNDLE) for obj in definitions} <= {authority, None}


def test_crds_of_another_operator_s_webhooks_are_left_alone(operation):
    """Two that write one caBundle would break conversion in the whole cluster."""
    theirs = base64.b64encode(b"their authority").decode()
    document = crds.manifest(VNET)
    document["spec"]["conversion"] = {
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": {
                "service": {"namespace": "other", "name": "other", "path": "/convert"},
                "caBundle": theirs,
            },
            "conversionReviewVersions": ["v1"],
        },
    }
    operation.client.create(CUSTOM_RESOURCE_DEFINITIONS, document)
    port, health = free_port(), free_port()
    operation.start_manager(
        *(f"--webhook-port={port}", f"--webhook-url=https://localhost:{port}"),
        f"--health-addr=127.0.0.1:{health}",
    )
    wait_ready(health)
    found = operation.client.get(CUSTOM_RESOURCE_DEFINITIONS, key_of(document))
    assert dig(found, BUNDLE) == theirs
    assert operation.log_records("Another server is called")


def test_a_kind_that_changes_version_waits_for_its_last_reconcile(operation):
    """Two reconciles of one object at once would PUT against each other."""
    before, after = crds.manifest(VNET, OLD), crds.manifest(VNET, NEW)
    network = virtual_network() | {"apiVersion": f"network.azure.com/{OLD}"}
    operation.install(resource_group(), network)
    health = free_port()
    operation.start_manager(f"--health-addr=127.0.0.1:{health}")
    operation.apply(resource_group())
    put = operation.azure.faults.hold(method="PUT", path="virtualNetworks/vnet")
    operation.apply(network)
    assert put.wait_arrived(60)
    (added,) = after["spec"]["versions"]
    versions = [{**added, "storage": False}, *before["spec"]["versions"]]
    operation.client.patch(
        CUSTOM_RESOURCE_DEFINITIONS, key_of(before), {"spec": {"versions": versions}}
    )
    while "waits for its last reconcile" not in readiness(health)[1]:
        pass
    assert len(operation.requests("PUT", "virtualNetworks/vnet")) <= 1
    put.release()
    operation.wait_ready(network)
    while "waits for its last reconcile" in readiness(health)[1]:
        pass
    (ended,) = operation.log_records("The last reconcile has ended")
    assert ended["kind"] == "VirtualNetwork.network.azure.com"
    starts = [record["kind"] for record in operation.log_records("Starting kind")]
    assert len([kind for kind in starts if "VirtualNetwork" in kind]) == 2
