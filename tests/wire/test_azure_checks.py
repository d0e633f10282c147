"""What checks see and what their answers come to, where the claims say nothing of it."""

import pytest
from world import World, resource_group, virtual_network

from asoreconcile.azure.arm.condition_error import RetryClass
from asoreconcile.azure.middleware.context import SuboperationPending
from asoreconcile.azure.middleware.extension_points import (
    EVERY_SUCCESS,
    EXPORT_CONFIG_MAPS,
    POST_RECONCILE,
    PRE_RECONCILE,
    PRE_RECONCILE_OWNER,
)
from asoreconcile.azure.middleware.extension_set import ExtensionSet
from asoreconcile.azure.middleware.requests import Block, NotReady, Postpone, Ready
from asoreconcile.azure.reconcile.model.annotations import (
    CHILD_ID_OVERRIDE,
    POLLER_TOKEN,
    RESOURCE_ID,
)
from asoreconcile.base.objects import GroupKind, annotations, dig

GROUPS = "resources.azure.com/ResourceGroup"
NETWORKS = "network.azure.com/VirtualNetwork"
NETWORK = GroupKind("network.azure.com", "VirtualNetwork")
VNET = "virtualNetworks/vnet"
POINTS = {
    "owner": PRE_RECONCILE_OWNER,
    "own": PRE_RECONCILE,
    "post": POST_RECONCILE,
    "export": EXPORT_CONFIG_MAPS,
    "success": EVERY_SUCCESS,
}


class Checks:
    """Extensions of a network whose answers a test gives, at points it names."""

    def __init__(self):
        self.answers = {}
        self.set = ExtensionSet("checks")
        self.order = []

    def at(self, *names):
        for name in names:
            self.set.on(POINTS[name], NETWORK)(self._link(name))
        return self

    def _link(self, name):
        def link(request, call_next):
            self.order.append(name)
            answer = self.answers.get(name)
            if answer is None:
                return call_next(request)
            if name in ("post", "success"):
                call_next(request)
            return answer(request)

        return link


@pytest.fixture
def checks():
    return Checks()


@pytest.fixture
def made(tmp_path, checks):
    """Makes a world whose networks are checked at some points; group and network."""
    worlds = []

    def make(*points):
        world = World(tmp_path, extensions=[checks.at(*points).set])
        worlds.append(world.__enter__())
        world.install(GROUPS, NETWORKS)
        world.settled(resource_group())
        world.apply(virtual_network())
        return world, virtual_network()

    yield make
    for world in worlds:
        world.__exit__(None, None, None)


def test_nothing_is_sent_below_an_owner_that_azure_does_not_have(made, checks):
    """Neither checked nor put: Azure may take a child for an owner in soft delete."""
    world, network = made("owner", "own")
    world.azure.faults.answer("GET", "resourceGroups/rg$", 404, code="NotFound")
    asked_again = world.run(network).requeue_after_seconds
    assert checks.order == []
    assert world.requests("PUT", VNET) == []
    ready = world.ready(network)
    assert (ready["reason"], ready["severity"]) == ("WaitingForOwner", "Warning")
    assert "/resourceGroups/rg does not exist in Azure" in ready["message"]
    world.clock.advance(asked_again)
    world.settle(network)
    assert checks.order[0] == "owner"


def test_a_check_sees_no_status_of_a_resource_that_went(made, checks):
    """It would be held back for ever by the state it had last."""
    world, network = made("own")
    world.settle(network)
    (id_,) = [i for i in world.azure.resources() if i.endswith(VNET)]
    world.azure.remove(id_)
    seen = []
    checks.answers["own"] = lambda r: seen.append(r.obj["status"]) or Block("x")
    world.run(network)
    assert seen == [{}]


def test_an_owner_that_cannot_be_read_holds_its_child_back(made, checks):
    world, network = made("owner")
    world.azure.faults.answer("GET", "resourceGroups/rg$", 403, code="Forbidden")
    world.run(network)
    ready = world.ready(network)
    assert (ready["reason"], ready["severity"]) == ("Forbidden", "Warning")
    assert world.requests("PUT", VNET) == []


def test_an_owner_check_sees_the_owner_s_own_object(made, checks):
    seen = []
    world, network = made("owner")
    checks.answers["owner"] = lambda request: seen.append(request.owner) or Block("x")
    world.run(network)
    (owner,) = seen
    assert owner["spec"]["location"] == "westeurope"
    assert annotations(owner)[RESOURCE_ID].endswith("/resourceGroups/rg")


def raised(error):
    raise error


@pytest.mark.parametrize(
    "wait",
    [
        lambda _: Postpone(77.0),
        lambda _: raised(SuboperationPending("sync", after_seconds=77.0)),
    ],
    ids=["postponed", "operation runs"],
)
def test_r1_10_an_owner_check_can_postpone(made, checks, wait):
    world, network = made("owner", "own")
    checks.answers["owner"] = wait
    assert world.run(network).requeue_after_seconds == 77.0
    assert world.ready(network)["reason"] == "Reconciling"
    assert checks.order == ["owner"]
    assert world.requests("PUT", VNET) == []


def test_r1_10_a_block_says_how_soon_it_is_tried_again(made, checks):
    world, network = made("own")
    checks.answers["own"] = lambda _: Block("x", retry=RetryClass.VERY_SLOW)
    assert world.run(network).requeue_after_seconds == 3600.0


def test_a_check_sees_the_status_as_azure_has_it_now(made, checks):
    world, network = made("own")
    world.settle(network)
    (id_,) = [i for i in world.azure.resources() if i.endswith(VNET)]
    world.azure.seed(id_, {"location": "westeurope", "tags": {"by": "hand"}})
    seen = []
    checks.answers["own"] = lambda r: (
        seen.append(dig(r.obj, "status.tags")) or Block("x")
    )
    world.run(network)
    assert seen == [{"by": "hand"}]


def test_a_check_after_the_put_shares_the_read_of_its_pass(made, checks):
    world, network = made("post")
    checks.answers["post"] = lambda r: Ready() if r.ctx.raw_get() else NotReady("x")
    world.settle(network)
    # One to keep the subnets, one after the PUT; none for the check.
    assert len(world.requests("GET", VNET)) == 2


def test_d15_checks_come_before_exports_and_success_after_them(made, checks):
    world, network = made("post", "export", "success")
    checks.answers["post"] = lambda _: NotReady("not yet")
    world.run(network)
    world.clock.advance(60.0)
    world.run(network)
    assert checks.order == ["post"]
    checks.answers.clear()
    checks.order.clear()
    world.settle(network)
    assert checks.order == ["post", "export", "success"]


def test_a_check_may_mend_the_status_and_success_writes_notes(made, checks):
    """The check wins over Azure's response."""
    world, network = made("post", "success")
    network["spec"]["tags"] = {"seen": "no"}
    world.apply(network)
    mended = Ready(status_patch={"tags": {"seen": "yes"}})
    checks.answers["post"] = lambda _: mended
    checks.answers["success"] = lambda r: {"example.com/tags": str(r.obj["status"])}
    present = world.settle(network)
    assert present["status"]["tags"] == {"seen": "yes"}
    assert "'seen': 'yes'" in annotations(present)["example.com/tags"]


def test_children_of_an_owner_that_says_so_live_elsewhere(made):
    """As those of a subscription's alias do."""
    world, network = made()
    elsewhere = f"/subscriptions/{world.azure.subscription_id}/resourceGroups/other"
    world.azure.seed(elsewhere, {"location": "westeurope"})
    world.annotate(resource_group(), **{CHILD_ID_OVERRIDE: elsewhere})
    id_ = annotations(world.settle(network))[RESOURCE_ID]
    assert id_ == f"{elsewhere}/providers/Microsoft.Network/{VNET}"


def test_r1_14_a_token_of_another_resource_is_not_polled(tmp_path):
    """An annotation can be copied with a manifest."""
    with World(tmp_path, lro=30.0, retry_after=10) as world:
        world.install(GROUPS, NETWORKS)
        world.settled(resource_group())
        one, other = virtual_network("one"), virtual_network("other")
        for obj in (one, other):
            world.apply(obj)
            world.run(obj)
        theirs = annotations(world.read(one))[POLLER_TOKEN]
        world.annotate(other, **{POLLER_TOKEN: theirs})
        world.clock.advance(60.0)
        world.run(other)
        assert "belongs to another resource" in world.ready(other)["message"]
        assert POLLER_TOKEN not in annotations(world.read(other))
        world.settle(other)
