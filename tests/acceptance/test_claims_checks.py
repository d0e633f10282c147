"""The documents' promises to authors of checks, and to users who wait for checks."""

import errno

import pytest
from startstate import StartState
from world import World, resource_group, virtual_network

from asoreconcile.azure.middleware.extension_points import (
    POST_RECONCILE,
    PRE_RECONCILE,
    PRE_RECONCILE_OWNER,
)
from asoreconcile.azure.middleware.extension_set import ExtensionSet
from asoreconcile.azure.middleware.requests import Block, NotReady, Proceed, Ready
from asoreconcile.azure.reconcile.model.annotations import RESOURCE_ID
from asoreconcile.base.objects import GroupKind, annotations, dig, key_of

GROUP = GroupKind("resources.azure.com", "ResourceGroup")
NETWORK = GroupKind("network.azure.com", "VirtualNetwork")
SUBNET = GroupKind("network.azure.com", "VirtualNetworksSubnet")


class Spy:
    """An extension at every check of a kind. Each answer is a function of the request,
    or None to let the next one decide.
    """

    def __init__(self, *kinds):
        self.requests = []
        self.owner = self.own = self.post = None
        self.set = ExtensionSet("spy")
        for kind in kinds:
            self.set.on(PRE_RECONCILE_OWNER, kind)(self._at("owner"))
            self.set.on(PRE_RECONCILE, kind)(self._at("own"))
            self.set.on(POST_RECONCILE, kind)(self._at("post"))

    def _at(self, point):
        def check(request, call_next):
            self.requests.append((point, request))
            answer = getattr(self, point)
            given = None if answer is None else answer(request)
            # A check that lets the write through must have asked the next one.
            if given is None or isinstance(given, Proceed | Ready):
                return call_next(request)
            return given

        return check

    def seen(self, point):
        return [request for at, request in self.requests if at == point]


@pytest.fixture(scope="module")
def spy():
    return Spy(NETWORK, SUBNET)


@pytest.fixture(scope="module")
def start(module_path, spy):
    with World(module_path, extensions=[spy.set], retry_after=1) as running:
        names = (GROUP, NETWORK, SUBNET)
        running.install(*(f"{kind.group}/{kind.kind}" for kind in names))
        running.settled(resource_group())
        yield running


@pytest.fixture(scope="module")
def start_state(start, spy):
    return StartState([start, spy])


@pytest.fixture
def network(world):
    obj = virtual_network()
    world.apply(obj)
    return obj


def journal(world, *fragments):
    """Return method and name of the requests that Azure got about some resources, in
    order.
    """
    return [
        f"{r.method} {r.path.rpartition('/')[2]}"
        for r in world.azure.journal
        if r.path.rpartition("/")[2] in fragments
    ]


def raising(error):
    def check(_request):
        raise error

    return check


# Checks after a PUT.


def test_a_resource_is_ready_once_azure_is_unless_a_check_defers(world, network, spy):
    spy.post = lambda _: NotReady("still warming up")
    for _ in range(2):
        world.clock.advance(world.run(network).requeue_after_seconds)
    ready = world.ready(network)
    assert (ready["status"], ready["message"]) == ("False", "still warming up")
    spy.post = None
    world.settle(network)


def test_a_check_is_given_all_that_it_needs(world, network, spy):
    world.settle(network)
    (request,) = spy.seen("post")
    assert request.obj["status"]["id"].endswith("/virtualNetworks/vnet")
    assert request.owner["metadata"]["name"] == "rg"
    ctx = request.ctx
    assert ctx.objects.get(GROUP, key_of(world.read(resource_group())))["kind"]
    assert ctx.arm.get(ctx.arm_id, ctx.version.api_version)["name"] == "vnet"
    assert ctx.log
    assert ctx.clock is world.clock
    group_id = f"/subscriptions/{world.azure.subscription_id}/resourceGroups/rg"
    by_id = virtual_network("by-id")
    by_id["spec"]["owner"] = {"armId": group_id}
    world.apply(by_id)
    world.settle(by_id)
    assert spy.seen("post")[-1].owner is None


@pytest.mark.parametrize(
    ("answer", "reason", "message"),
    [
        (lambda _: NotReady("not yet"), "PostReconciliationFailure", "not yet"),
        (raising(ValueError("secret text")), "Failed", "extension Spy._at.<locals>"),
        (
            raising(OSError(errno.EMFILE, "Too many open files", "secret text")),
            "UnknownError",
            "the operator's process is short of what it needs ([Errno 24] Too many",
        ),
        (
            raising(RuntimeError("can't start new thread")),
            "UnknownError",
            "the operator's process is short of what it needs (can't start new thread)",
        ),
    ],
    ids=["failure", "error", "descriptors", "threads"],
)
def test_a_check_that_fails_keeps_ready_false(
    world, network, spy, answer, reason, message
):
    spy.post = answer
    for _ in range(2):
        world.clock.advance(world.run(network).requeue_after_seconds)
    ready = world.ready(network)
    assert (ready["status"], ready["severity"]) == ("False", "Warning")
    assert ready["reason"] == reason
    assert ready["message"].startswith(message)
    assert "secret text" not in ready["message"]
    spy.post = lambda _: Ready(status_patch=None)
    world.settle(network)


# Checks before a PUT.


def test_checks_and_reads_come_in_order_before_the_write(world, network, spy):
    world.azure.journal.clear()

    def note(point):
        def check(_request):
            world.azure.journal.append(Mark(point))
            return Proceed()

        return check

    spy.owner, spy.own = note("owner-check"), note("own-check")
    world.settle(network)
    order = [f"{e.method} {e.path.rpartition('/')[2]}" for e in world.azure.journal]
    assert order[:5] == [
        "GET rg",
        "CHECK owner-check",
        "GET vnet",
        "CHECK own-check",
        "PUT vnet",
    ]


class Mark:
    """A check's place in the journal of requests."""

    method = "CHECK"

    def __init__(self, point):
        self.path = point


def test_a_blocked_owner_means_the_child_is_not_even_read(world, network, spy):
    world.azure.journal.clear()
    spy.owner = lambda _: Block("the group rests")
    result = world.run(network)
    assert [(e.method, e.path.rpartition("/")[2]) for e in world.azure.journal] == [
        ("GET", "rg")
    ]
    ready = world.ready(network)
    assert (ready["severity"], ready["reason"]) == ("Warning", "ReconciliationBlocked")
    assert ready["message"] == "the group rests"
    assert result.requeue_after_seconds == 1.0
    assert spy.seen("own") == []


@pytest.mark.parametrize("by_id", [False, True], ids=["by-name", "by-id"])
def test_the_owner_is_read_anew_at_each_try(world, spy, by_id):
    obj = virtual_network()
    if by_id:
        group_id = f"/subscriptions/{world.azure.subscription_id}/resourceGroups/rg"
        obj["spec"]["owner"] = {"armId": group_id}
    world.apply(obj)
    world.azure.journal.clear()
    spy.owner = lambda _: Block("the group rests")
    for _ in range(2):
        world.run(obj)
        world.clock.advance(60.0)
    assert len(world.requests("GET", "resourceGroups/rg")) == 2
    owners = [request.owner for request in spy.seen("owner")]
    assert [dig(o, "status.properties.provisioningState") for o in owners] == [
        "Succeeded"
    ] * 2
    assert all(owner["kind"] == "ResourceGroup" for owner in owners)


def test_what_has_no_owner_has_no_owner_check(tmp_path):
    spy = Spy(GROUP)
    with World(tmp_path, extensions=[spy.set]) as world:
        world.install("resources.azure.com/ResourceGroup")
        obj = resource_group()
        world.apply(obj)
        world.settle(obj)
    assert spy.seen("owner") == []
    assert len(spy.seen("own")) == 1


def test_an_owner_check_for_other_owners_lets_the_next_decide(world, network, spy):
    """Extensions hang on a kind of child; its owners may be of several kinds."""

    def only_networks(request):
        return Proceed() if request.owner["kind"] == "ResourceGroup" else Block("no")

    spy.owner = only_networks
    world.settle(network)
    assert journal(world, "vnet").count("PUT vnet") == 1


@pytest.mark.parametrize("point", ["owner", "own"])
def test_a_check_that_breaks_is_a_condition_and_nothing_is_written(
    world, network, spy, point
):
    setattr(spy, point, raising(RuntimeError("broken")))
    world.run(network)
    ready = world.ready(network)
    assert (ready["severity"], ready["reason"]) == ("Warning", "Failed")
    assert world.requests("PUT", "vnet") == []
    setattr(spy, point, None)
    world.settle(network)


def test_checks_do_not_stand_in_the_way_of_a_deletion(world, network, spy):
    """The documents promise them for DELETE too; in ASO they guard creating and
    updating only, and so they do here: a stuck owner must not keep its children.
    """
    world.settle(network)
    spy.owner = lambda _: Block("the group rests")
    spy.own = lambda _: Block("the network rests")
    seen = len(spy.requests)
    world.delete(network)
    assert world.settle(network) is None
    assert len(spy.requests) == seen
    assert len(world.requests("DELETE", "vnet")) == 1


def test_a_check_can_be_added_to_any_kind(world, spy):
    """One that no extension of our own looks at."""
    world.install("network.azure.com/VirtualNetworksSubnet")
    network = virtual_network()
    world.apply(network)
    world.settle(network)
    spy.own = lambda request: Block(f"{request.obj['kind']} is checked")
    subnet = {
        "apiVersion": "network.azure.com/v20250301",
        "kind": "VirtualNetworksSubnet",
        "metadata": {"name": "web"},
        "spec": {"owner": {"name": "vnet"}, "addressPrefix": "10.0.1.0/24"},
    }
    world.apply(subnet)
    world.run(subnet)
    assert world.ready(subnet)["message"] == "VirtualNetworksSubnet is checked"
    assert world.requests("PUT", "subnets/web") == []
    assert annotations(world.read(subnet))[RESOURCE_ID].endswith("/subnets/web")
