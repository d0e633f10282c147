"""Extensions around the GET and the PUT of a kind."""

import attrs
import pytest
from world import World, resource_group, virtual_network

from asoreconcile.azure.arm.collection_reads import CollectionReads
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.middleware.context import ResourceRead
from asoreconcile.azure.middleware.extension_points import GET, PUT
from asoreconcile.azure.middleware.extension_set import ExtensionSet
from asoreconcile.azure.middleware.requests import Block, Postpone
from asoreconcile.azure.reconcile.model.annotations import RESOURCE_ID
from asoreconcile.azure.reconcile.model.drift_baseline import RepairAttempts
from asoreconcile.azure.reconcile.model.put_budget import PutBudget
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import GroupKind, annotations, dig, key_of, uid_of

NETWORK = GroupKind("network.azure.com", "VirtualNetwork")
VNET = "virtualNetworks/vnet"


def next_link(request, call_next):
    return call_next(request)


class Links:
    """Extensions whose functions a test replaces."""

    def __init__(self):
        self.get = self.put = next_link


@pytest.fixture(scope="module")
def links():
    return Links()


@pytest.fixture(scope="module")
def start(module_path, links):
    around = ExtensionSet("around")

    @around.on(GET, NETWORK)
    def get(request, call_next):
        return links.get(request, call_next)

    @around.on(PUT, NETWORK)
    def put(request, call_next):
        return links.put(request, call_next)

    with World(module_path, extensions=[around], lro=5.0, retry_after=1) as running:
        running.operator = attrs.evolve(running.operator, sync_mode=SyncMode.COMPARE)
        running.install(
            "resources.azure.com/ResourceGroup", f"{NETWORK.group}/{NETWORK.kind}"
        )
        running.settled(resource_group())
        yield running


@pytest.fixture(autouse=True)
def network(links, world):
    links.get = links.put = next_link
    return virtual_network()


def sent(world):
    return world.requests("PUT", VNET)


def memory_of(world, network):
    obj = world.read(network)
    return world.kind_of(network).memories.of(key_of(obj), uid_of(obj))


def change_in_azure(world, network, number):
    """Another writer changes a declared value."""
    arm_id = annotations(world.read(network))[RESOURCE_ID]
    found = world.arm.get(arm_id, "2024-01-01")
    space = {"addressPrefixes": [f"10.{number + 1}.0.0/16"]}
    changed = {**found, "properties": {**found["properties"], "addressSpace": space}}
    world.azure.seed(arm_id, changed)


def test_an_extension_of_get_changes_what_everything_after_it_reads(
    world, links, network
):
    def hides(request, call_next):
        read = call_next(request)
        if read.body is None:
            return read
        space = {"addressPrefixes": ["10.9.0.0/16"]}
        properties = {**read.body["properties"], "addressSpace": space}
        return ResourceRead({**read.body, "properties": properties})

    world.settle(world.apply(network))
    before = len(sent(world))
    links.get = hides
    world.clock.advance(3600.0)
    world.run(network)
    # The sync compares what the extension returns, and repairs it.
    assert len(sent(world)) == before + 1
    world.settle(network)
    shown = dig(world.read(network)["status"], "addressSpace.addressPrefixes")
    assert shown == ["10.9.0.0/16"]


def test_a_get_that_reads_itself_is_an_error_that_names_the_extension(
    world, links, network
):
    world.settle(world.apply(network))
    links.get = lambda request, _: ResourceRead(request.ctx.raw_get())
    world.clock.advance(3600.0)
    world.run(network)
    message = world.ready(network)["message"]
    assert "set around" in message
    assert "at point get" in message


def test_a_kind_with_an_extension_of_get_is_not_read_from_a_list(world, network):
    reads = CollectionReads(world.clock, max_age_seconds=1800.0)
    world.operator = attrs.evolve(world.operator, collection_reads=reads)
    world.settle(world.apply(network))
    world.azure.journal.clear()
    for _ in range(3):
        world.clock.advance(3600.0)
        world.run(network)
    assert len(world.requests("GET", VNET)) == 3
    lists = [one for one in world.azure.journal if one.path.endswith("virtualNetworks")]
    assert lists == []


@pytest.mark.parametrize(
    "held", [Postpone(30.0), Block("frozen")], ids=["wait", "block"]
)
def test_a_put_that_an_extension_holds_is_neither_sent_nor_counted(
    world, links, network, held
):
    world.settle(world.apply(network))
    world.azure.journal.clear()
    links.put = lambda *_: held
    ready = world.ready(network)
    counted = []
    world.operator = attrs.evolve(
        world.operator, count_sync=lambda *given: counted.append(given)
    )
    for number in range(25):
        change_in_azure(world, network, number)
        world.clock.advance(3600.0)
        world.run(network)
    assert sent(world) == []
    assert not [is_put for _, is_put in counted if is_put]
    memory = memory_of(world, network)
    assert memory.part(PutBudget).sent == ()
    assert not memory.part(RepairAttempts).repairs
    shown = "ReconciliationBlocked" if isinstance(held, Block) else ready["reason"]
    assert world.ready(network)["reason"] == shown
    links.put = next_link
    world.settle(network)
    assert len(sent(world)) == 1
    assert world.ready(network)["status"] == ready["status"] == "True"


class BrokenError(AsoreconcileError):
    """A failure of an extension."""


@pytest.mark.parametrize("error", ["own", "azure"])
def test_an_extension_that_fails_after_an_accepted_put_causes_no_second_one(
    world, links, network, error
):
    def fails(request, call_next):
        call_next(request)
        if error == "own":
            raise BrokenError("the inventory does not answer")
        request.ctx.arm.get(f"{request.ctx.arm_id}x", "2024-01-01")
        raise AssertionError

    links.put = fails
    world.apply(network)
    world.settle(network)
    assert len(sent(world)) == 1
    assert world.ready(network)["status"] == "True"


def test_an_extension_of_put_changes_the_body_and_sees_the_answer(
    world, links, network
):
    seen = []

    def tagged(request, call_next):
        body = {**request.body, "tags": {"cost": "c1"}}
        seen.append(call_next(attrs.evolve(request, body=body)))
        return seen[-1]

    links.put = tagged
    world.settle(world.apply(network))
    assert [one.body["tags"] for one in sent(world)] == [{"cost": "c1"}]
    assert type(seen[0]).__name__ == "Pending"


def test_a_refusal_that_an_extension_postpones_is_not_shown(world, links, network):
    def again(request, call_next):
        try:
            return call_next(request)
        except ArmError:
            return Postpone(30.0)

    links.put = again
    world.azure.faults.answer("PUT", VNET, 409, code="ServerIsBusy")
    world.apply(network)
    while not sent(world):
        result = world.run(network)
    assert result.requeue_after_seconds == 30.0
    assert world.ready(network)["reason"] == "Reconciling"
    world.settle(network)
    assert len(sent(world)) == 2
    assert world.ready(network)["status"] == "True"
