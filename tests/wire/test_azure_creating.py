"""The rules of creating and updating that need a whole pass to show."""

import attrs
import pytest
from world import World, resource_group, virtual_network

from asoreconcile.azure.middleware.extension_points import (
    CLASSIFY_ERROR,
    POST_RECONCILE,
    PRE_RECONCILE,
    PRE_RECONCILE_OWNER,
)
from asoreconcile.azure.middleware.extension_set import ExtensionSet
from asoreconcile.azure.middleware.requests import Block, NotReady, Postpone
from asoreconcile.azure.reconcile.model.annotations import (
    DELETE_POLLER,
    LAST_RECONCILED_VERSION,
    POLLER_ID,
    POLLER_TOKEN,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.sync_mode import ForeignTags
from asoreconcile.base.objects import GroupKind, annotations, key_of, labels
from asoreconcile.kube.errors import ConflictError

GROUPS = "resources.azure.com/ResourceGroup"
NETWORKS = "network.azure.com/VirtualNetwork"
GROUP = GroupKind("resources.azure.com", "ResourceGroup")
NETWORK = GroupKind("network.azure.com", "VirtualNetwork")


class Checks:
    """Extensions whose answers a test sets; None lets the next one answer."""

    def __init__(self):
        self.owner = self.own = self.post = self.classification = None
        self.set = ExtensionSet("checks")
        self.set.on(PRE_RECONCILE_OWNER, NETWORK)(self._owner)
        self.set.on(PRE_RECONCILE, NETWORK)(self._own)
        self.set.on(POST_RECONCILE, NETWORK)(self._post)
        self.set.on(CLASSIFY_ERROR, NETWORK)(self._classify)

    def _owner(self, request, call_next):
        return self.owner or call_next(request)

    def _own(self, request, call_next):
        return self.own or call_next(request)

    def _post(self, request, call_next):
        return self.post or call_next(request)

    def _classify(self, request, call_next):
        if self.classification is not None:
            raise self.classification
        return call_next(request)


@pytest.fixture(scope="module")
def checks():
    return Checks()


@pytest.fixture(scope="module")
def start(module_path, checks):
    with World(
        module_path, extensions=[checks.set], lro=30.0, retry_after=10
    ) as running:
        running.install(GROUPS, NETWORKS)
        yield running


@pytest.fixture
def group(world):
    return world.settled(resource_group())


@pytest.fixture
def network(world, group):
    """A network that is Ready."""
    return world.settled(virtual_network())


def edit(world, obj, body):
    """Change an object as a user would."""
    return world.client.patch(world.resource_for(obj), key_of(obj), body)


def notes_of(world, obj):
    return annotations(world.read(obj))


def test_r1_9_a_blocked_owner_spares_the_resource_its_get(world, group, checks):
    checks.owner = Block("the group rests")
    child = virtual_network()
    world.apply(child)
    world.run(child)
    assert world.ready(child)["reason"] == "ReconciliationBlocked"
    assert world.requests("GET", "virtualNetworks") == []
    assert world.requests("PUT", "virtualNetworks") == []


@pytest.mark.parametrize(
    ("mode", "reads"), [(ForeignTags.KEEP, ["GET"]), (ForeignTags.REPLACE, [])]
)
def test_r1_9_without_checks_a_get_before_the_put_is_for_foreign_tags(
    world, mode, reads
):
    world.operator = attrs.evolve(world.operator, foreign_tags=mode)
    obj = resource_group()
    world.apply(obj)
    world.run(obj)
    assert [r.method for r in world.azure.journal] == [*reads, "PUT", "GET"]


def test_r1_10_block_is_a_warning_that_is_tried_slowly(world, group, checks):
    checks.own = Block("not on Fridays")
    child = virtual_network()
    world.apply(child)
    delays = [world.run(child).requeue_after_seconds for _ in range(9)]
    ready = world.ready(child)
    assert (ready["severity"], ready["message"]) == ("Warning", "not on Fridays")
    assert delays == [1, 2, 4, 8, 16, 32, 64, 128, 180]
    assert world.requests("PUT", "virtualNetworks") == []


@pytest.mark.parametrize("edited", [False, True], ids=["as-it-was", "edited"])
def test_r1_10_postpone_keeps_the_previous_ready(world, network, checks, edited):
    before = world.ready(network)
    checks.own = Postpone(7.0)
    if edited:
        world.apply(virtual_network(tags={"a": "b"}))
    result = world.run(network)
    assert world.ready(network) == before
    assert result.requeue_after_seconds == 7.0
    assert len(world.requests("PUT", "virtualNetworks")) == 1
    checks.own = None
    world.settle(network)
    assert len(world.requests("PUT", "virtualNetworks")) == 2


def test_r1_11_the_api_version_is_the_one_applied(world, group):
    (put,) = world.requests("PUT", "resourceGroups/rg")
    assert put.api_version == "2020-06-01"


def test_r1_14_a_poller_that_is_no_put_s_is_dropped(world, group):
    """D16: ours never writes such a pair, and never waits for it."""
    notes = {POLLER_TOKEN: "{}", POLLER_ID: DELETE_POLLER}
    edit(world, group, {"metadata": {"annotations": notes}})
    world.settle(group)
    assert POLLER_ID not in notes_of(world, group)
    assert len(world.requests("PUT")) == 2


@pytest.mark.parametrize("half", [POLLER_TOKEN, POLLER_ID])
def test_r2_1_half_a_poller_counts_as_none_and_goes(world, group, half):
    edit(world, group, {"metadata": {"annotations": {half: "x"}}})
    world.run(group)
    assert half not in notes_of(world, group)
    assert len(world.requests("PUT")) == 2


def test_r1_17_an_object_that_goes_meanwhile_ends_the_pass_silently(world, group):
    """The status write finds nothing: no error, no event, no requeue."""
    edit(world, group, {"metadata": {"finalizers": None}})
    stale = world.read(group)
    world.delete(group)
    result = world.run(stale, stale=stale)
    assert result.requeue_after_seconds is None
    assert [e for e in world.events if e[1] == "Warning"] == []


def test_r1_17_a_conflict_while_claiming_starts_the_pass_again(world):
    obj = resource_group()
    stale = world.apply(obj)
    edit(world, obj, {"metadata": {"labels": {"edited": "meanwhile"}}})
    with pytest.raises(ConflictError):
        world.run(stale, stale=stale)
    assert world.azure.journal == []
    world.settle(obj)


def test_r2_2_the_poller_goes_when_the_put_is_refused(world, network, checks):
    checks.post = NotReady("not yet")
    world.apply(virtual_network(tags={"a": "b"}))
    world.azure.faults.answer("PUT", "virtualNetworks", 409, code="Conflict")
    world.run(network)
    assert POLLER_TOKEN not in notes_of(world, network)


def test_r2_4_d10_a_lost_id_is_found_again_while_polling(world, group):
    child = virtual_network()
    world.apply(child)
    world.run(child)
    edit(world, child, {"metadata": {"annotations": {RESOURCE_ID: None}}})
    world.clock.advance(10.0)
    world.run(child)
    assert notes_of(world, child)[RESOURCE_ID].endswith("/virtualNetworks/vnet")
    world.settle(child)
    assert len(world.requests("PUT", "virtualNetworks")) == 1


def test_r2_4_d10_a_lost_id_is_found_again_under_skip(world, network):
    policy = "serviceoperator.azure.com/reconcile-policy"
    lost = {RESOURCE_ID: None, policy: "skip"}
    edit(world, network, {"metadata": {"annotations": lost}})
    world.run(network)
    assert world.ready(network)["status"] == "True"
    assert notes_of(world, network)[RESOURCE_ID].endswith("/virtualNetworks/vnet")


@pytest.mark.parametrize("make", [resource_group, virtual_network])
def test_each_create_and_update_says_which_build_did_it(world, network, make):
    newer = attrs.evolve(world.operator, build="newer-" + "x" * 100)
    world.run(make(), operator=newer)
    label = labels(world.read(make()))[LAST_RECONCILED_VERSION]
    assert label == ("newer-" + "x" * 100)[:63]
    world.clock.advance(60.0)
    world.apply(make(tags={"a": "b"}))
    world.run(make(), operator=attrs.evolve(world.operator, build="newest"))
    assert labels(world.read(make()))[LAST_RECONCILED_VERSION] == "newest"


def test_r3_2_a_synchronous_put_never_shows_reconciling(world, group):
    world.apply(resource_group(tags={"a": "b"}))
    world.run(group)
    assert world.ready(group)["observedGeneration"] == 2
    assert [w for w in world.writes if "Reconciling" in str(w)] == []


def test_the_build_that_begins_an_operation_is_said(world, group):
    child = virtual_network()
    world.azure.faults.answer("PUT", "virtualNetworks", 409, code="Conflict")
    world.apply(child)
    world.run(child)
    assert labels(world.read(child))[LAST_RECONCILED_VERSION] == "test"
    world.run(child, operator=attrs.evolve(world.operator, build="newest"))
    assert POLLER_TOKEN in notes_of(world, child)
    assert labels(world.read(child))[LAST_RECONCILED_VERSION] == "newest"
