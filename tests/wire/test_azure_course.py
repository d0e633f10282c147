"""What an object shows, and what is remembered of it, while work is under way."""

import pytest
from meanwhile import Meanwhile
from world import World, postgres_server, resource_group, virtual_network

from asoreconcile.azure.reconcile.model.annotations import (
    FINALIZER,
    LAST_RECONCILED_VERSION,
    LATEST_RECONCILED_GENERATION,
    POLLER_TOKEN,
)
from asoreconcile.base.objects import (
    GroupKind,
    annotations,
    finalizers,
    key_of,
    labels,
    uid_of,
)
from asoreconcile.kube.errors import TransportError
from asoreconcile.queue.workqueue import LOW_PRIORITY

GROUPS = "resources.azure.com/ResourceGroup"
NETWORKS = "network.azure.com/VirtualNetwork"
SERVERS = "dbforpostgresql.azure.com/FlexibleServer"
OPERATIONS = "/operations/"


@pytest.fixture(scope="module")
def meanwhile():
    return Meanwhile(GroupKind("resources.azure.com", "ResourceGroup"))


@pytest.fixture(scope="module")
def start(module_path, meanwhile):
    with World(
        module_path, extensions=[meanwhile.set], lro=30.0, retry_after=10
    ) as running:
        running.install(GROUPS, NETWORKS, SERVERS)
        yield running


@pytest.fixture
def group(world):
    obj = resource_group()
    world.apply(obj)
    world.settle(obj)
    return obj


def reasons(world, name):
    return [
        reason
        for of, type_, reason, _ in world.events
        if of == name and (type_, reason) != ("Normal", "CredentialFrom")
    ]


def vanish(world, obj):
    """The object goes at once, whatever its finalizers say."""
    nothing = {"metadata": {"finalizers": None}}
    world.client.patch(world.resource_for(obj), key_of(world.read(obj)), nothing)
    world.delete(obj)


def test_r3_3_what_was_missing_and_came_gives_way_to_reconciling(world, group):
    server = postgres_server()
    world.apply(server)
    world.run(server)
    assert world.ready(server)["reason"] == "SecretNotFound"
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "db-admin"},
        "stringData": {"password": "Sesame-1"},
    }
    world.apply(secret)
    world.run(server)
    ready = world.ready(server)
    assert (ready["reason"], ready["severity"]) == ("Reconciling", "Info")


def test_r3_6_an_edit_during_an_operation_is_shown_as_under_way_at_once(world, group):
    child = virtual_network()
    world.apply(child)
    world.run(child)
    world.apply(virtual_network(tags={"a": "b"}))
    world.run(child)
    ready = world.ready(child)
    assert (ready["reason"], ready["observedGeneration"]) == ("Reconciling", 2)
    assert annotations(world.read(child))[LATEST_RECONCILED_GENERATION] == "1"


def test_a_claim_says_who_made_it_and_leaves_others_their_marks(world):
    obj = resource_group()
    obj["metadata"]["finalizers"] = ["example.com/guard"]
    world.azure.faults.answer("PUT", "resourceGroups", 409, code="Conflict")
    world.apply(obj)
    world.run(obj)
    claimed = world.read(obj)
    assert finalizers(claimed) == ["example.com/guard", FINALIZER]
    assert labels(claimed)[LAST_RECONCILED_VERSION] == "test"


def test_a_sync_gives_way_to_what_users_change(world, group):
    assert world.run(group).priority == LOW_PRIORITY
    child = virtual_network()
    world.apply(child)
    assert world.run(child).priority != LOW_PRIORITY


def test_events_tell_the_course_of_a_deletion(world, group):
    """Of the reasons ASO's users look for."""
    child = virtual_network()
    world.apply(child)
    world.settle(child)
    path = "virtualNetworks/vnet"
    world.azure.faults.answer("DELETE", path, 409, code="InUse", message="Not yet.")
    world.delete(child)
    assert world.settle(child) is None
    told = reasons(world, "vnet")
    assert told[0] == "BeginCreateOrUpdate"
    assert told[1:3] == ["DeleteActionError", "BeginDelete"]
    polls = [r for r in world.requests("GET", OPERATIONS) if r.at is not None]
    assert told[3:] == ["MonitorDelete"]
    assert len(polls) > 1


def test_r1_17_an_object_that_goes_during_its_put_leaves_nothing_behind(
    world, meanwhile
):
    """The status write finds nothing: no error, no requeue, and it is forgotten."""
    obj = resource_group()
    made = world.apply(obj)
    meanwhile.after_put = lambda: vanish(world, obj)
    assert world.run(obj).requeue_after_seconds is None
    assert world.read(obj) is None
    assert not world.remembers(made)


def test_what_somebody_else_let_go_of_between_two_passes_is_forgotten(world, group):
    """Its finalizer was stripped: no pass of ours saw it go."""
    child = virtual_network()
    world.apply(child)
    world.run(child)
    begun = world.read(child)
    assert POLLER_TOKEN in annotations(begun)
    assert world.remembers(begun)
    vanish(world, child)
    assert world.run(child).requeue_after_seconds is None
    assert not world.remembers(begun)


def test_what_was_accepted_for_an_object_that_went_is_forgotten(world, group):
    """Its operation could not be recorded, and then it was gone."""
    child = virtual_network()
    world.apply(child)
    world.azure.faults.answer("PUT", "virtualNetworks", 409, code="Conflict")
    world.run(child)
    claimed = world.read(child)
    assert FINALIZER in finalizers(claimed)
    world.cluster.faults.drop("PATCH", "virtualnetworks/vnet$")
    with pytest.raises(TransportError):
        world.run(child)
    assert world.remembers(claimed)
    vanish(world, child)
    assert world.run(child, stale=claimed).requeue_after_seconds is None
    assert not world.remembers(claimed)
    assert uid_of(claimed)


def test_a_refused_put_notes_the_generation_it_was_made_from(world, group):
    child = virtual_network()
    world.apply(child)
    world.settle(child)
    world.apply(virtual_network(tags={"a": "b"}))
    world.azure.faults.answer("PUT", "virtualNetworks", 409, code="Conflict")
    world.run(child)
    assert annotations(world.read(child))[LATEST_RECONCILED_GENERATION] == "2"


@pytest.fixture
def running(world, group):
    """A network whose PUT is under way."""
    child = virtual_network()
    world.apply(child)
    world.run(child)
    return child


def test_r1_14_a_token_spoiled_while_its_operation_runs_is_put_again(world, running):
    """What memory knows of the operation goes with it."""
    spoiled = {"metadata": {"annotations": {POLLER_TOKEN: "garbage"}}}
    world.client.patch(
        world.resource_for(running), key_of(world.read(running)), spoiled
    )
    world.run(running)
    assert world.ready(running)["severity"] == "Warning"
    world.clock.advance(60.0)
    world.run(running)
    assert len(world.requests("PUT", "virtualNetworks")) == 2
    world.settle(running)


def test_an_operation_that_azure_lost_with_its_resource_is_put_again(world, running):
    """L16: no monitor, and nothing to read."""
    (id_,) = [i for i in world.azure.resources() if "virtualNetworks" in i]
    world.azure.faults.answer("GET", OPERATIONS, 404, code="NotFound")
    world.azure.faults.answer("GET", id_, 404, code="ResourceNotFound")
    world.clock.advance(60.0)
    assert world.run(running).requeue_after_seconds == 5.0
    assert POLLER_TOKEN not in annotations(world.read(running))
    world.run(running)
    assert len(world.requests("PUT", "virtualNetworks")) == 2
    world.settle(running)


def test_a_successor_does_not_get_the_operation_of_what_was_there_before(world, group):
    """Each write names the uid that it is for."""
    child = virtual_network()
    world.apply(child)
    world.azure.faults.answer("PUT", "virtualNetworks", 409, code="Conflict")
    world.run(child)
    claimed = world.read(child)
    world.cluster.faults.drop("PATCH", "virtualnetworks/vnet$")
    with pytest.raises(TransportError):
        world.run(child)
    vanish(world, child)
    world.apply(virtual_network())
    world.run(child, stale=claimed)
    assert POLLER_TOKEN not in annotations(world.read(child))
    assert not world.remembers(claimed)
