"""Several objects with one Azure id: who recorded a claim first manages it."""

from collections import Counter
from unittest import mock

import attrs
import pytest
from operation import Operation
from world import RECORD_KEY, World, resource_group, virtual_network

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.catalogue.conversion import KindConversionError
from asoreconcile.azure.catalogue.storage_codec import SingleVersionCodec
from asoreconcile.azure.reconcile.model.annotations import (
    CLAIM,
    CLAIM_FACTS,
    DELETES_DECLARED,
    FINALIZER,
    PAUSED,
    RECONCILE_POLICY,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.claim_record import PutAnswers, claim_of
from asoreconcile.azure.reconcile.model.existence import IF_EXISTS
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.model.record_key import RecordKey
from asoreconcile.base.errors import RetryError
from asoreconcile.base.objects import (
    ObjectKey,
    annotations,
    copy_json,
    finalizers,
    gvk_of,
    key_of,
    metadata,
    uid_of,
)
from asoreconcile.kube.resources import NAMESPACES

GROUPS = "resources.azure.com/ResourceGroup"
NETWORKS = "network.azure.com/VirtualNetwork"
REASON = "AlreadyManaged"


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path) as running:
        running.install(GROUPS, NETWORKS)
        running.settled(resource_group())
        yield running


def by_age(world, *objects):
    """Objects, the oldest first: of those made within a second the uid decides."""

    def age(obj):
        present = world.read(obj)
        return metadata(present)["creationTimestamp"], uid_of(present)

    return sorted(objects, key=age)


@pytest.fixture
def pair(world):
    """Two networks of one name, neither reconciled yet; the older one first."""
    networks = [virtual_network(name, azureName="shared") for name in ("n1", "n2")]
    for network in networks:
        world.apply(network)
    return by_age(world, *networks)


def elsewhere(world, name="theirs", **spec):
    """A network of another namespace with the id of the pair."""
    if world._read(NAMESPACES, key_of({"metadata": {"name": "other"}})) is None:
        world.client.create(NAMESPACES, {"metadata": {"name": "other"}})
    network = virtual_network(name, azureName="shared", **spec)
    network["metadata"]["namespace"] = "other"
    group = f"/subscriptions/{world.azure.subscription_id}/resourceGroups/rg"
    network["spec"]["owner"] = {"armId": group}
    return network


def puts(world):
    return len(world.requests("PUT", "virtualNetworks/shared"))


def deletes(world):
    return len(world.requests("DELETE", "virtualNetworks/shared"))


def standing(world, obj):
    claim = claim_of(world.read(obj), lambda: RECORD_KEY)
    return claim and claim.answers


def blocked(world, waiting, manager):
    ready = world.ready(waiting)
    assert (ready["status"], ready["severity"]) == ("False", "Warning")
    assert ready["reason"] == REASON
    assert f"VirtualNetwork {key_of(world.read(manager))}" in ready["message"]
    return True


def told(world, obj, reason):
    return [e for e in world.events if e[0] == key_of(obj).name and e[2] == reason]


@pytest.mark.parametrize("first", ["older", "younger"])
def test_who_comes_first_manages_it_whichever_is_older(world, pair, first):
    manager, other = pair if first == "older" else reversed(pair)
    world.settle(manager)
    for _ in range(3):
        world.run(other)
    assert blocked(world, other, manager)
    assert puts(world) == 1
    assert standing(world, manager) is PutAnswers.ACCEPTED
    # It manages nothing: no finalizer keeps it, and no id shows it as claimed.
    assert finalizers(world.read(other)) == []
    assert RESOURCE_ID not in annotations(world.read(other))
    assert standing(world, other) is None


def test_an_older_object_that_is_edited_to_a_living_id_overwrites_nothing(world):
    """The stuck object of another namespace was made before the living one."""
    stuck = elsewhere(world)
    stuck["spec"]["azureName"] = "stuck"
    stuck["spec"]["owner"] = {"armId": stuck["spec"]["owner"]["armId"] + "-none"}
    world.apply(stuck)
    for _ in range(3):
        world.run(stuck)
    assert world.ready(stuck)["status"] == "False"
    living = world.settled(virtual_network("living", azureName="shared"))
    edited = elsewhere(world)
    world.client.patch(
        world.resource_for(stuck), key_of(stuck), {"spec": edited["spec"]}
    )
    for _ in range(4):
        world.run(stuck)
    assert blocked(world, stuck, living)
    assert puts(world) == 1
    world.delete(stuck)
    world.run(stuck)
    assert world.read(stuck) is None
    assert deletes(world) == 0
    assert world.ready(living)["status"] == "True"


def test_the_deletion_of_who_waits_leaves_the_resource(world, pair):
    manager, waiting = pair
    world.settle(manager)
    world.run(waiting)
    world.delete(waiting)
    world.run(waiting)
    assert world.read(waiting) is None
    assert deletes(world) == 0
    world.delete(manager)
    assert world.settle(manager) is None
    assert deletes(world) == 1


@pytest.mark.parametrize("policy", ["adopt", "fail", "adopt-if-same"])
def test_ow11_a_deleted_object_hands_over_before_it_goes(world, pair, policy):
    """By agreement: the heir is not asked what it does with a resource that exists."""
    manager, waiting = pair
    world.settle(manager)
    world.annotate(waiting, **{IF_EXISTS: policy})
    world.run(waiting)
    assert blocked(world, waiting, manager)
    world.delete(manager)
    world.run(manager)
    ready = world.ready(manager)
    assert ready["reason"] == "HandingOver"
    assert f"VirtualNetwork {key_of(world.read(waiting))}" in ready["message"]
    assert told(world, waiting, "TakesOver") == []
    # It is woken by the agreement.
    going = ObjectReference(gvk_of(manager).group_kind, key_of(manager))
    assert [n.key for n in world.operator.waiting.behind(going)] == [key_of(waiting)]
    before = puts(world)
    world.restart()
    assert world.settle(waiting)
    assert puts(world) == before + 1
    assert standing(world, waiting) is PutAnswers.ACCEPTED
    assert world.settle(manager) is None
    assert deletes(world) == 0
    ((*_, text),) = told(world, manager, "NotDeletedInAzure")
    assert f"VirtualNetwork {key_of(world.read(waiting))}" in text
    ((*_, text),) = told(world, waiting, "TakesOver")
    assert f"VirtualNetwork default/{key_of(manager).name} is deleted" in text


def test_a_deletion_says_what_its_heir_lacks(world, pair):
    manager, waiting = pair
    world.settle(manager)
    world.annotate(waiting, **{PAUSED: "true"})
    world.delete(manager)
    world.run(manager)
    assert "which is paused" in world.ready(manager)["message"]
    world.annotate(waiting, **{PAUSED: None})
    world.azure.faults.answer(
        "PUT", "shared", 403, code="RequestDisallowedByPolicy", times=9
    )
    world.run(waiting)
    world.run(waiting)
    world.run(manager)
    assert "RequestDisallowedByPolicy" in world.ready(manager)["message"]
    assert deletes(world) == 0
    # An object that only reads is not an heir: the deletion is a deletion.
    world.annotate(waiting, **{RECONCILE_POLICY: "skip"})
    assert world.settle(manager) is None
    assert deletes(world) == 1


def test_an_heir_that_is_deleted_too_leaves_the_deletion_to_the_first(world, pair):
    manager, waiting = pair
    world.settle(manager)
    world.run(waiting)
    for obj in pair:
        world.delete(obj)
    for obj in (waiting, manager):
        assert world.settle(obj) is None
    assert deletes(world) == 1


def test_an_heir_that_was_agreed_on_and_goes_deletes_nothing(world, pair):
    manager, waiting = pair
    world.settle(manager)
    world.run(waiting)
    world.delete(manager)
    world.run(manager)
    world.run_once(waiting)
    world.delete(waiting)
    assert world.settle(waiting) is None
    assert deletes(world) == 0
    assert world.settle(manager) is None
    assert deletes(world) == 1


def counted(world, **changes):
    """An operator that counts its reads before a DELETE, and the counts."""
    counts = Counter()
    changes["count_confirmation"] = lambda of: counts.update([of])
    return attrs.evolve(world.operator, **changes), counts


@pytest.mark.parametrize("is_lagging", [True, False])
def test_before_a_delete_a_watch_that_is_behind_is_not_believed(
    world, pair, is_lagging
):
    """The watch has not delivered the other object; one list finds it."""
    manager, waiting = pair
    if not is_lagging:
        world.delete(waiting)
    world.settle(manager)
    world.delete(manager)
    world.is_lagging = is_lagging
    operator, counts = counted(world, objects_with_arm_id=lambda _: ())
    world.run_once(manager, operator=operator)
    assert deletes(world) == (0 if is_lagging else 1)
    assert counts["rivals"] == (1 if is_lagging else 0)


def test_before_a_delete_an_object_that_cannot_be_converted_counts(world, pair):
    first, second = pair
    world.settled(first)
    world.run(second)
    world.delete(first)
    kind = world.kind_of(first)
    read = kind.form.read

    def broken(stored):
        if key_of(stored) == key_of(second):
            raise KindConversionError("broken")
        return read(stored)

    with mock.patch.object(SingleVersionCodec, "read", lambda _form, one: broken(one)):
        world.run(first)
    assert world.ready(first)["reason"] == "HandingOver"
    assert deletes(world) == 0


def test_before_a_delete_an_object_that_only_the_cache_has_keeps_nothing(world, pair):
    manager, waiting = pair
    world.settle(manager)
    gone = world.read(waiting)
    world.delete(waiting)
    world.delete(manager)
    version = world.kind_of(waiting).version
    operator, counts = counted(
        world, objects_with_arm_id=lambda _: [(version, copy_json(gone))]
    )
    world.run_once(manager, operator=operator)
    assert (deletes(world), counts["rivals"]) == (1, 1)


def test_nothing_is_put_over_a_claim_that_another_replica_has_written(world, pair):
    """Else a crash after the PUT would leave a resource of which no record says that it
    may be there.
    """
    manager, _ = pair
    world.run_once(manager)
    ours = world.read(manager)
    closed = attrs.evolve(
        claim_of(ours, lambda: RECORD_KEY), answers=PutAnswers.NONE
    ).dumps(uid_of(ours), RECORD_KEY)
    world.annotate(manager, **{CLAIM: closed})
    world.clock.advance(1.0)
    world.run_once(manager, stale=ours)
    assert puts(world) == 0
    assert annotations(world.read(manager))[CLAIM] == closed


def test_a_deletion_waits_for_an_object_of_another_namespace(world, pair):
    manager, _ = pair
    world.delete(pair[1])
    world.settle(manager)
    theirs = elsewhere(world)
    world.apply(theirs)
    world.run(theirs)
    assert blocked(world, theirs, manager)
    world.delete(manager)
    for _ in range(3):
        world.run(manager)
    ready = world.ready(manager)
    assert ready["reason"] == "DeclaredByAnother"
    for word in ("VirtualNetwork other/theirs", "skip", "detach-on-delete"):
        assert word in ready["message"]
    assert deletes(world) == 0
    # Either way out ends it; a change of the other object wakes this one.
    node = ObjectReference(gvk_of(theirs).group_kind, key_of(theirs))
    assert len(world.operator.waiting.behind(node)) == 1
    world.annotate(theirs, **{RECONCILE_POLICY: "skip"})
    assert world.settle(manager) is None
    assert deletes(world) == 1


@pytest.mark.parametrize(("known", "deleted"), [("skip", 0), ("manage", 1)])
def test_before_a_delete_the_policy_of_another_namespace_is_read(
    world, pair, known, deleted
):
    """The watch of Namespaces shows the policy that the other namespace had before."""
    manager, _ = pair
    world.delete(pair[1])
    world.settle(manager)
    theirs = elsewhere(world)
    world.apply(theirs)
    notes = {RECONCILE_POLICY: "manage" if known == "skip" else "skip"}
    other = ObjectKey("", "other")
    world.client.patch(NAMESPACES, other, {"metadata": {"annotations": notes}})
    of_namespace = world.operator.namespace_annotations

    class Behind:
        live = of_namespace.live

        def __call__(self, name):
            is_other = name == "other"
            return {RECONCILE_POLICY: known} if is_other else of_namespace(name)

    world.delete(manager)
    operator = attrs.evolve(world.operator, namespace_annotations=Behind())
    world.run_once(manager, operator=operator)
    assert deletes(world) == deleted


@pytest.mark.parametrize("code", [401, 403, 404])
def test_ow11_a_stranger_that_cannot_read_the_resource_holds_no_deletion(
    world, pair, code
):
    manager, _ = pair
    world.delete(pair[1])
    world.settle(manager)
    world.apply(elsewhere(world))
    world.azure.faults.answer("GET", "shared", code, code="Refused", times=9)
    world.delete(manager)
    assert world.settle(manager) is None
    assert deletes(world) == 1


def test_an_administrator_ends_what_another_namespace_holds(world, pair):
    manager, _ = pair
    world.delete(pair[1])
    world.settle(manager)
    world.apply(elsewhere(world))
    world.delete(manager)
    world.run(manager)
    assert f'{DELETES_DECLARED}: "true"' in world.ready(manager)["message"]
    allowed = {"metadata": {"annotations": {DELETES_DECLARED: "true"}}}
    world.client.patch(NAMESPACES, ObjectKey("", "default"), allowed)
    assert world.settle(manager) is None
    assert deletes(world) == 1


def test_the_other_way_out_leaves_the_resource_to_the_other_namespace(world, pair):
    manager, _ = pair
    world.delete(pair[1])
    world.settle(manager)
    theirs = elsewhere(world)
    world.apply(theirs)
    world.delete(manager)
    world.run(manager)
    assert world.ready(manager)["reason"] == "DeclaredByAnother"
    world.annotate(manager, **{RECONCILE_POLICY: "detach-on-delete"})
    assert world.settle(manager) is None
    assert deletes(world) == 0
    assert world.settle(theirs)


@pytest.mark.parametrize("way", ["detached", "skip"])
def test_who_waits_takes_over_when_the_manager_lets_go(world, pair, way):
    manager, waiting = pair
    world.settle(manager)
    world.run(waiting)
    if way == "skip":
        world.annotate(manager, **{RECONCILE_POLICY: "skip"})
    else:
        world.annotate(manager, **{RECONCILE_POLICY: "detach-on-delete"})
        world.delete(manager)
        world.run(waiting)
        assert blocked(world, waiting, manager)
        assert world.settle(manager) is None
    before = puts(world)
    assert world.settle(waiting)
    assert puts(world) == before + 1


@pytest.mark.parametrize("is_observed", [False, True])
def test_who_let_go_does_not_oust_the_one_that_took_over(world, pair, is_observed):
    first, second = pair
    world.settle(first)
    world.run(second)
    world.annotate(first, **{RECONCILE_POLICY: "skip"})
    world.settle(second)
    if is_observed:
        world.settle(first)
        assert standing(world, first) is PutAnswers.NONE
    world.annotate(first, **{RECONCILE_POLICY: None})
    before = puts(world)
    world.run(first)
    world.run(first)
    assert blocked(world, first, second)
    assert puts(world) == before
    # Nobody has the id any more: it is deleted by the one that had let go.
    world.annotate(second, **{RECONCILE_POLICY: "detach-on-delete"})
    world.delete(second)
    assert world.settle(second) is None
    world.delete(first)
    assert world.settle(first) is None
    assert deletes(world) == 1


def test_who_let_go_and_comes_back_waits_for_the_one_that_took_over(world, pair):
    first, second = pair
    world.settle(first)
    world.annotate(first, **{RECONCILE_POLICY: "skip"})
    world.settle(second)
    world.annotate(second, **{RECONCILE_POLICY: "skip"})
    world.annotate(first, **{RECONCILE_POLICY: None})
    world.settle(first)
    world.annotate(second, **{RECONCILE_POLICY: None})
    world.run(second)
    assert blocked(world, second, first)


def test_who_only_reads_may_share_the_id_and_its_deletion_sends_nothing(world, pair):
    manager, reader = pair
    world.settle(manager)
    world.annotate(reader, **{RECONCILE_POLICY: "skip"})
    assert world.settle(reader)
    assert standing(world, reader) is PutAnswers.NONE
    # Also if the policy changes together with the deletion.
    world.annotate(manager, **{RECONCILE_POLICY: "skip"})
    world.annotate(reader, **{RECONCILE_POLICY: None})
    world.delete(reader)
    assert world.settle(reader) is None
    assert deletes(world) == 0
    assert "accepted no PUT" in told(world, reader, "NotDeletedInAzure")[-1][-1]


@pytest.mark.parametrize("where", ["here", "elsewhere"])
def test_an_object_that_observes_neither_takes_over_nor_holds_a_deletion(
    world, pair, where
):
    manager, reader = pair
    if where == "elsewhere":
        world.delete(reader)
        reader = elsewhere(world)
        world.apply(reader)
    world.settle(manager)
    world.annotate(reader, **{IF_EXISTS: "observe"})
    assert world.settle(reader)
    world.delete(manager)
    assert world.settle(manager) is None
    assert (puts(world), deletes(world)) == (1, 1)
    world.run(reader)
    assert world.ready(reader)["reason"] == "AzureResourceNotFound"


def test_an_object_that_is_not_claimed_yet_keeps_nobody_out(world, pair):
    """Also an older one, which may never be claimed."""
    older, younger = pair
    assert world.settle(younger)
    world.run(older)
    assert blocked(world, older, younger)


def test_a_claim_that_led_to_nothing_lapses_when_a_person_must_mend_it(world, pair):
    first, second = pair
    world.azure.faults.refuse("PUT", "virtualNetworks/shared", 400, "BadRequest")
    world.run(first)
    assert standing(world, first) is PutAnswers.NONE
    world.azure.faults.clear()
    assert world.settle(second)
    world.run(first)
    assert blocked(world, first, second)


def test_two_objects_that_claim_at_once_do_not_both_get_the_id(world, pair):
    first, second = pair
    arm_id = f"/subscriptions/{world.azure.subscription_id}/resourceGroups/rg"
    arm_id += "/providers/Microsoft.Network/virtualNetworks/shared"
    with world.operator.claims_under_way.claiming(arm_id):
        assert world.run(second).requeue_after_seconds == 0.1
    assert CLAIM not in annotations(world.read(second))
    assert world.settle(first)


def like_aso(world, obj):
    """Make an object look as another operator has left it: without our record."""
    world.client.patch(
        world.resource_for(obj),
        key_of(obj),
        {"status": {"conditions": [world.ready(obj)]}},
        subresource="status",
    )
    return world.annotate(obj, **{CLAIM: None, CLAIM_FACTS: None})


@pytest.mark.parametrize("older_first", [True, False])
def test_of_two_that_aso_managed_the_older_one_goes_on(world, pair, older_first):
    """Whichever is reconciled first, also with a record of another cluster's key."""
    older, younger = pair
    world.settle(younger)
    world.annotate(younger, **{RECONCILE_POLICY: "skip"})
    world.settle(older)
    world.annotate(younger, **{RECONCILE_POLICY: None})
    like_aso(world, older)
    like_aso(world, younger)
    foreign = RecordKey(b"f" * 32)
    record = claim_of(world.read(older), lambda: RECORD_KEY)
    assert record is None
    operator = world.operator
    world.restart()
    for obj in (older, younger) if older_first else (younger, older):
        world.run(obj, operator=operator)
    assert blocked(world, younger, older)
    assert standing(world, older) is PutAnswers.ACCEPTED
    # A record of a key that is not known counts as none.
    assert claim_of(world.read(older), lambda: foreign) is None


def test_a_recorded_claim_beats_what_aso_managed(world, pair):
    older, younger = pair
    world.settle(older)
    like_aso(world, older)
    world.annotate(older, **{RECONCILE_POLICY: "skip"})
    world.settle(younger)
    world.annotate(older, **{RECONCILE_POLICY: None})
    for _ in range(2):
        world.run(older)
    assert blocked(world, older, younger)


def test_a_copied_record_is_worth_nothing(world, pair):
    manager, other = pair
    world.settle(manager)
    record = annotations(world.read(manager))[CLAIM]
    world.client.patch(
        world.resource_for(other),
        key_of(world.read(other)),
        {
            "metadata": {
                "finalizers": [FINALIZER],
                "annotations": {
                    CLAIM: record.replace("2026", "2020"),
                    RESOURCE_ID: annotations(world.read(manager))[RESOURCE_ID],
                },
            }
        },
    )
    for _ in range(2):
        world.run(other)
    assert blocked(world, other, manager)
    assert world.settle(manager)


def test_without_the_key_nothing_is_sent(world, pair):
    def unreadable():
        raise ConditionError("no key", reason="RecordKeyUnreadable")

    manager, other = pair
    world.delete(other)
    lost = attrs.evolve(world.operator, record_key=unreadable)
    for _ in range(2):
        world.run(manager, operator=lost)
    assert world.ready(manager)["reason"] == "RecordKeyUnreadable"
    assert puts(world) == 0
    world.settle(manager)
    world.delete(manager)
    for _ in range(2):
        world.run(manager, operator=lost)
    assert deletes(world) == 0
    assert world.ready(manager)["reason"] == "RecordKeyUnreadable"
    assert world.settle(manager) is None
    assert deletes(world) == 1


def test_another_subscription_s_group_is_another_group(world):
    """Groups have no owner: whose credential they use is part of their id."""
    theirs, ours = by_age(
        world,
        world.apply(resource_group("a", azureName="same")),
        world.apply(resource_group("b", azureName="same")),
    )
    connections = world.operator.connections

    class Two:
        def for_object(self, obj):
            found = connections.for_object(obj)
            if key_of(obj) == key_of(theirs):
                return attrs.evolve(found, subscription_id="another")
            return found

    world.operator = attrs.evolve(world.operator, connections=Two())
    assert world.settle(ours)


def test_an_id_planted_on_another_object_blocks_nobody(world, pair):
    other, _ = pair
    world.settle(other)
    mine = annotations(world.read(other))[RESOURCE_ID].replace("shared", "mine")
    victim = virtual_network("victim", azureName="mine")
    world.apply(victim)
    world.annotate(other, **{RESOURCE_ID: mine})
    world.run(other)
    assert world.settle(victim)


def test_nobody_is_taken_for_absent_before_all_are_listed(world, pair):
    def not_yet(_):
        raise RetryError("not listed yet", after_seconds=0.1)

    _older, younger = pair
    world.operator = attrs.evolve(world.operator, objects_with_arm_id=not_yet)
    assert world.run(younger).requeue_after_seconds == 0.1
    assert puts(world) == 0


def test_who_waits_is_known_and_forgotten(world, pair):
    manager, waiter = pair
    waiting = world.operator.waiting
    node = [
        ObjectReference(gvk_of(obj).group_kind, key_of(world.read(obj))) for obj in pair
    ]
    world.settle(manager)
    world.run(waiter)
    assert waiting.behind(node[0]) == [node[1]]
    assert waiting.awaited_in("default") == [node[0]]
    world.annotate(manager, **{RECONCILE_POLICY: "skip"})
    world.settle(waiter)
    assert waiting.behind(node[0]) == []


def test_who_went_waits_no_more(world, pair):
    manager, waiter = pair
    world.settle(manager)
    world.run(waiter)
    world.delete(waiter)
    world.run(waiter)
    assert world.operator.waiting.awaited_in("default") == []


def test_the_whole_of_it_in_a_process(tmp_path):
    """Found by the caches' index, also by a manager that has just started."""
    with Operation(tmp_path) as operation:
        operation.answer_at_once("Network/virtualNetworks")
        first, second = (
            virtual_network(name, azureName="shared") for name in ("n1", "n2")
        )
        operation.install(resource_group(), first)
        operation.apply(resource_group())
        operation.apply(first)
        operation.start_manager()
        operation.wait_ready(first)
        operation.apply(second)
        told = operation.wait_condition(second, REASON)
        assert f"default/{key_of(first).name}" in told["message"]
        operation.kill_manager()
        operation.start_manager()
        operation.edit(first, {"spec": {"tags": {"by": "first"}}})
        operation.edit(second, {"spec": {"tags": {"by": "second"}}})
        operation.wait_ready(first)
        operation.wait_condition(second, REASON)
        tags = [r.body.get("tags") for r in operation.requests("PUT", "shared")]
        assert {"by": "second"} not in tags
        operation.delete(first)
        operation.wait_gone(first)
        operation.wait_event(first, "NotDeletedInAzure")
        operation.wait_event(second, "TakesOver")
        operation.wait_ready(second)
        (last,) = operation.requests("PUT", "shared")[-1:]
        assert last.body["tags"] == {"by": "second"}
        assert operation.requests("DELETE", "shared") == []
        operation.delete(second)
        operation.wait_gone(second)
        assert len(operation.requests("DELETE", "shared")) == 1
