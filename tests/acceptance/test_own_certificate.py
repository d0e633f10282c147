"""Webhooks without a certificate from elsewhere: the manager makes one, CRDs trust it."""

from contextlib import closing

import pytest
from operation import WAIT_SECONDS, Operation, free_port
from webhookpeers import wait_served
from world import resource_group, virtual_network

from asoreconcile.base.objects import dig, key_of
from asoreconcile.kube.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    NAMESPACES,
    SECRETS,
)
from asoreconcile.kube.selection import Selection

OLD = "network.azure.com/v1api20240301"
NAMESPACE = "azureserviceoperator-system"
FILES = {"ca.crt", "ca.key", "tls.crt", "tls.key"}


@pytest.fixture
def operation(tmp_path):
    with Operation(tmp_path) as made:
        made.client.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        yield made


def wait_told(client, count):
    """Block until so many CRDs know whom to trust."""
    stream = client.watch(CUSTOM_RESOURCE_DEFINITIONS, timeout_seconds=WAIT_SECONDS)
    labels = set()
    with closing(stream):
        for type_, obj in stream:
            path = "spec.conversion.webhook.clientConfig.caBundle"
            if type_ != "BOOKMARK" and dig(obj, path):
                labels.add(key_of(obj))
            if len(labels) == count:
                return
    pytest.fail("the CRDs were not told whom to trust")


def test_wh7_from_nothing_to_an_object_in_an_old_version(operation):
    port, client = free_port(), operation.client
    url = f"https://localhost:{port}"
    operation.start_manager(
        "--crd-pattern=resources.azure.com/*;network.azure.com/VirtualNetwork",
        *("--all-versions", f"--webhook-port={port}", f"--webhook-url={url}"),
    )
    wait_told(client, 2)
    wait_served(port, operation.manager)
    (secret,) = client.list_page(Selection(SECRETS, NAMESPACE)).items
    assert set(secret["data"]) == FILES
    network = virtual_network() | {"apiVersion": OLD}
    operation.apply(resource_group())
    operation.apply(network)
    operation.wait_ready(network)
    (put,) = operation.requests("PUT", "virtualNetworks/vnet")
    assert put.api_version == "2024-03-01"
