"""A kind served in several versions: each object is the business of its own version."""

import pytest
from operation import Operation, free_port
from world import resource_group, virtual_network

from asoreconcile.azure.catalogue.conversion import CONVERSION_DATA
from asoreconcile.azure.catalogue.crd import crd
from asoreconcile.azure.catalogue.webhook_manifests import webhook_configurations
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.webhooks import WebhookOptions
from asoreconcile.base.objects import GroupKind, ObjectKey, annotations, key_of
from asoreconcile.kube.errors import ApiError, InvalidError
from asoreconcile.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, ApiResource
from asoreconcile.testing.throwaway_certificates import certificate_authority

VNET = builtin().kind(GroupKind("network.azure.com", "VirtualNetwork"))
CONFIGURATIONS = tuple(
    ApiResource(
        group="admissionregistration.k8s.io",
        version="v1",
        plural=kind.lower() + "s",
        kind=kind,
        namespaced=False,
    )
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
)
OLD, NEW, STORED = "v1api20240301", "v20250301", "v20250301storage"


@pytest.fixture(scope="module")
def operation(make_cluster, tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("operation")
    with Operation(tmp_path, cluster=make_cluster()) as made:
        authority, folder = certificate_authority(), tmp_path / "certificates"
        folder.mkdir()
        certificate, key = authority.issue(["127.0.0.1"])
        for name, pem in (
            ("tls.crt", certificate),
            ("tls.key", key),
            ("ca.crt", authority.pem),
        ):
            (folder / name).write_bytes(pem)
        port = free_port()
        url = f"https://127.0.0.1:{port}"
        options = WebhookOptions(address=f":{port}", cert_dir=folder, url=url)
        made.webhooks = options.client()
        made.install(resource_group())
        # As Azure Service Operator has it: beside each version its stored form.
        definition = crd(
            VNET,
            versions=[*VNET.versions, *(f"{v}storage" for v in VNET.versions)],
            conversion=options.client(),
            rules=True,
        )
        made.client.create(CUSTOM_RESOURCE_DEFINITIONS, definition)
        made.start_manager(f"--webhook-port={port}", f"--webhook-cert-dir={folder}")
        made.apply(resource_group())
        # Who lists has been listening to conversion reviews for a while.
        made.wait_ready(resource_group())
        yield made


def at(version):
    group, kind = VNET.group_kind.group, VNET.group_kind.kind
    return ApiResource(group=group, version=version, plural=VNET.plural, kind=kind)


def read(operation, version):
    return operation.client.get(at(version), ObjectKey("default", "vnet"))


def test_a_resource_is_put_with_the_version_the_user_wrote(operation):
    old = virtual_network() | {"apiVersion": f"network.azure.com/{OLD}"}
    operation.apply(old)
    operation.wait_ready(old)

    puts = operation.requests("PUT", "virtualNetworks/vnet")
    assert [put.api_version for put in puts] == ["2024-03-01"]
    kept = read(operation, STORED)
    assert kept["spec"]["originalVersion"] == OLD
    assert kept["status"]["id"] == read(operation, NEW)["status"]["id"]

    # A label set through another version is no new author.
    operation.client.patch(
        at(NEW), key_of(kept), {"metadata": {"labels": {"team": "net"}}}
    )
    assert read(operation, STORED)["spec"]["originalVersion"] == OLD
    assert CONVERSION_DATA not in annotations(read(operation, OLD))
    assert CONVERSION_DATA not in annotations(read(operation, STORED))

    # An edit of the spec is, and no field of either version is lost by it.
    edited = read(operation, NEW)
    edited["spec"]["tags"] = {"a": "b"}
    operation.client.replace(at(NEW), edited)
    new = virtual_network()
    operation.wait_ready(new)

    puts = operation.requests("PUT", "virtualNetworks/vnet")
    assert [put.api_version for put in puts] == ["2024-03-01", "2025-03-01"]
    assert puts[-1].body["tags"] == {"a": "b"}
    assert read(operation, STORED)["spec"]["originalVersion"] == NEW
    assert read(operation, OLD)["spec"] == {**old["spec"], "tags": {"a": "b"}}

    operation.client.delete(at(OLD), key_of(kept))
    operation.wait_gone(new)
    deletes = operation.requests("DELETE", "virtualNetworks/vnet")
    assert [delete.api_version for delete in deletes] == ["2025-03-01"]


def test_a_status_is_kept_whole_in_versions_whose_schema_does_not_spell_it_out(
    operation,
):
    definition = operation.client.get(
        CUSTOM_RESOURCE_DEFINITIONS, ObjectKey("", "virtualnetworks.network.azure.com")
    )
    schemas = {
        version["name"]: version["schema"]["openAPIV3Schema"]["properties"]
        for version in definition["spec"]["versions"]
    }
    assert "properties" not in schemas[OLD]["status"]
    assert "properties" not in schemas[STORED]["spec"]
    old = virtual_network("kept") | {"apiVersion": f"network.azure.com/{OLD}"}
    operation.apply(old)
    operation.wait_ready(old)
    key = key_of(old)
    before = operation.client.get(at(OLD), key)["status"]
    assert before["addressSpace"] == old["spec"]["addressSpace"]

    # Who applies a part of it owns that part, and no more.
    applied = {name: old[name] for name in ("apiVersion", "kind")} | {
        "metadata": {"name": key.name, "namespace": key.namespace},
        "status": {"tags": {"seen": "by-a-tool"}},
    }
    operation.client.patch(
        at(OLD),
        key,
        applied,
        kind="apply",
        field_manager="a-tool",
        subresource="status",
    )

    for version in (OLD, NEW, STORED):
        status = operation.client.get(at(version), key)["status"]
        assert status["tags"] == {"seen": "by-a-tool"}
        assert status["id"] == before["id"]
        assert status["addressSpace"] == before["addressSpace"]
    operation.client.delete(at(OLD), key)
    operation.wait_gone(old)


def test_r10_1_a_rule_is_held_by_the_api_server_and_else_by_the_reconciler(operation):
    """A CRD of several versions carries the rules; in lists it cannot."""
    two = {"name": "rg", "armId": "/subscriptions/s/resourceGroups/rg"}
    wrong = virtual_network("wrong") | {"spec": {"location": "x", "owner": two}}

    with pytest.raises(InvalidError, match="set either armId or the owner's name"):
        operation.apply(wrong)

    named = virtual_network("named", azureName="named")
    operation.apply(named)
    operation.wait_ready(named)
    named["spec"]["azureName"] = "renamed"
    with pytest.raises(InvalidError, match="cannot change once the resource is in"):
        operation.apply(named)

    unnamed = virtual_network("unnamed")
    operation.apply(unnamed)
    operation.wait_ready(unnamed)
    for name in ("other", "unnamed", None):
        change = {"spec": {"azureName": name}}
        if name == "other":
            with pytest.raises(InvalidError, match="azureName cannot change once"):
                operation.edit(unnamed, change)
        else:
            operation.edit(unnamed, change)
    called = virtual_network("called", azureName="otherwise")
    operation.apply(called)
    operation.wait_ready(called)
    with pytest.raises(InvalidError, match="azureName cannot change once"):
        operation.edit(called, {"spec": {"azureName": None}})

    half = virtual_network("half", ipAllocations=[{"reference": {"name": "x"}}])
    operation.apply(half)
    ready = operation.wait_condition(half, "Failed")
    assert "spec.ipAllocations[0].reference: set group and kind too" in ready["message"]
    assert operation.requests("PUT", "virtualNetworks/half") == []


@pytest.fixture
def admission(operation):
    configured = webhook_configurations([VNET], operation.webhooks)
    for one, resource in zip(configured, CONFIGURATIONS, strict=True):
        operation.client.create(resource, one)
    yield operation
    for one, resource in zip(configured, CONFIGURATIONS, strict=True):
        operation.client.delete(resource, key_of(one))


def test_r10_1_with_admission_a_wrong_object_is_refused_and_a_name_filled_in(admission):
    operation = admission
    half = virtual_network("refused", ipAllocations=[{"reference": {"name": "x"}}])

    with pytest.raises(ApiError, match=r"ipAllocations\[0\].reference: set group and"):
        operation.apply(half)

    obj = virtual_network("admitted") | {"apiVersion": f"network.azure.com/{OLD}"}
    assert operation.apply(obj)["spec"]["azureName"] == "admitted"
    operation.wait_ready(obj)
    obj["spec"]["azureName"] = "renamed"
    with pytest.raises(ApiError, match="cannot change"):
        operation.apply(obj)


def test_an_object_that_azure_service_operator_stored_is_taken_up_as_it_was_written(
    operation,
):
    """Its stored form says by whose tables it is PUT, and keeps what those know."""
    stored = {
        "apiVersion": f"network.azure.com/{OLD}storage",
        "kind": "VirtualNetwork",
        "metadata": {"name": "stored", "namespace": "default"},
        "spec": {
            **virtual_network()["spec"],
            "azureName": "stored",
            "originalVersion": OLD,
            "$propertyBag": {"Unheard": '"of"'},
        },
    }
    operation.client.create(at(f"{OLD}storage"), stored)
    obj = virtual_network("stored") | {"apiVersion": f"network.azure.com/{OLD}"}

    operation.wait_ready(obj)

    (put,) = operation.requests("PUT", "virtualNetworks/stored")
    assert put.api_version == "2024-03-01"
    kept = operation.client.get(at(STORED), ObjectKey("default", "stored"))
    assert kept["spec"] == stored["spec"]
