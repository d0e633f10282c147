"""What the on-call person reads at night: what happened, to what, and what to do."""

import pytest
from world import World, resource_group, virtual_network

from asoreconcile.azure.reconcile.model.annotations import (
    CLAIM,
    CLAIM_FACTS,
    RECONCILE_POLICY,
    RESOURCE_ID,
)
from asoreconcile.base.objects import annotations, key_of

GROUPS = "resources.azure.com/ResourceGroup"
NETWORKS = "network.azure.com/VirtualNetwork"


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path) as one:
        one.install(GROUPS, NETWORKS)
        yield one


@pytest.fixture
def group(world):
    obj = resource_group()
    world.apply(obj)
    world.settle(obj)
    return obj


@pytest.fixture
def network(world, group):
    obj = virtual_network()
    world.apply(obj)
    return obj


def refuse(world, status, *, path="virtualNetworks", **more):
    world.azure.faults.answer("PUT", path, status, **more)


def said(world, obj):
    """The message of the condition after one more pass."""
    world.run(obj)
    return world.ready(obj)["message"]


def annotate(world, obj, **notes):
    body = {"metadata": {"annotations": notes}}
    world.client.patch(world.resource_for(obj), key_of(obj), body)


def without_record(world, obj, arm_id):
    """Edit the id, and remove the record of the claim with its copy in the status."""
    annotate(world, obj, **{RESOURCE_ID: arm_id, CLAIM: None, CLAIM_FACTS: None})
    status = {"status": {"conditions": [world.ready(obj)]}}
    resource = world.resource_for(obj)
    world.client.patch(resource, key_of(obj), status, subresource="status")


def test_an_owner_that_fails_is_named_with_its_reason(world):
    group, child = resource_group(), virtual_network()
    world.apply(group)
    world.apply(child)
    waits = "owner ResourceGroup 'rg' is not Ready yet: it is waited for"
    assert said(world, child) == waits
    refuse(world, 403, path="resourceGroups", code="AuthorizationFailed", message="No.")
    world.run(group)
    assert said(world, child) == (
        "owner ResourceGroup 'rg' is not Ready (AuthorizationFailed): see its Ready "
        "condition"
    )


def test_an_owner_whose_name_is_an_id_is_no_owner_to_wait_for(world):
    obj = virtual_network(owner="/subscriptions/s/resourceGroups/rg")
    world.apply(obj)
    assert said(world, obj).endswith("is an ARM id: give it as spec.owner.armId")
    assert world.ready(obj)["reason"] == "Failed"


def test_an_owner_at_work_is_waited_for(world, group):
    owner = virtual_network()
    world.apply(owner)
    world.install("network.azure.com/VirtualNetworksSubnet")
    world.azure.faults.hang_operation("virtualNetworks")
    child = {
        "apiVersion": "network.azure.com/v20250301",
        "kind": "VirtualNetworksSubnet",
        "metadata": {"name": "web"},
        "spec": {"owner": {"name": "vnet"}, "addressPrefix": "10.0.1.0/24"},
    }
    world.apply(child)
    world.run(owner)
    expected = "owner VirtualNetwork 'vnet' is not Ready yet: it is waited for"
    assert said(world, child) == expected


def test_an_answer_that_is_no_arm_error_is_said_to_be_none(world, network):
    refuse(world, 502, body="<html>Bad gateway</html>")
    assert said(world, network) == (
        "Azure answered 502 Bad Gateway, not as its API does: <html>Bad gateway</html>"
    )


def test_a_refusal_without_a_message_says_what_is_known(world, network):
    refuse(world, 409, code="Conflict", message="")
    assert said(world, network) == (
        "There was an unknown deployment error: Azure answered 409 Conflict and said "
        "no more"
    )
    assert world.ready(network)["reason"] == "Conflict"


def test_no_answer_names_the_host_and_the_cause_in_plain_words(world, network):
    world.azure.faults.drop("PUT", "virtualNetworks")
    host = world.azure.url.removeprefix("https://")
    text = said(world, network)
    opening = f"Azure did not answer, so it is asked again: no answer from {host}: "
    assert text.startswith(f"{opening}Connection aborted: ")
    assert not set(text.removeprefix(opening)) & set("<>()_")


@pytest.mark.parametrize(
    ("status", "told"), [(401, True), (403, True), (409, False), (500, False)]
)
def test_who_is_not_let_in_is_in_the_event(world, network, status, told):
    refuse(world, status, code="Refused", message="No.")
    assert said(world, network) == "No."
    (text,) = [text for _, type_, _, text in world.events if type_ == "Warning"]
    source = "credential from azure-operator/aso-controller-settings"
    assert (source in text) is told


def test_what_is_skipped_and_absent_says_how_to_have_it(world, network):
    annotate(world, network, **{RECONCILE_POLICY: "skip"})
    text = said(world, network)
    assert f"{annotations(world.read(network))[RESOURCE_ID]} does not exist" in text
    assert f"set {RECONCILE_POLICY} to manage" in text
    assert "or delete this object" in text


def test_an_id_that_somebody_spoiled_is_said_to_be_and_heals(world, network):
    world.settle(network)
    without_record(world, network, "garbage")
    puts = len(world.requests("PUT"))
    assert f"annotation {RESOURCE_ID} is no ARM id" in said(world, network)
    assert world.ready(network)["severity"] == "Error"
    assert len(world.requests("PUT")) == puts
    annotate(world, network, **{RESOURCE_ID: None})
    world.settle(network)


@pytest.mark.parametrize("id_", ["garbage", "/subscriptions/{}/resourceGroups/rg"])
def test_an_id_of_another_kind_is_neither_deleted_nor_taken_for_gone(
    world, network, id_
):
    """A slip in an annotation must not cost a resource group."""
    whole = annotations(world.settle(network))[RESOURCE_ID]
    wrong = id_.format(world.azure.subscription_id)
    without_record(world, network, wrong)
    world.delete(network)
    text = said(world, network)
    assert text.startswith(f"nothing is deleted: annotation {RESOURCE_ID} is {wrong!r}")
    assert world.ready(network)["severity"] == "Warning"
    assert world.requests("DELETE") == []
    annotate(world, network, **{RESOURCE_ID: whole})
    assert world.settle(network) is None
    assert len(world.requests("DELETE", "virtualNetworks/vnet")) == 1


def test_an_owner_of_another_type_is_named_and_only_an_edit_helps(world, group):
    obj = virtual_network()
    public = "resourceGroups/rg/providers/Microsoft.Network/publicIPAddresses/ip"
    owner = f"/subscriptions/{world.azure.subscription_id}/{public}"
    obj["spec"]["owner"] = {"armId": owner}
    world.apply(obj)
    assert said(world, obj).startswith("spec.owner.armId: VirtualNetwork belongs to")
    ready = world.ready(obj)
    assert (ready["reason"], ready["severity"]) == ("Failed", "Error")
