"""Modes and annotations do what their documents say, request by request."""

import attrs
import pytest
from world import World, postgres_server, resource_group, virtual_network

from asoreconcile.azure.middleware.extension_points import PRE_RECONCILE
from asoreconcile.azure.middleware.extension_set import ExtensionSet
from asoreconcile.azure.middleware.requests import Block
from asoreconcile.azure.reconcile.model.annotations import RESOURCE_ID
from asoreconcile.azure.reconcile.model.drift_baseline import OBSERVED
from asoreconcile.azure.reconcile.model.sync_mode import SYNC_MODE, SyncMode
from asoreconcile.base.objects import GroupKind, ObjectKey, annotations
from asoreconcile.kube.resources import SECRETS

GROUPS = "resources.azure.com/ResourceGroup"
WRITES = {"PUT", "DELETE", "PATCH"}


class Gate:
    """A check that blocks while `closed`, for the networks of one kind."""

    def __init__(self):
        self.closed, self.asked = False, 0
        self.set = ExtensionSet("gate")
        network = GroupKind("network.azure.com", "VirtualNetwork")
        self.set.on(PRE_RECONCILE, network)(self.check)

    def check(self, req, call_next):
        self.asked += 1
        return Block("closed") if self.closed else call_next(req)


@pytest.fixture(scope="module")
def gate():
    return Gate()


@pytest.fixture(scope="module")
def start(module_path, gate):
    with World(module_path, lro=5.0, retry_after=1, extensions=[gate.set]) as running:
        running.install(
            GROUPS,
            "network.azure.com/VirtualNetwork",
            "keyvault.azure.com/Vault",
            "cache.azure.com/Redis",
            "dbforpostgresql.azure.com/FlexibleServer",
            "dbforpostgresql.azure.com/FlexibleServersFirewallRule",
        )
        mode(running, SyncMode.COMPARE)
        running.settled(resource_group())
        yield running


def mode(world, value):
    world.operator = attrs.evolve(world.operator, sync_mode=value)


def arm_id(world, obj):
    return annotations(world.read(obj))[RESOURCE_ID]


def sync(world, obj, passes=3):
    """A sync and the reconciles that follow; the writes that Azure received."""
    world.clock.advance(3600.0)
    world.azure.journal.clear()
    for _ in range(passes):
        world.clock.advance(world.run(obj).requeue_after_seconds or 0.0)
    return [r.method for r in world.azure.journal if r.method in WRITES]


def drifted(world, obj):
    conditions = world.read(obj)["status"]["conditions"]
    return next((c["message"] for c in conditions if c["type"] == "Drifted"), "")


# Mode report.


@pytest.fixture
def reported(world):
    """A network that is Ready, from now on in mode report."""
    obj = world.settled(virtual_network())
    mode(world, SyncMode.REPORT)
    return obj


def test_report_leaves_a_resource_gone_that_is_gone(world, reported):
    body = world.azure.resources()[arm_id(world, reported)]
    world.azure.remove(arm_id(world, reported))
    assert sync(world, reported) == []
    ready = world.ready(reported)
    assert (ready["status"], ready["reason"]) == ("False", "AzureResourceNotFound")
    assert f"Set {SYNC_MODE} to compare" in ready["message"]
    assert drifted(world, reported) == "Azure no longer has the resource; left as it is"
    assert ("vnet", "Warning", "Drift", drifted(world, reported)) in world.events
    world.restart()
    assert sync(world, reported) == []
    world.azure.seed(arm_id(world, reported), body)
    assert sync(world, reported) == []
    assert world.ready(reported)["status"] == "True"
    assert drifted(world, reported) == ""


def test_what_report_left_is_created_in_mode_compare(world, reported):
    world.azure.remove(arm_id(world, reported))
    sync(world, reported)
    mode(world, SyncMode.COMPARE)
    assert sync(world, reported) == ["PUT"]
    world.settle(reported)


def test_report_sends_no_put_after_a_failure_either(world):
    """A failure made the object not Ready, and its next try a PUT."""
    obj = redis()
    world.settled(obj)
    mode(world, SyncMode.REPORT)
    world.client.delete(SECRETS, ObjectKey("default", "keys"))
    world.azure.faults.answer("POST", "/listKeys", 500, times=2)
    assert sync(world, obj, passes=1) == []
    assert world.ready(obj)["status"] == "False"
    world.restart()
    assert sync(world, obj, passes=4) == []
    assert world.ready(obj)["status"] == "True"


def test_report_without_a_record_of_a_put_sends_none(world, reported):
    """As another operator leaves an object."""
    world.annotate(reported, **{OBSERVED: None})
    world.azure.remove(arm_id(world, reported))
    assert sync(world, reported) == []
    world.restart()
    assert sync(world, reported) == []


def test_report_still_creates_and_puts_edits(world):
    mode(world, SyncMode.REPORT)
    obj = world.settled(virtual_network())
    assert len(world.requests("PUT", "virtualNetworks/vnet")) == 1
    edited = virtual_network(tags={"a": "b"})
    world.azure.faults.answer("PUT", "virtualNetworks/vnet", 409, code="Conflict")
    world.apply(edited)
    world.run(edited)
    assert world.ready(obj)["reason"] == "Conflict"
    world.settle(edited)
    put = world.requests("PUT", "virtualNetworks/vnet")[-1]
    assert put.body["tags"] == {"a": "b"}


# Vaults that were deleted.


def vault(create_mode):
    return {
        "apiVersion": "keyvault.azure.com/v1api20230701",
        "kind": "Vault",
        "metadata": {"name": "shop"},
        "spec": {
            "owner": {"name": "rg"},
            "location": "westeurope",
            "properties": {
                "createMode": create_mode,
                "sku": {"family": "A", "name": "standard"},
                "tenantId": "00000000-0000-0000-0000-000000000001",
            },
        },
    }


@pytest.mark.parametrize("value", [SyncMode.COMPARE, SyncMode.REPORT, SyncMode.PUT])
@pytest.mark.parametrize("create_mode", ["purgeThenCreate", "createOrRecover"])
def test_a_vault_that_is_deleted_later_is_neither_purged_nor_recovered(
    world, create_mode, value
):
    obj = world.settled(vault(create_mode))
    mode(world, value)
    world.arm.delete(arm_id(world, obj), "2023-07-01")
    world.clock.advance(60.0)
    assert arm_id(world, obj) not in world.azure.resources()
    sync(world, obj)
    world.restart()
    sync(world, obj)
    assert not world.requests("POST", "/purge")
    sent = {r.body["properties"]["createMode"] for r in world.requests("PUT", "vaults")}
    assert sent <= {"default"}
    if value is SyncMode.REPORT:
        assert sent == set()


# Checks before a write.


def test_a_check_is_not_asked_while_nothing_is_to_be_written(world, gate):
    obj = world.settled(virtual_network())
    asked, gate.closed = gate.asked, True
    assert sync(world, obj) == []
    assert (world.ready(obj)["status"], gate.asked) == ("True", asked)


def test_a_check_holds_back_the_repair_of_a_difference_and_no_more(world, gate):
    obj = world.settled(virtual_network(tags={"a": "b"}))
    gate.closed = True
    id_ = arm_id(world, obj)
    before = world.azure.resources()[id_]
    world.azure.seed(id_, {**before, "tags": {"a": "by hand"}})
    assert sync(world, obj) == []
    assert world.ready(obj)["reason"] == "ReconciliationBlocked"
    # The difference is gone, so that nothing is to be written when the check passes.
    world.azure.seed(id_, before)
    assert sync(world, obj) == []
    assert world.ready(obj)["status"] == "True"
    world.azure.seed(id_, {**before, "tags": {"a": "by hand"}})
    assert sync(world, obj) == []
    gate.closed = False
    assert sync(world, obj) == ["PUT"]


def test_a_stopped_server_leaves_its_rules_ready_and_causes_no_put(world):
    world.apply(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "db-admin"},
            "stringData": {"password": "Sesame-1"},
        }
    )
    server = world.settled(postgres_server())
    rule = world.settled(
        {
            "apiVersion": "dbforpostgresql.azure.com/v20250801",
            "kind": "FlexibleServersFirewallRule",
            "metadata": {"name": "office"},
            "spec": {
                "owner": {"name": "pg-db"},
                "startIpAddress": "10.0.0.1",
                "endIpAddress": "10.0.0.1",
            },
        }
    )
    id_ = arm_id(world, server)
    body = world.azure.resources()[id_]
    for state in ("Stopped", "Ready"):
        properties = {**body["properties"], "state": state}
        world.azure.seed(id_, {**body, "properties": properties})
        assert sync(world, rule) == []
        assert world.ready(rule)["status"] == "True"


def redis():
    return {
        "apiVersion": "cache.azure.com/v20241101",
        "kind": "Redis",
        "metadata": {"name": "carts"},
        "spec": {
            "owner": {"name": "rg"},
            "location": "westeurope",
            "sku": {"family": "C", "name": "Standard", "capacity": 1},
            "operatorSpec": {
                "secrets": {"primaryKey": {"name": "keys", "key": "primary"}}
            },
        },
    }
