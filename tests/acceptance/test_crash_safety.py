"""The manager is killed between two of its steps and started again.

What it did is read from Azure's request journal: no write is repeated that was known to
have been accepted, nothing is forgotten.
"""

import pytest
from operation import WAIT_SECONDS, Operation
from world import resource_group, virtual_network

from asoreconcile.azure.reconcile.model.annotations import FINALIZER, POLLER_TOKEN
from asoreconcile.azure.reconcile.model.drift_baseline import OBSERVED, loads
from asoreconcile.base.objects import annotations, finalizers

NETWORKS = "virtualNetworks/vnet$"
MONITORS = "/operations/"


@pytest.fixture
def operation(tmp_path):
    with Operation(tmp_path) as running:
        running.install(resource_group(), virtual_network())
        yield running


@pytest.fixture
def network(operation):
    """A network that is applied, in a group that is Ready."""
    group, child = resource_group(), virtual_network()
    operation.start_manager()
    operation.apply(group)
    operation.wait_ready(group)
    operation.apply(child)
    return child


def arrives(hold):
    assert hold.wait_arrived(WAIT_SECONDS), "no such request came"


def test_killed_with_a_recorded_token_it_goes_on_polling(operation):
    poll = operation.azure.faults.hold(method="GET", path=MONITORS)
    group, child = resource_group(), virtual_network()
    operation.start_manager()
    operation.apply(group)
    operation.apply(child)
    arrives(poll)
    operation.kill_manager()
    poll.drop()
    present = operation.wait_for(child, lambda obj: obj is not None)
    assert POLLER_TOKEN in annotations(present)
    operation.start_manager()
    operation.wait_ready(child)
    assert len(operation.requests("PUT", "virtualNetworks/vnet")) == 1
    assert POLLER_TOKEN not in annotations(operation.wait_ready(child))


@pytest.mark.parametrize("answered", ["at once", "by an operation"])
def test_killed_between_answer_and_record_it_repeats_the_put_once(operation, answered):
    if answered == "at once":
        operation.answer_at_once("Network/virtualNetworks")
    put = operation.azure.faults.hold(method="PUT", path=NETWORKS, phase="after")
    group, child = resource_group(), virtual_network()
    operation.start_manager()
    operation.apply(group)
    operation.apply(child)
    arrives(put)
    record = operation.cluster.faults.hold(method="PATCH", path="virtualnetworks/vnet")
    put.release()
    arrives(record)
    operation.kill_manager()
    record.drop()
    operation.start_manager()
    operation.wait_ready(child)
    puts = operation.requests("PUT", "virtualNetworks/vnet")
    assert len(puts) == 2
    assert puts[0].body == puts[1].body
    assert loads(annotations(operation.read(child))[OBSERVED]).put


def test_killed_before_the_put_arrived_nothing_is_orphaned(operation):
    put = operation.azure.faults.hold(method="PUT", path=NETWORKS)
    group, child = resource_group(), virtual_network()
    operation.start_manager()
    operation.apply(group)
    operation.apply(child)
    arrives(put)
    operation.kill_manager()
    claimed = operation.wait_for(child, lambda obj: obj is not None)
    assert FINALIZER in finalizers(claimed)
    put.drop()
    operation.start_manager()
    operation.wait_ready(child)
    assert len(operation.azure.resources()) == 2


def test_killed_during_a_delete_it_goes_on_polling(operation, network):
    operation.wait_ready(network)
    poll = operation.azure.faults.hold(method="GET", path=MONITORS)
    operation.delete(network)
    arrives(poll)
    operation.kill_manager()
    poll.drop()
    operation.start_manager()
    operation.wait_gone(network)
    assert len(operation.requests("DELETE", "virtualNetworks/vnet")) == 1
    assert len(operation.azure.resources()) == 1


def test_killed_between_a_delete_s_answer_and_its_record(operation, network):
    operation.wait_ready(network)
    delete = operation.azure.faults.hold(method="DELETE", path=NETWORKS, phase="after")
    operation.delete(network)
    arrives(delete)
    record = operation.cluster.faults.hold(method="PATCH", path="virtualnetworks/vnet")
    delete.release()
    arrives(record)
    operation.kill_manager()
    record.drop()
    operation.start_manager()
    operation.wait_gone(network)
    assert len(operation.requests("DELETE", "virtualNetworks/vnet")) <= 2
    assert len(operation.azure.resources()) == 1
