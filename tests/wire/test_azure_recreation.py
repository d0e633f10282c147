"""A resource that Azure does not let change is deleted and made again: on request only.

The simulator refuses the one PUT that changes the SKU of a public IP address.
"""

import attrs
import pytest
from globalconnection import GlobalConnection
from taps import ArmTap, CrashError, KubeTap
from world import World, resource_group

from asoreconcile.azure.catalogue.type_facts import holds_data, type_facts
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.reconcile.model.annotations import (
    DELETION_PROTECTION,
    MAINTENANCE_WINDOWS,
    ON_IMMUTABLE,
    PAUSED,
    RECONCILE_POLICY,
    RECREATION,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.existence import IF_EXISTS
from asoreconcile.azure.reconcile.model.sync_mode import SYNC_MODE
from asoreconcile.base.objects import annotations, copy_json
from asoreconcile.kube.errors import ApiError, TransportError

CODE = "PropertyChangeNotAllowed"
ADDRESSES, TABLES = "publicIPAddresses/pip$", "routeTables/table$"


polled_too = pytest.mark.parametrize("polled", [False, True], ids=["put", "polled"])


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path) as running:
        running.install(
            "resources.azure.com/ResourceGroup",
            "network.azure.com/PublicIPAddress",
            "network.azure.com/RouteTable",
            "network.azure.com/RouteTablesRoute",
        )
        running.settled(resource_group())
        yield running


def network_object(kind, name, owner="rg", **spec):
    spec = {"owner": {"name": owner}, **spec}
    return {
        "apiVersion": "network.azure.com/v20250301",
        "kind": kind,
        "metadata": {"name": name, "annotations": {ON_IMMUTABLE: "recreate"}},
        "spec": spec,
    }


def address(sku="Standard", **notes):
    obj = network_object(
        "PublicIPAddress", "pip", location="westeurope", sku={"name": sku}
    )
    obj["metadata"]["annotations"] |= notes
    return obj


def table(**spec):
    return network_object("RouteTable", "table", location="westeurope", **spec)


def route(name="out"):
    return network_object(
        "RouteTablesRoute",
        name,
        "table",
        addressPrefix="0.0.0.0/0",
        nextHopType="Internet",
    )


def refused(world, obj, path=ADDRESSES, times=1, code=CODE, *, polled=False):
    """Edit an object; Azure refuses the PUT as the change of a fixed field.

    polled: Azure accepts the PUT, and its operation fails.
    """
    faults = world.azure.faults
    if polled:
        fragment = path.rstrip("$")
        faults.fail_operation(fragment, code, "No.", undoes=True, times=times)
    else:
        faults.answer("PUT", path, 400, code=code, times=times)
    world.azure.journal.clear()
    world.apply(obj)


def writes(world, fragment=""):
    return [
        r.method
        for r in world.azure.journal
        if r.method in ("PUT", "DELETE") and fragment.lower() in r.path.lower()
    ]


@polled_too
def test_ow6_the_resource_is_deleted_and_made_again(world, polled):
    world.settled(address())
    refused(world, address("Basic"), polled=polled)
    world.settle(address())
    assert writes(world) == ["PUT", "DELETE", "PUT"]
    (text,) = [e[3] for e in world.events if e[2] == "RecreatesResource"]
    assert "spec.sku.name" in text


def test_ow6_a_404_whose_code_is_not_known_ends_a_recreation(world):
    world.settled(address())
    refused(world, address("Basic"))
    world.run(address())
    world.run(address())
    assert writes(world)[-1] == "DELETE"
    world.azure.faults.answer("GET", ADDRESSES, 404, code="NoAddress", times=100)
    for _ in range(8):
        world.clock.advance(10.0)
        world.run(address())
    assert writes(world)[-1] == "PUT"


def test_ow6_a_list_of_children_that_is_not_found_deletes_nothing(world):
    world.settled(table())
    refused(world, table(disableBgpRoutePropagation=True), TABLES, times=2)
    world.azure.faults.answer("GET", "/routes$", 404, code="RoutesLost", times=2)
    world.run(table())
    world.run(table())
    assert writes(world) == ["PUT", "PUT"]


def test_ow6_each_generation_deletes_once(world):
    world.settled(address("Basic"))
    refused(world, address("Standard"), times=4)
    for _ in range(6):
        world.clock.advance(world.run(address()).requeue_after_seconds or 0.0)
    world.azure.faults.clear()
    world.settle(address())
    assert writes(world).count("DELETE") == 1


@pytest.mark.parametrize(
    ("notes", "why"),
    [
        ({ON_IMMUTABLE: ""}, "delete the object and create it again"),
        ({ON_IMMUTABLE: "recreat"}, "no resource is made again"),
        ({DELETION_PROTECTION: "true"}, "protects the resource"),
        ({RECONCILE_POLICY: "detach-on-delete"}, "policy keeps it"),
    ],
    ids=["not asked for", "misspelt", "protected", "detached"],
)
@polled_too
def test_ow6_nothing_is_deleted(world, notes, why, polled):
    world.settled(address(**notes))
    refused(world, address("Basic", **notes), polled=polled)
    world.clock.advance(world.run(address()).requeue_after_seconds)
    if polled:
        world.run(address())
    assert writes(world) == ["PUT"]
    message = world.ready(address())["message"]
    assert why in message
    assert "spec.sku.name" in message


def test_ow6_children_of_others_stand_against_it_and_own_ones_come_back(world):
    world.settled(table())
    world.settled(route())
    arm_id = annotations(world.read(table()))[RESOURCE_ID]
    other = f"{arm_id}/routes/theirs"
    world.arm.put(other, "2024-07-01", {"properties": {"nextHopType": "Internet"}})
    refused(world, table(tags={"a": "b"}), TABLES)
    world.run(table())
    assert "routes/theirs" in world.ready(table())["message"]
    assert writes(world) == ["PUT"]
    world.arm.delete(other, "2024-07-01")
    refused(world, table(tags={"a": "c"}), TABLES)
    woken = []
    world.operator = attrs.evolve(world.operator, wake_children=woken.append)
    world.settle(table())
    assert writes(world, "routeTables/table") == ["PUT", "DELETE", "PUT"]
    assert {node.key.name for node in woken} == {"table"}
    world.clock.advance(4000.0)
    world.settle(route())
    assert f"{arm_id}/routes/out" in world.azure.resources()


@pytest.mark.parametrize(
    ("notes", "why"),
    [
        ({SYNC_MODE: "report"}, "sync mode only reports"),
        ({RECONCILE_POLICY: "skip"}, "reconcile policy sends nothing"),
        ({PAUSED: "true"}, "is paused"),
        ({MAINTENANCE_WINDOWS: "0 3 29 2 * 1h"}, "maintenance windows"),
    ],
    ids=["report", "skip", "paused", "window"],
)
def test_ow6_a_child_that_would_not_come_back_stands_against_it(world, notes, why):
    world.settled(table())
    world.settled(route())
    world.annotate(route(), **notes)
    refused(world, table(tags={"a": "b"}), TABLES)
    world.run(table())
    assert writes(world) == ["PUT"]
    message = world.ready(table())["message"]
    assert "RouteTablesRoute default/out" in message
    assert why in message


CLOSED = {MAINTENANCE_WINDOWS: "0 3 29 2 * 1h"}


def deleted(world):
    """Reconcile the table until its resource is gone, and not yet made again."""
    for _ in range(20):
        world.clock.advance(world.run_once(table()).requeue_after_seconds or 0.0)
        if annotations(world.read(table()))[RECREATION].startswith("deleted"):
            return
    raise AssertionError("not deleted")


def test_ow6_a_recreation_that_was_begun_goes_on_when_its_window_closes(world):
    """Also the PUT of each object in it, and of no other one."""
    world.settled(table())
    world.settled(route())
    world.clock.advance(60.0)
    refused(world, table(tags={"a": "b"}), TABLES)
    deleted(world)
    for obj in (table(), route()):
        world.annotate(obj, **CLOSED)
    message = world.ready(table())["message"]
    assert "the resource is gone since" in message
    assert "this object has deleted it" in message
    world.settle(table())
    assert "gone" not in world.ready(table()).get("message", "")
    world.clock.advance(4000.0)
    world.settle(route())
    arm_id = annotations(world.read(table()))[RESOURCE_ID]
    assert f"{arm_id}/routes/out" in world.azure.resources()
    # It was one operation, and that has ended.
    world.azure.journal.clear()
    refused(world, table(tags={"a": "c"}), TABLES, times=0)
    world.run(table())
    assert writes(world) == []
    assert world.ready(table())["reason"] == "OutsideMaintenanceWindow"


def test_ow6_a_recreation_that_a_person_pauses_says_that_the_resource_is_gone(world):
    world.settled(table())
    world.clock.advance(60.0)
    refused(world, table(tags={"a": "b"}), TABLES)
    deleted(world)
    world.annotate(table(), **{PAUSED: "true"})
    world.run_once(table())
    ready = world.ready(table())
    assert ready["reason"] == "Paused"
    assert "the resource is gone since" in ready["message"]


def test_ow6_what_a_refused_object_declares_is_of_others(world):
    world.settled(table())
    arm_id = annotations(world.read(table()))[RESOURCE_ID]
    theirs = f"{arm_id}/routes/out"
    world.arm.put(theirs, "2024-07-01", {"properties": {"nextHopType": "None"}})
    child = route()
    child["metadata"]["annotations"] = {IF_EXISTS: "fail"}
    world.apply(child)
    world.run(child)
    world.run(child)
    assert world.ready(child)["reason"] == "AlreadyExists"
    refused(world, table(tags={"a": "b"}), TABLES)
    world.run(table())
    assert writes(world) == ["PUT"]
    assert "does not manage it" in world.ready(table())["message"]


def test_ow6_what_was_only_observed_is_not_deleted(world):
    group = annotations(world.read(resource_group()))[RESOURCE_ID]
    there = f"{group}/providers/Microsoft.Network/publicIPAddresses/pip"
    body = {"location": "westeurope", "sku": {"name": "Standard"}}
    world.arm.put(there, "2024-07-01", body)
    obj = address("Basic", **{IF_EXISTS: "observe"})
    world.settled(obj)
    world.azure.faults.answer("PUT", ADDRESSES, 400, code=CODE, times=2)
    world.annotate(obj, **{IF_EXISTS: "adopt"})
    world.azure.journal.clear()
    for _ in range(3):
        world.run(obj)
    assert set(writes(world)) == {"PUT"}
    assert "accepted no PUT" in world.ready(obj)["message"]


@pytest.mark.parametrize(("phase", "times"), [("before", 2), ("after", 1)])
def test_ow6_a_lost_answer_of_the_delete_is_no_second_deletion(world, phase, times):
    world.settled(address())
    refused(world, address("Basic"))
    world.run(address())
    world.azure.faults.drop("DELETE", ADDRESSES, phase=phase)
    for _ in range(3):
        world.clock.advance(world.run(address()).requeue_after_seconds or 0.0)
    world.restart()
    world.settle(address())
    assert writes(world).count("DELETE") == times


def test_ow6_a_second_manager_that_is_behind_deletes_nothing(world):
    """A manager sees the object as before the DELETE; another one has gone on."""
    world.settled(address())
    refused(world, address("Basic"))
    world.run(address())
    behind = world.read(address())
    assert behind["metadata"]["annotations"][RECREATION].startswith("deleting ")
    world.settle(address())
    arm_id = annotations(behind)[RESOURCE_ID]
    for body in (None, {"location": "westeurope", "sku": {"name": "Standard"}}):
        if body is not None:
            world.azure.seed(arm_id, body)  # it differs as before
        world.restart()
        world.run(address(), stale=behind)
        present = annotations(world.read(address()))
        assert present[RECREATION].startswith("deleted ")
    assert writes(world) == ["PUT", "DELETE", "PUT"]


def test_ow6_a_record_that_the_operator_did_not_write_deletes_nothing(world):
    forged = {RECREATION: "deleting 1 forged"}
    world.settled(address(**forged))
    assert writes(world) == ["PUT"] * len(writes(world))


def test_ow6_consent_that_is_withdrawn_stops_the_deletion(world):
    world.settled(address())
    refused(world, address("Basic"))
    world.run(address())
    world.annotate(address(), **{ON_IMMUTABLE: None})
    world.settle(address())
    assert "DELETE" not in writes(world)


def test_ow6_it_ends_the_same_wherever_the_process_dies(world):
    """After each write to Azure and to the cluster, and in its answer; also if Azure
    refuses the change at the end of the PUT's operation.
    """
    at, dies = [0], [0, ""]

    def write(_name, effect, lost):
        at[0] += 1
        if at[0] != dies[0]:
            return effect()
        effect()
        raise lost if dies[1] == "lost" else CrashError

    def process():
        world.restart()
        arm = ArmTap(world.arm, lambda arm_id: arm_id, write, lambda _: None)
        connections = GlobalConnection(
            arm, subscription_id=world.azure.subscription_id, source="test/test"
        )
        tap = KubeTap(world.client, {}, write)
        return attrs.evolve(world.make_operator(), client=tap, connections=connections)

    def end(moment, when, *, polled=False):
        sku = "Basic" if address_sku(world) == "Standard" else "Standard"
        refused(world, address(sku), times=1 if polled else 30, polled=polled)
        at[0], dies[:] = 0, [moment, when]
        operator, seconds = process(), 0.0
        for _ in range(30):
            world.clock.advance(seconds or 0.0)
            if world.requests("DELETE"):
                world.azure.faults.clear()
            try:
                seconds = world.run_once(address(), operator=operator)
                seconds = seconds.requeue_after_seconds
            except CrashError:
                operator, seconds = process(), 0.0
            except (ApiError, TransportError):
                seconds = 1.0
            ready = world.ready(address())
            generation = world.read(address())["metadata"]["generation"]
            if ready["status"] == "True" and ready["observedGeneration"] == generation:
                break
        assert ready["status"] == "True", (moment, when, ready)
        assert address_sku(world) == sku
        assert len(world.requests("DELETE")) == 1, (moment, when)

    world.settled(address())
    end(0, "")
    steps = at[0]
    assert steps > 4
    for moment in range(1, steps + 1):
        for when in ("after", "lost"):
            end(moment, when)
        if moment > 1:  # the first write is the PUT, whose operation is lost
            end(moment, "after", polled=True)


def address_sku(world):
    arm_id = annotations(world.read(address()))[RESOURCE_ID]
    return copy_json(world.azure.resources()[arm_id])["sku"]["name"]


def test_ow6_each_type_that_holds_data_is_known():
    types = {kind.version().arm_type.lower() for kind in builtin().kinds()}
    assert types >= {t for t, facts in type_facts().items() if facts.holds_data}
    assert holds_data("Microsoft.Storage/storageAccounts/blobServices/containers")
    assert not holds_data("Microsoft.ContainerService/managedClusters/agentPools")
