"""The defects of section 12 that need a whole pass to show, and those found here."""

import pytest
from world import World, another_owner, resource_group, virtual_network

from asoreconcile.azure.middleware.extension_points import POST_RECONCILE
from asoreconcile.azure.middleware.extension_set import ExtensionSet
from asoreconcile.azure.middleware.requests import NotReady
from asoreconcile.azure.reconcile.model.annotations import (
    CLAIM,
    OPERATOR_NAMESPACE,
    OWNER_UID,
    POLLER_TOKEN,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.state.memory import AS_WRITTEN_SECONDS
from asoreconcile.base.objects import (
    GroupKind,
    annotations,
    generation,
    key_of,
    labels,
    owner_references,
)
from asoreconcile.kube.errors import ConflictError, TransportError

GROUPS = "resources.azure.com/ResourceGroup"
NETWORKS = "network.azure.com/VirtualNetwork"
RESTING = "resourcegroups/rg$"


class Gate:
    """A post-check that a test opens and shuts."""

    def __init__(self):
        self.shut = False
        self.set = ExtensionSet("gate")
        for group, _, kind in (GROUPS.partition("/"), NETWORKS.partition("/")):
            self.set.on(POST_RECONCILE, GroupKind(group, kind))(self._check)

    def _check(self, request, call_next):
        return NotReady("not yet") if self.shut else call_next(request)


@pytest.fixture(scope="module")
def gate():
    return Gate()


@pytest.fixture(scope="module")
def start(module_path, gate):
    with World(module_path, extensions=[gate.set], lro=30.0, retry_after=10) as running:
        running.install(GROUPS, NETWORKS)
        yield running


@pytest.fixture
def group(world):
    return world.settled(resource_group())


def edit(world, obj, body):
    return world.client.patch(world.resource_for(obj), key_of(obj), body)


def bodies(world, fragment):
    return [r.body for r in world.requests("PUT", fragment)]


def test_d1_conditions_and_their_time_survive_every_pass(world, group):
    before = world.ready(group)
    for _ in range(3):
        world.clock.advance(3600.0)
        world.run(group)
    assert world.ready(group) == before


def test_d2_an_object_deleted_while_it_is_claimed_is_not_put(world):
    obj = resource_group()
    stale = world.apply(obj)
    world.delete(obj)
    result = world.run(obj, stale=stale)
    assert result.requeue_after_seconds is None
    assert world.azure.journal == []


def test_d2_an_object_that_went_is_not_put_out_of_an_old_cache(world, group):
    """A standby that takes over may be a step behind: the object is asked for."""
    stale = world.read(group)
    world.delete(group)
    assert world.settle(group) is None
    world.restart()
    puts = len(world.requests("PUT"))
    world.run(group, stale=stale)
    assert len(world.requests("PUT")) == puts
    assert world.azure.resources() == {}


def test_d2_a_successor_of_the_same_name_is_not_put_out_of_an_old_cache(world, group):
    stale = world.read(group)
    world.delete(group)
    world.settle(group)
    world.apply(resource_group(tags={"second": "yes"}))
    puts = len(world.requests("PUT"))
    world.run(group, stale=stale)
    assert len(world.requests("PUT")) == puts


def test_d2_a_claimed_successor_is_not_put_over_out_of_an_old_cache(world, group):
    """All that a header could tell them apart by but the uid is equal."""
    stale = world.read(group)
    world.delete(group)
    world.settle(group)
    world.settled(resource_group(tags={"second": "yes"}))
    world.run(group, stale=stale)
    assert bodies(world, "resourceGroups")[-1]["tags"] == {"second": "yes"}


def test_d2_what_lost_its_finalizer_meanwhile_is_not_put(world, group):
    """Nothing would delete the resource: it is claimed again first."""
    stale = world.read(group)
    edit(world, group, {"metadata": {"finalizers": None}})
    puts = len(world.requests("PUT"))
    assert world.run(group, stale=stale).requeue_after_seconds < 1.0
    assert len(world.requests("PUT")) == puts


def begun(world):
    """A group that was marked and claimed in the pass just over."""
    obj = resource_group()
    world.apply(obj, marked=False)
    world.run(obj)
    return obj


def test_d2_an_object_is_not_read_anew_right_after_it_was_claimed(world):
    obj = begun(world)
    held, reads = world.read(obj), len(reads_of(world, obj))
    world.run(obj, stale=held)
    assert len(reads_of(world, obj)) == reads
    assert len(world.requests("PUT")) == 1


@pytest.mark.parametrize("change", ["time passes", "it is edited", "it was restarted"])
def test_d2_what_was_claimed_is_asked_for_when_that_says_no_more(world, change):
    obj = begun(world)
    if change == "time passes":
        world.clock.advance(AS_WRITTEN_SECONDS + 0.01)
    elif change == "it is edited":
        edit(world, obj, {"spec": {"tags": {"a": "b"}}})
    else:
        world.restart()
    held, reads = world.read(obj), len(reads_of(world, obj))
    world.run(obj, stale=held)
    assert len(reads_of(world, obj)) == reads + 1
    assert len(world.requests("PUT")) == 1


def test_d2_a_claim_vouches_for_the_next_pass_alone(world):
    obj = begun(world)
    world.azure.faults.answer("PUT", "resourceGroups/rg$", 503)
    held = world.read(obj)
    world.run(obj, stale=held)
    world.delete(obj)
    world.settle(obj)
    puts = len(world.requests("PUT"))
    world.run(obj, stale=held)
    assert len(world.requests("PUT")) == puts


def reads_of(world, obj):
    plural = world.resource_for(obj).plural
    return [
        entry
        for entry in world.cluster.journal
        if entry.verb == "get" and entry.resource.startswith(plural)
    ]


def test_d21_an_old_spec_is_not_put_out_of_an_old_cache(world, group):
    stale = world.read(group)
    world.apply(resource_group(tags={"new": "yes"}))
    world.run(group)
    result = world.run(group, stale=stale)
    assert result.requeue_after_seconds < 1.0
    assert bodies(world, "resourceGroups")[-1]["tags"] == {"new": "yes"}


def test_d21_what_a_pass_finds_newer_than_its_cache_goes_into_the_cache(world, group):
    old = world.read(group)
    world.apply(resource_group(tags={"new": "1"}))
    world.run(group, stale=old)
    assert world.writes[-1] == world.read(group)


@pytest.mark.parametrize("code", ["AllocationFailed", "LocationRequired"])
def test_d5_an_edit_during_an_operation_that_fails_is_put_at_once(world, group, code):
    child = virtual_network()
    world.azure.faults.fail_operation("virtualNetworks", code, "No.")
    world.apply(child)
    world.run(child)
    world.apply(virtual_network(tags={"edited": "yes"}))
    world.clock.advance(30.0)
    result = world.run(child)
    assert result.requeue_after_seconds < 1.0
    ready = world.ready(child)
    assert ready["reason"] == code
    assert ready["observedGeneration"] == 1  # what failed was the older spec
    world.run(child)
    assert bodies(world, "virtualNetworks")[-1]["tags"] == {"edited": "yes"}
    assert world.ready(child)["observedGeneration"] == 2
    world.settle(child)


def test_d15_a_failing_check_does_not_put_again(world, gate):
    gate.shut = True
    obj = resource_group()
    world.apply(obj)
    for _ in range(3):
        world.run(obj)
    assert world.ready(obj)["reason"] == "PostReconciliationFailure"
    assert len(world.requests("PUT")) == 1
    world.restart()
    world.run(obj)
    assert len(world.requests("PUT")) == 2
    gate.shut = False
    world.settle(obj)
    assert len(world.requests("PUT")) == 2


def test_d15_edited_there_and_back_again_is_put(world, gate):
    """The middle one's answer was lost: Azure may have it, so the last one is sent."""
    gate.shut = True
    obj = resource_group(tags={"v": "a"})
    world.apply(obj)
    world.run(obj)
    world.azure.faults.drop("PUT", RESTING, phase="after")
    world.apply(resource_group(tags={"v": "b"}))
    world.run(obj)
    assert world.azure.resources()[arm_id(world, obj)]["tags"] == {"v": "b"}
    world.apply(resource_group(tags={"v": "a"}))
    gate.shut = False
    world.settle(obj)
    assert world.azure.resources()[arm_id(world, obj)]["tags"] == {"v": "a"}


def arm_id(world, obj):
    return annotations(world.read(obj))[RESOURCE_ID]


def test_an_edit_that_changes_no_body_is_not_put_twice(world, gate):
    gate.shut = True
    obj = resource_group()
    world.apply(obj)
    world.run(obj)
    edit(world, obj, {"spec": {"tags": {}}})
    edit(world, obj, {"spec": {"tags": None}})
    gate.shut = False
    present = world.settle(obj)
    assert world.ready(obj)["observedGeneration"] == generation(present) == 3
    assert len(world.requests("PUT")) == 1


@pytest.fixture
def claimed(world, group):
    """A network that is claimed, and whose first PUT failed."""
    child = virtual_network()
    world.azure.faults.answer("PUT", "virtualNetworks", 503, code="ServerBusy")
    world.apply(child)
    world.run(child)
    return child


@pytest.mark.parametrize("tries", [1, 3])
def test_an_operation_that_cannot_be_recorded_is_not_begun_again(world, claimed, tries):
    """The API server is away after Azure accepted: memory holds the operation."""
    world.cluster.faults.drop("PATCH", "virtualnetworks/vnet$", times=tries)
    for _ in range(tries):
        with pytest.raises(TransportError):
            world.run(claimed)
    world.settle(claimed)
    assert len(world.requests("PUT", "virtualNetworks")) == 2
    assert POLLER_TOKEN not in annotations(world.read(claimed))


def test_an_operation_that_was_not_recorded_is_not_taken_for_another_spec(
    world, claimed
):
    world.cluster.faults.drop("PATCH", "virtualnetworks/vnet$")
    with pytest.raises(TransportError):
        world.run(claimed)
    world.apply(virtual_network(tags={"edited": "yes"}))
    world.run(claimed)
    # It is asked for at once, and nothing is put over it (L27).
    assert len(world.requests("GET", "/operations/")) == 1
    assert len(world.requests("PUT", "virtualNetworks")) == 2
    world.settle(claimed)
    assert len(world.requests("PUT", "virtualNetworks")) == 3
    assert bodies(world, "virtualNetworks")[-1]["tags"] == {"edited": "yes"}


@pytest.mark.parametrize("polls", [0, 1])
def test_an_operation_that_somebody_took_off_the_object_goes_on(world, group, polls):
    """A replace with a manifest from a repository drops all our annotations."""
    child = virtual_network()
    world.apply(child)
    for _ in range(1 + polls):
        world.run(child)
        world.clock.advance(10.0)
    stripped = {"annotations": None, "finalizers": None, "labels": None}
    edit(world, child, {"metadata": stripped})
    world.run(child)  # marks it
    world.run(child)
    assert world.ready(child)["reason"] == "Reconciling"
    notes = annotations(world.read(child))
    assert notes[POLLER_TOKEN]
    assert notes[RESOURCE_ID].endswith("/virtualNetworks/vnet")
    world.settle(child)
    assert len(world.requests("PUT", "virtualNetworks")) == 1


def test_a_failing_check_after_an_operation_does_not_put_again(world, group, gate):
    """D15, when the PUT took its time."""
    gate.shut = True
    child = virtual_network()
    world.apply(child)
    for _ in range(6):
        world.clock.advance(world.run(child).requeue_after_seconds)
    assert world.ready(child)["reason"] == "PostReconciliationFailure"
    gate.shut = False
    world.settle(child)
    assert len(world.requests("PUT", "virtualNetworks")) == 1


@pytest.mark.parametrize("tries", [1, 3])
def test_a_status_that_cannot_be_written_does_not_put_again(world, tries):
    obj = resource_group()
    world.apply(obj)
    world.cluster.faults.drop("PATCH", "resourcegroups/rg/status", times=tries)
    for _ in range(tries):
        with pytest.raises(TransportError):
            world.run(obj)
    world.settle(obj)
    assert len(world.requests("PUT")) == 1
    world.run(obj)
    assert len(world.requests("PUT")) == 2  # a sync again (R1.15)


def test_r1_3_two_operators_cannot_both_mark_an_object(world):
    obj = resource_group()
    stale = world.apply(obj, marked=False)
    world.run(obj)
    other = world.make_operator(namespace="another")
    with pytest.raises(ConflictError):
        world.run(obj, operator=other, stale=stale)
    world.run(obj, operator=other)
    assert annotations(world.read(obj))[OPERATOR_NAMESPACE] == "azure-operator"
    assert world.azure.journal == []


@pytest.mark.parametrize("also", [{}, {CLAIM: None}], ids=["record", "status"])
def test_d10_a_lost_id_does_not_leave_the_resource(world, group, also):
    """Without the annotation the record of the claim names the id; without that, the
    status does, and the spec makes the same.
    """
    there = arm_id(world, group)
    edit(world, group, {"metadata": {"annotations": {RESOURCE_ID: None, **also}}})
    world.delete(group)
    world.run(group)
    assert world.settle(group) is None
    assert len(world.requests("DELETE", there)) == 1


def test_d10_deleting_without_an_id_of_its_own_says_what_is_left_alone(world, group):
    """Nothing but the status names the id, and the spec makes another one."""
    left = arm_id(world, group)
    world.drop_rules(group)
    edit(world, group, {"metadata": {"annotations": {RESOURCE_ID: None, CLAIM: None}}})
    world.client.patch(
        world.resource_for(group),
        key_of(group),
        {"status": {"conditions": [world.ready(group)]}},
        subresource="status",
    )
    edit(world, group, {"spec": {"azureName": "another"}})
    world.delete(group)
    world.run(group)
    assert world.read(group) is None
    assert world.requests("DELETE") == []
    assert [e[1:3] for e in world.events if left in e[3]][-1] == (
        "Warning",
        "NotDeletedInAzure",
    )


def test_an_owner_made_anew_becomes_the_owner_again(world, group):
    child = virtual_network()
    world.apply(child)
    world.settle(child)
    old = world.read(group)["metadata"]["uid"]
    edit(world, group, {"metadata": {"finalizers": None}})
    # As orphaning does, which leaves what others wrote.
    theirs = another_owner(world)
    edit(world, child, {"metadata": {"ownerReferences": [theirs]}})
    world.delete(group)
    assert world.read(group) is None
    world.apply(resource_group())
    world.settle(group)
    world.run(child)
    present, uid = world.read(child), world.read(group)["metadata"]["uid"]
    assert uid != old
    assert labels(present)[OWNER_UID] == uid
    assert [r["uid"] for r in owner_references(present)] == [theirs["uid"], uid]


@pytest.mark.parametrize("labels_too", [{}, {"labels": {OWNER_UID: None}}])
def test_an_owner_reference_that_a_user_removed_stays_away(world, group, labels_too):
    child = virtual_network()
    world.apply(child)
    world.settle(child)
    edit(world, child, {"metadata": {"ownerReferences": None, **labels_too}})
    world.run(child)
    assert owner_references(world.read(child)) == []


def test_an_operation_is_polled_though_its_owner_went(world, group):
    child = virtual_network()
    world.apply(child)
    world.run(child)
    edit(world, group, {"metadata": {"finalizers": None}})
    edit(world, child, {"metadata": {"ownerReferences": None}})  # as orphaning does
    world.delete(group)
    assert world.read(group) is None
    asked = len(world.azure.journal)
    world.clock.advance(10.0)
    world.run(child)
    assert [r.method for r in world.azure.journal[asked:]] == ["GET"]
    assert world.ready(child)["reason"] == "Reconciling"


def test_r1_17_what_became_of_an_object_is_not_written_to_its_successor(world, group):
    child = virtual_network()
    world.apply(child)
    world.run(child)
    stale = world.read(child)
    edit(world, child, {"metadata": {"finalizers": None}})
    world.delete(child)
    successor = world.apply(virtual_network(tags={"of": "another"}))
    world.clock.advance(60.0)
    told = len(world.events)
    result = world.run(child, stale=stale)
    assert result.requeue_after_seconds is None
    assert world.read(child) == successor
    assert len(world.events) == told
    assert not world.remembers(stale)
