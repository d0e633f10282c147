"""Runs what the operator's pages show as printed, with one running operator.

The embedded API server calls its webhooks by their Service, so what a page says is
refused is refused here too.
"""

import os
import re
import shlex
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
import yaml
from blocks import shown
from operation import NAMESPACE, Operation, free_port, resource_for
from world import resource_group, virtual_network

from asoreconcile.azure.reconcile.model.annotations import RECONCILED_AT
from asoreconcile.base.objects import annotations, key_of
from asoreconcile.kube.resources import NAMESPACES
from asoreconcile.testing.arm import ArmServer
from asoreconcile.testing.kube import KubeServer

SUBSCRIPTION = "00000000-0000-0000-0000-000000000000"
SERVICE = f"{NAMESPACE}/webhooks"
KINDS = (
    "resources.azure.com/ResourceGroup;network.azure.com/VirtualNetwork;cache.azure.com/Redis;"
    "containerservice.azure.com/ManagedCluster;entra.azure.com/*;"
    "dbforpostgresql.azure.com/FlexibleServer;authorization.azure.com/*"
)
SHOP = {"name": "shop", "namespace": "default"}
OWNERSHIP = "deploy/docs/ownership.md"
VERSIONS = ("deploy/README.md", "Several versions of a kind")


@pytest.fixture(scope="module")
def metrics():
    """The address of the operator's metrics."""
    return f"127.0.0.1:{free_port()}"


@pytest.fixture(scope="module")
def operation(tmp_path_factory, metrics):
    """The cluster, and an Azure that has the group `shop` with a cache in it."""
    port = free_port()
    cluster = KubeServer(services={SERVICE: f"127.0.0.1:{port}"})
    azure = ArmServer(subscription_id=SUBSCRIPTION)
    folder = tmp_path_factory.mktemp("operation")
    with Operation(folder, cluster=cluster, azure=azure) as started:
        started.client.create(NAMESPACES, {"metadata": {"name": "shop"}})
        group = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/shop"
        azure.seed(group, {"location": "westeurope"})
        cache = f"{group}/providers/Microsoft.Cache/redis/sessions"
        sku = {"name": "Basic", "family": "C", "capacity": 0}
        azure.seed(cache, {"location": "westeurope", "properties": {"sku": sku}})
        started.start_manager(*printed_options(metrics, str(port)))
        group, network = resource_group("shop"), virtual_network("shop", owner="shop")
        started.wait_served(group, network, *manifests())
        shell(started, named(shown(*VERSIONS)[1]))
        started.apply_once_trusted(group)
        started.apply_once_trusted(network)
        started.wait_ready(network)
        yield started


def printed_options(metrics, port):
    """The options of both commands that start an operator, with kinds of our own."""
    _, _, first = shown("README.md", "Run it against Azure")[0].partition("\n")
    found = []
    for text in (first, shown(*VERSIONS)[0]):
        words = shlex.split(named(text).replace("\\\n", ""))
        found += words[words.index("manager") + 1 :]
    places = {
        ":8080": metrics,
        ":8081": f"127.0.0.1:{free_port()}",
        "9443": port,
        "network.azure.com/*": KINDS,
    }
    assert places.keys() <= set(found)
    return [places.get(word, word) for word in found]


def named(text):
    return text.replace("NAMESPACE/NAME", SERVICE)


def manifests():
    """The objects that pages show as a whole."""
    entra = "deploy/docs/entra.md"
    places = (
        (entra, "Groups and applications of Microsoft Entra"),
        (entra, "Applications and service principals"),
        (OWNERSHIP, "A resource that is there before the object"),
    )
    return [obj for one in places for obj in yaml.safe_load_all(shown(*one)[0])]


def shell(operation, commands, *, code=0, given=None):
    """Run commands in an empty folder, as the administrator; returns what they print."""
    folder = operation.folder / "empty"
    folder.mkdir(exist_ok=True)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=folder,
        env={**os.environ, **operation.environment(), "PATH": path},
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.usefixtures("operation")
def test_the_printed_options_start_an_operator(metrics):
    with urllib.request.urlopen(f"http://{metrics}/metrics") as answer:
        assert b"controller_runtime_reconcile_total" in answer.read()


def test_single_crds_are_installed(tmp_path):
    _, command = shown("deploy/README.md", "Into a cluster")
    with Operation(tmp_path) as other:
        said = shell(other, command.replace("/*'", "/virtualnetwork*'"))
    assert "virtualnetworks.network.azure.com serverside-applied" in said


def test_a_scraper_may_read_the_metrics(tmp_path):
    command, _ = shown("deploy/README.md", "Metrics")
    account = "monitoring:prometheus"
    with Operation(tmp_path, cluster=KubeServer(rbac=True)) as other:
        review = "kubectl auth can-i get /metrics --as system:serviceaccount:"
        assert "no" in shell(other, review + account, code=1)
        shell(other, command.replace("NAMESPACE:SCRAPER", account))
        assert "yes" in shell(other, review + account)


def test_a_protected_object_is_not_deleted(operation):
    orders = {
        "apiVersion": "dbforpostgresql.azure.com/v20250801",
        "kind": "FlexibleServer",
        "metadata": {"name": "orders"},
        "spec": {"owner": {"name": "shop"}, "location": "westeurope"},
    }
    inside = resource_group("inside")
    inside["metadata"]["namespace"] = "shop"
    operation.apply(orders)
    operation.apply(inside)
    (command,) = shown(OWNERSHIP, "Keep a resource from being deleted")
    shell(operation, command)
    said = shell(operation, "kubectl delete flexibleserver orders", code=1)
    assert "asoreconcile/deletion-protection" in said
    said = shell(operation, "kubectl delete resourcegroup inside -n shop", code=1)
    assert "Namespace" in said
    shell(operation, "kubectl annotate ns shop asoreconcile/deletion-protection-")
    shell(operation, "kubectl delete resourcegroup inside -n shop --wait=false")


def test_a_field_that_is_not_there_is_refused(operation):
    cluster = {
        "apiVersion": "containerservice.azure.com/v1api20240901",
        "kind": "ManagedCluster",
        "metadata": {"name": "shop"},
        "spec": {"owner": {"name": "shop"}, "location": "westeurope"},
    }
    operation.apply(cluster)
    (command,) = shown(OWNERSHIP, "Fields that you set once")
    assert "annotated" in shell(operation, command)
    wrong = command.replace("costcenter", "costcenter, spec.tgs").replace(
        "annotate", "annotate --overwrite"
    )
    assert "spec.tags" in shell(operation, wrong, code=1)


def test_an_object_is_reconciled_now(operation):
    command, _ = shown(OWNERSHIP, "Your own pace")
    network = virtual_network("shop", owner="shop")
    shell(operation, command)
    asked = annotations(operation.read(network))["asoreconcile/reconcile-at"]
    operation.wait_for(network, lambda o: annotations(o).get(RECONCILED_AT) == asked)


def test_a_window_that_cannot_be_read_is_refused(operation):
    """The printed one is taken."""
    _, command = shown(OWNERSHIP, "Your own pace")
    shell(operation, command)
    wrong = command.replace("sat,sun", "sat,sum").replace(
        "namespace/shop", "resourcegroup/shop --overwrite"
    )
    assert "sum" in shell(operation, wrong, code=1)
    shell(
        operation, "kubectl annotate namespace shop asoreconcile/maintenance-windows-"
    )


def test_an_observed_resource_is_only_read(operation):
    """The manifest lacks fields that its CRD requires."""
    *_, cache = manifests()
    shell(operation, "kubectl apply -f -", given=yaml.safe_dump(cache))
    found = operation.wait_ready(cache)
    assert "asoreconcile/placeholders" in annotations(found)
    assert operation.requests("PUT", "redis/sessions") == []


def test_drifted_objects_are_listed(operation):
    """One of an object whose status says so; it is paused, so the status stays."""
    calm = resource_group("calm")
    calm["metadata"]["annotations"] = {"asoreconcile/paused": "true"}
    operation.apply(calm)
    operation.wait_for(calm, lambda o: (o.get("status") or {}).get("conditions"))
    found = operation.read(calm)
    drifted = {
        "type": "Drifted",
        "status": "True",
        "reason": "Drifted",
        "lastTransitionTime": "2026-11-28T00:00:00Z",
    }
    found["status"]["conditions"].append(drifted)
    operation.client.patch(
        resource_for(found),
        key_of(found),
        {"status": found["status"]},
        subresource="status",
    )
    (command,) = shown("deploy/docs/operations.md", "What a sync does")
    assert shell(operation, command).split() == ["calm"]


def test_one_object_is_looked_at(operation):
    (commands,) = shown("deploy/docs/operations.md", "Look at one object")
    said = shell(operation, commands)
    assert "Cause:      The resource is as the object wants it." in said
    assert "FIELD: azureName" in said


def test_the_manifests_are_admitted(operation):
    (fragment,) = shown("deploy/docs/entra.md", "What is kept in line")
    role = {
        "apiVersion": "authorization.azure.com/v1api20220401",
        "kind": "RoleAssignment",
        "metadata": {"name": "reads"},
        "spec": {
            "owner": {
                "group": "resources.azure.com",
                "kind": "ResourceGroup",
                "name": "shop",
            },
            "roleDefinitionReference": {"wellKnownName": "Reader"},
            **yaml.safe_load(fragment),
        },
    }
    given = yaml.safe_dump_all([*manifests(), role])
    said = shell(operation, "kubectl apply --dry-run=server -f -", given=given)
    assert said.count("(server dry run)") == 5


def test_a_resource_group_is_imported(operation):
    (command,) = shown("deploy/docs/import.md", "Import resources that exist in Azure")
    shell(operation, command)
    text = (operation.folder / "empty" / "shop.yaml").read_text()
    kinds = [obj["kind"] for obj in yaml.safe_load_all(text)]
    assert {"ResourceGroup", "Redis"} <= set(kinds)


def test_the_page_is_served(operation):
    (text,) = shown("deploy/docs/page.md", "The page: objects in a browser")
    command = text.splitlines()[0].partition("#")[0]
    assert "asoreconcile sandbox --web" in text  # tests/browser opens it
    words = shlex.split(command)
    with subprocess.Popen(
        [Path(sys.executable).parent / words[0], *words[1:]],
        env={**os.environ, **operation.environment()},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            file = re.match(r"page: (file:\S+)", process.stdout.readline())[1]
            with urllib.request.urlopen(file) as opened:
                # The browser follows the script of the file.
                address = re.search(rb'address = "([^"#]+)#', opened.read())[1]
            with urllib.request.urlopen(address.decode()) as answer:
                assert b"<html" in answer.read()
        finally:
            process.terminate()
            process.stdout.read()
