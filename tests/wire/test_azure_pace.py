"""An object's own pace: pause, maintenance windows, sync period, reconcile now."""

from datetime import timedelta

import attrs
import pytest
from world import World, resource_group, virtual_network

from asoreconcile.azure.reconcile.model.annotations import (
    MAINTENANCE_WINDOWS,
    OPERATOR_NAMESPACE,
    PAUSED,
    POLLER_TOKEN,
    RECONCILE_AT,
    RECONCILED_AT,
    RESOURCE_ID,
    SYNC_PERIOD,
)
from asoreconcile.azure.reconcile.model.sync_mode import SYNC_MODE, SyncMode
from asoreconcile.base.objects import ObjectKey, annotations
from asoreconcile.kube.resources import NAMESPACES

GROUP, NETWORK = resource_group(), virtual_network()


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path, lro=30.0, retry_after=10) as running:
        running.operator = attrs.evolve(running.operator, sync_mode=SyncMode.COMPARE)
        running.install(
            "resources.azure.com/ResourceGroup", "network.azure.com/VirtualNetwork"
        )
        for obj in (GROUP, NETWORK):
            running.settled(obj)
        running.run(NETWORK)
        yield running


def annotate_namespace(world, **notes):
    body = {"metadata": {"annotations": notes}}
    world.client.patch(NAMESPACES, ObjectKey("", "default"), body)


def window_in(world, hours):
    """A daily window of an hour that opens in so many hours."""
    start = world.clock.now() + timedelta(hours=hours)
    return f"{start.minute} {start.hour} * * * 1h"


def asked(world, method):
    return len(world.requests(method, "virtualNetworks"))


def all_asked(world):
    return [(one.method, one.path) for one in world.azure.journal]


def change_in_azure(world):
    """A colleague changes a declared value."""
    arm_id = annotations(world.read(NETWORK))[RESOURCE_ID]
    body = world.arm.get(arm_id, "2024-07-01")
    body["properties"]["addressSpace"]["addressPrefixes"] = ["10.9.0.0/16"]
    world.arm.put(arm_id, "2024-07-01", body)
    world.clock.advance(60.0)


def reached(world):
    arm_id = annotations(world.read(NETWORK))[RESOURCE_ID]
    found = world.arm.get(arm_id, "2024-07-01")
    return found["properties"]["addressSpace"]["addressPrefixes"]


def begun(world):
    """Return a network whose creation is under way."""
    new = virtual_network("new")
    world.apply(new)
    world.run(new)
    assert POLLER_TOKEN in annotations(world.read(new))
    return new


# Maintenance windows.


@pytest.mark.parametrize("whose", ["object", "Namespace"])
def test_ow7_a_change_waits_for_the_window(world, whose):
    window = {MAINTENANCE_WINDOWS: window_in(world, 2)}
    if whose == "object":
        world.annotate(NETWORK, **window)
    else:
        annotate_namespace(world, **window)
    before = asked(world, "PUT")
    world.apply(virtual_network(tags={"a": "b"}))
    result = world.run(NETWORK)
    ready = world.ready(NETWORK)
    assert (ready["status"], ready["severity"]) == ("False", "Info")
    assert ready["reason"] == "OutsideMaintenanceWindow"
    assert "until 2026-01-01T0" in ready["message"]
    assert 3600.0 < result.requeue_after_seconds <= 7200.0
    assert asked(world, "PUT") == before
    assert [e for e in world.events if e[2] == "CreateOrUpdateActionError"] == []
    world.clock.advance(result.requeue_after_seconds)
    assert world.settle(NETWORK)
    assert asked(world, "PUT") == before + 1


def test_ow7_a_deletion_waits_for_the_window(world):
    world.annotate(NETWORK, **{MAINTENANCE_WINDOWS: window_in(world, 2)})
    world.delete(NETWORK)
    result = world.run(NETWORK)
    assert world.ready(NETWORK)["reason"] == "OutsideMaintenanceWindow"
    assert world.requests("DELETE") == []
    world.clock.advance(result.requeue_after_seconds)
    assert world.settle(NETWORK) is None


def test_ow7_a_window_set_while_a_put_was_decided_holds_it(world):
    before = world.apply(virtual_network(tags={"a": "b"}))
    world.annotate(NETWORK, **{MAINTENANCE_WINDOWS: window_in(world, 2)})
    puts = asked(world, "PUT")
    world.run_once(NETWORK, stale=before)
    world.run(NETWORK)
    assert asked(world, "PUT") == puts


def test_ow7_outside_the_window_reads_go_on_and_a_difference_waits(world):
    change_in_azure(world)
    world.annotate(NETWORK, **{MAINTENANCE_WINDOWS: window_in(world, 1)})
    puts, gets = asked(world, "PUT"), asked(world, "GET")
    result = world.run(NETWORK)
    assert asked(world, "GET") > gets
    assert asked(world, "PUT") == puts
    assert world.ready(NETWORK)["status"] == "True"
    conditions = world.read(NETWORK)["status"]["conditions"]
    (drifted,) = [one for one in conditions if one["type"] == "Drifted"]
    assert "addressPrefixes" in drifted["message"]
    # Syncs come at the object's own times; one of them is when the window opens.
    opens = (world.clock.now() + timedelta(hours=1)).replace(second=0)
    while world.clock.now() < opens:
        assert asked(world, "PUT") == puts
        world.clock.advance(result.requeue_after_seconds)
        result = world.run(NETWORK)
    assert world.clock.now() - opens < timedelta(minutes=1)
    world.settle(NETWORK)
    assert reached(world) == ["10.0.0.0/16"]


def test_ow7_outside_the_window_a_sync_by_put_reads_too(world):
    annotate_namespace(world, **{MAINTENANCE_WINDOWS: window_in(world, 2)})
    world.annotate(NETWORK, **{SYNC_MODE: "put"})
    puts = asked(world, "PUT")
    world.run(NETWORK)
    assert asked(world, "PUT") == puts
    assert world.ready(NETWORK)["status"] == "True"


def test_ow7_an_operation_goes_on_outside_the_window(world):
    new = begun(world)
    world.annotate(new, **{MAINTENANCE_WINDOWS: window_in(world, 5)})
    assert world.settle(new)


def test_ow7_windows_that_cannot_be_read_never_open(world):
    world.annotate(NETWORK, **{MAINTENANCE_WINDOWS: "0 2 * * st 4h"})
    puts = asked(world, "PUT")
    world.apply(virtual_network(tags={"a": "b"}))
    for _ in range(5):
        world.clock.advance(world.run(NETWORK).requeue_after_seconds)
    assert asked(world, "PUT") == puts
    assert "did you mean sat?" in world.ready(NETWORK)["message"]
    events = [e for e in world.events if e[2] == "UnknownAnnotationValue"]
    assert len(events) == 1


# Reconcile now.


def test_ow7_reconcile_at_overrides_the_window_once(world):
    world.annotate(NETWORK, **{MAINTENANCE_WINDOWS: window_in(world, 2)})
    world.apply(virtual_network(tags={"a": "b"}))
    world.run(NETWORK)
    puts = asked(world, "PUT")
    world.annotate(NETWORK, **{RECONCILE_AT: "1"})
    assert world.settle(NETWORK)
    assert asked(world, "PUT") == puts + 1
    assert annotations(world.read(NETWORK))[RECONCILED_AT] == "1"
    world.apply(virtual_network(tags={"a": "c"}))
    world.run(NETWORK)
    assert world.ready(NETWORK)["reason"] == "OutsideMaintenanceWindow"


def test_ow7_reconcile_at_lets_a_deletion_through(world):
    world.annotate(NETWORK, **{MAINTENANCE_WINDOWS: window_in(world, 2)})
    world.delete(NETWORK)
    world.run(NETWORK)
    world.annotate(NETWORK, **{RECONCILE_AT: "1"})
    assert world.settle(NETWORK) is None


def test_ow7_reconcile_at_waits_for_the_end_of_a_pause(world):
    change_in_azure(world)
    world.annotate(NETWORK, **{PAUSED: "true", RECONCILE_AT: "1"})
    before = all_asked(world)
    world.run(NETWORK)
    assert all_asked(world) == before
    assert RECONCILED_AT not in annotations(world.read(NETWORK))
    world.annotate(NETWORK, **{PAUSED: None})
    world.run(NETWORK)
    world.settle(NETWORK)
    assert reached(world) == ["10.0.0.0/16"]
    assert annotations(world.read(NETWORK))[RECONCILED_AT] == "1"


def test_ow7_reconcile_at_reads_and_repairs_now(world):
    change_in_azure(world)
    world.annotate(NETWORK, **{RECONCILE_AT: "now"})
    world.run(NETWORK)
    world.settle(NETWORK)
    assert reached(world) == ["10.0.0.0/16"]


def test_ow7_a_request_is_handled_after_a_restart(world):
    """The next process would otherwise only wait for its time."""
    world.annotate(NETWORK, **{RECONCILE_AT: "1"})
    world.restart()
    gets = asked(world, "GET")
    world.run(NETWORK)
    assert asked(world, "GET") == gets + 1
    world.restart()
    world.run(NETWORK)
    assert asked(world, "GET") == gets + 1


# Sync period.


@pytest.mark.parametrize(
    ("notes", "mode", "low", "high"),
    [
        ({SYNC_PERIOD: "10m"}, "compare", 450.0, 750.0),
        ({SYNC_PERIOD: "10m"}, "put", 600.0, 600.0),
        ({SYNC_PERIOD: "often"}, "put", 3600.0, 3600.0),
    ],
)
def test_ow7_an_object_has_a_period_of_its_own(world, notes, mode, low, high):
    world.annotate(NETWORK, **{SYNC_MODE: mode}, **notes)
    for _ in range(20):
        result = world.run(NETWORK)
        if world.ready(NETWORK)["status"] == "True" and POLLER_TOKEN not in annotations(
            world.read(NETWORK)
        ):
            break
        world.clock.advance(result.requeue_after_seconds)
    assert low <= result.requeue_after_seconds <= high


@pytest.mark.parametrize("mode", ["compare", "put"])
def test_ow7_a_namespace_s_never_ends_the_syncs(world, mode):
    annotate_namespace(world, **{SYNC_PERIOD: "never", SYNC_MODE: mode})
    results = []
    for _ in range(20):
        results.append(world.run(NETWORK).requeue_after_seconds)
        world.clock.advance(results[-1] or 0.0)
    assert results[-1] is None


# Pause.


@pytest.mark.parametrize("value", ["true", "yes"])
def test_ow7_a_paused_object_asks_azure_nothing(world, value):
    world.annotate(NETWORK, **{PAUSED: value})
    before = all_asked(world)
    assert world.run(NETWORK).requeue_after_seconds is None
    assert world.ready(NETWORK)["status"] == "True"
    world.apply(virtual_network(tags={"a": "b"}))
    world.run(NETWORK)
    ready = world.ready(NETWORK)
    assert (ready["reason"], ready["severity"]) == ("Paused", "Info")
    assert PAUSED in ready["message"]
    world.restart()
    world.run(NETWORK)
    assert all_asked(world) == before
    world.annotate(NETWORK, **{PAUSED: None})
    assert world.settle(NETWORK)


def test_ow7_a_paused_namespace_holds_deletions_and_new_objects(world):
    annotate_namespace(world, **{PAUSED: "true"})
    before = all_asked(world)
    world.delete(NETWORK)
    new = virtual_network("new")
    world.apply(new)
    for obj in (NETWORK, new):
        world.run(obj)
        assert world.ready(obj)["reason"] == "Paused"
    assert all_asked(world) == before
    annotate_namespace(world, **{PAUSED: None})
    assert world.settle(NETWORK) is None
    assert world.settle(new)


def test_ow7_a_paused_operation_is_not_polled_and_goes_on_later(world):
    new = begun(world)
    world.annotate(new, **{PAUSED: "true"})
    before = all_asked(world)
    world.clock.advance(100.0)
    world.run(new)
    assert all_asked(world) == before
    world.annotate(new, **{PAUSED: None})
    puts = asked(world, "PUT")
    assert world.settle(new)
    assert asked(world, "PUT") == puts


def test_ow7_a_pause_set_while_a_put_was_decided_holds_it(world):
    before = world.apply(virtual_network(tags={"a": "b"}))
    world.annotate(NETWORK, **{PAUSED: "true"})
    puts = asked(world, "PUT")
    world.run_once(NETWORK, stale=before)
    assert asked(world, "PUT") == puts


def test_ow7_another_operator_s_object_is_not_paused_by_us(world):
    world.annotate(NETWORK, **{PAUSED: "true", OPERATOR_NAMESPACE: "another"})
    world.apply(virtual_network(tags={"a": "b"}), marked=False)
    world.run(NETWORK)
    assert world.ready(NETWORK)["status"] == "True"
