"""Objects change hands between this operator and Azure Service Operator, both ways.

The other operator is played by hand: what it stores is written as it stores it, and
what we stored is read as it reads it, strictly.
"""

import json
import re

import pytest
from asotraces import as_go_writes, ask, claim, condition
from world import OPERATOR, SYNC_SECONDS, World, resource_group, virtual_network

from asoreconcile.azure.reconcile.model.annotations import (
    CLAIM,
    DELETE_POLLER,
    FINALIZER,
    LAST_RECONCILED_VERSION,
    LATEST_RECONCILED_GENERATION,
    OPERATOR_NAMESPACE,
    OWN_PREFIX,
    POLLER_ID,
    POLLER_TOKEN,
    PUT_POLLER,
    RESOURCE_ID,
    is_operators_own,
)
from asoreconcile.base.objects import (
    annotations,
    finalizers,
    key_of,
    labels,
    owner_references,
    uid_of,
)

API = "2025-03-01"
TYPE = "Microsoft.Network/virtualNetworks"
# How Azure may answer a write, and the token that each answer is kept as.
SHAPES = {"async": "202 A+L 10 Creating", "loc": "202 L 10", "body": "201 Creating"}
DELETE_SHAPES = {"async": "202 A+L 10", "loc": "202 L 10"}
_MEMBERS = {
    "asyncURL": ("asyncURL", "locURL", "origURL", "method", "finalState", "state"),
    "type": ("type", "pollURL", "state"),
}
_CONDITION_FIELDS = {
    *("type", "status", "severity", "lastTransitionTime"),
    *("observedGeneration", "reason", "message"),
}


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path, lro=30.0, retry_after=10) as running:
        running.install(
            "resources.azure.com/ResourceGroup", "network.azure.com/VirtualNetwork"
        )
        running.apply(resource_group())
        running.settle(resource_group())
        yield running


class Other:
    """Azure Service Operator, as far as its traces go."""

    def __init__(self, world):
        self._world = world
        group = f"/subscriptions/{world.azure.subscription_id}/resourceGroups/rg"
        self.arm_id = f"{group}/providers/{TYPE}/vnet"

    def ask(self, method, **body):
        """Write to Azure; the token of the operation, None when there is none."""
        return ask(self._world.azure, self.arm_id, method, api_version=API, **body)

    def store(self, obj, *, condition, notes=None, own=True):
        """The object as it stores it, claimed unless own is False."""
        self._world.apply(obj)
        present = self._world.read(obj)
        meta = {"annotations": {OPERATOR_NAMESPACE: OPERATOR}}
        if own:
            meta = claim(self.arm_id, OPERATOR, self._world.read(resource_group()))
        meta["annotations"] |= notes or {}
        resource, key = self._world.resource_for(obj), key_of(present)
        self._world.client.patch(resource, key, {"metadata": meta})
        shown = {"conditions": [{"type": "Ready", **condition}]}
        return self._world.client.patch(
            resource, key, {"status": shown}, subresource="status"
        )

    def resume(self, obj):
        """Read our token as strictly as it does, and ask how the operation stands."""
        text = annotations(self._world.read(obj))[POLLER_TOKEN]
        document = json.loads(text)
        assert list(document) == ["type", "token"]
        inner = document["token"]
        assert tuple(inner) == _MEMBERS[next(iter(inner))]
        assert text == as_go_writes(document)
        url = inner.get("asyncURL") or inner["pollURL"]
        with self._world.azure.session() as session:
            return document, session.get(url)


RECONCILING = condition("False", "Reconciling", "Info")
SPEC = {
    "location": "westeurope",
    "properties": {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_put_that_it_began_is_ended_here(world, shape):
    world.azure.styles.change(TYPE, create=SHAPES[shape])
    other, child = Other(world), virtual_network()
    token = other.ask("PUT", **SPEC)
    assert f'"{shape}' in token or "pollURL" in token
    notes = {POLLER_TOKEN: token, POLLER_ID: PUT_POLLER}
    before = other.store(child, condition=RECONCILING, notes=notes)
    world.run(child)
    assert annotations(world.read(child))[POLLER_ID] == PUT_POLLER
    assert world.ready(child)["reason"] == "Reconciling"
    present = world.settle(child)
    assert len(world.requests("PUT", "virtualNetworks")) == 1
    assert POLLER_TOKEN not in annotations(present)
    assert POLLER_ID not in annotations(present)
    for part in (finalizers, owner_references):
        assert part(present) == part(before)
    assert world.ready(child)["status"] == "True"


@pytest.mark.parametrize("shape", DELETE_SHAPES)
def test_a_delete_that_it_began_is_ended_here(world, shape):
    world.azure.styles.change(TYPE, create="201 Succeeded", delete=DELETE_SHAPES[shape])
    other, child = Other(world), virtual_network()
    assert other.ask("PUT", **SPEC) is None
    other.store(child, condition=condition("True", "Succeeded"))
    world.delete(child)
    notes = {POLLER_TOKEN: other.ask("DELETE"), POLLER_ID: DELETE_POLLER}
    world.client.patch(
        world.resource_for(child),
        key_of(world.read(child)),
        {"metadata": {"annotations": notes}},
    )
    world.run(child)
    assert finalizers(world.read(child)) == [FINALIZER]
    assert world.settle(child) is None
    assert len(world.requests("DELETE", "virtualNetworks")) == 1


def test_an_object_that_it_left_ready_stays_so(world):
    other, child = Other(world), virtual_network()
    world.azure.styles.change(TYPE, create="201 Succeeded", update="200 Succeeded")
    other.ask("PUT", **SPEC)
    before = other.store(child, condition=condition("True", "Succeeded"))
    result = world.run(child)
    after = world.read(child)
    assert result.requeue_after_seconds == SYNC_SECONDS
    assert world.ready(child) == {"type": "Ready", **condition("True", "Succeeded")}
    # Our own records, which Azure Service Operator leaves alone.
    notes = annotations(after)
    own = {name: notes[name] for name in notes if is_operators_own(name)}
    assert own[CLAIM].startswith("accepted ")
    assert notes == {**annotations(before), **own}
    assert {name for name in own if not name.startswith("asoreconcile/")} <= set(
        annotations(before)
    )
    assert owner_references(after) == owner_references(before)
    changed = dict(labels(after).items() - labels(before).items())
    assert changed.keys() <= {LAST_RECONCILED_VERSION}


@pytest.mark.parametrize(
    "left",
    [
        condition("False", "WaitingForOwner", "Warning"),
        condition("False", "ReferenceNotFound", "Warning"),
        condition("False", "AllocationFailed", "Warning"),
        condition("False", "LocationRequired", "Error"),
    ],
    ids=lambda c: c["reason"],
)
def test_whatever_it_was_stuck_at_is_tried_again(world, left):
    child = virtual_network()
    Other(world).store(child, condition=left, own=left["reason"] != "WaitingForOwner")
    assert world.settle(child)["status"]["provisioningState"] == "Succeeded"


@pytest.mark.parametrize("shape", SHAPES)
def test_a_put_begun_here_can_be_ended_there(world, shape):
    world.azure.styles.change(TYPE, create=SHAPES[shape])
    other, child = Other(world), virtual_network()
    world.apply(child)
    world.run(child)
    assert_traces_are_its_own(world, child, PUT_POLLER)
    document, answer = other.resume(child)
    assert document["type"] == "GenericResource"
    assert document["token"].get("method", "PUT") == "PUT"
    address = f"{world.azure.url}{other.arm_id}?api-version={API}"
    assert document["token"].get("origURL", address) == address
    assert answer.status_code in {200, 202}
    world.clock.advance(30.0)
    _, answer = other.resume(child)
    assert answer.status_code == 200
    body = answer.json()
    word = body.get("status") or body["properties"]["provisioningState"]
    assert word == "Succeeded"


@pytest.mark.parametrize("shape", DELETE_SHAPES)
def test_a_delete_begun_here_can_be_ended_there(world, shape):
    world.azure.styles.change(TYPE, delete=DELETE_SHAPES[shape])
    other, child = Other(world), virtual_network()
    world.apply(child)
    world.settle(child)
    world.delete(child)
    world.run(child)
    assert_traces_are_its_own(world, child, DELETE_POLLER)
    document, answer = other.resume(child)
    assert document["type"] == "GenericDeleteResponse"
    assert answer.status_code in {200, 202}


def test_an_object_left_ready_here_carries_nothing_strange(world):
    child = virtual_network()
    world.apply(child)
    world.settle(child)
    assert_traces_are_its_own(world, child, None)


def assert_traces_are_its_own(world, child, poller):
    """The metadata and the condition are those that the other operator would keep."""
    present, owner = world.read(child), world.read(resource_group())
    notes = {n: v for n, v in annotations(present).items() if n != POLLER_TOKEN}
    assert {n: v for n, v in notes.items() if not n.startswith(OWN_PREFIX)} == {
        OPERATOR_NAMESPACE: OPERATOR,
        RESOURCE_ID: Other(world).arm_id,
        LATEST_RECONCILED_GENERATION: "1",
        **({POLLER_ID: poller} if poller else {}),
    }
    assert labels(present) == {
        "serviceoperator.azure.com/owner-name": "rg",
        "serviceoperator.azure.com/owner-group-kind": (
            "ResourceGroup.resources.azure.com"
        ),
        "serviceoperator.azure.com/owner-uid": uid_of(owner),
        LAST_RECONCILED_VERSION: "test",
    }
    assert finalizers(present) == [FINALIZER]
    (reference,) = owner_references(present)
    assert (reference["kind"], reference["uid"]) == ("ResourceGroup", uid_of(owner))
    assert reference.keys() == {"apiVersion", "kind", "name", "uid"}
    ready = world.ready(child)
    assert ready.keys() <= _CONDITION_FIELDS
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", ready["lastTransitionTime"])
    told = (ready["status"], ready.get("severity", ""), ready["reason"])
    assert told in {
        ("True", "", "Succeeded"),
        ("False", "Info", "Reconciling"),
        ("False", "Info", "Deleting"),
    }
