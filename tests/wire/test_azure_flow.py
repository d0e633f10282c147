"""The reconciler pass by pass, over the embedded API server and the ARM simulator."""

import json
import logging

import attrs
import pytest
from globalconnection import GlobalConnection
from world import (
    OPERATOR,
    SYNC_SECONDS,
    World,
    another_owner,
    resource_group,
    virtual_network,
)

from asoreconcile.azure.arm.credentials import CredentialError
from asoreconcile.azure.catalogue.payload import SpecError
from asoreconcile.azure.reconcile.model.annotations import (
    CLAIM,
    CLAIM_FACTS,
    FINALIZER,
    LAST_RECONCILED_VERSION,
    LATEST_RECONCILED_GENERATION,
    OPERATOR_NAMESPACE,
    POLLER_ID,
    POLLER_TOKEN,
    PUT_POLLER,
    RECONCILE_POLICY,
    RESOURCE_ID,
)
from asoreconcile.base.objects import (
    annotations,
    finalizers,
    key_of,
    labels,
    owner_references,
    uid_of,
)
from asoreconcile.kube.errors import ForbiddenError, InvalidError

GROUPS = "resources.azure.com/ResourceGroup"
NETWORKS = "network.azure.com/VirtualNetwork"


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path, lro=30.0, retry_after=10) as running:
        running.install(GROUPS, NETWORKS)
        yield running


@pytest.fixture
def group(world):
    return world.settled(resource_group())


def test_r1_1_absent_object_asks_nothing(world):
    result = world.run(resource_group("never"))
    assert result.requeue_after_seconds is None
    assert world.azure.journal == []


def test_r1_2_foreign_object_gets_an_event_and_nothing_else(world):
    obj = resource_group()
    obj["metadata"]["annotations"] = {OPERATOR_NAMESPACE: "elsewhere"}
    before = world.apply(obj)
    world.run(obj)
    assert [(e[1], e[2]) for e in world.events] == [("Warning", "Overlap")]
    assert (
        world.read(obj)["metadata"]["resourceVersion"]
        == (before["metadata"]["resourceVersion"])
    )
    assert world.azure.journal == []


def test_r1_3_unmarked_object_is_marked_and_claimed_by_one_write_in_its_own_pass(world):
    obj = resource_group()
    world.apply(obj, marked=False)
    result = world.run(obj)
    present = world.read(obj)
    assert annotations(present) == {
        OPERATOR_NAMESPACE: OPERATOR,
        RESOURCE_ID: f"/subscriptions/{world.azure.subscription_id}/resourceGroups/rg",
        LATEST_RECONCILED_GENERATION: "1",
        CLAIM: annotations(present)[CLAIM],
        CLAIM_FACTS: annotations(present)[CLAIM_FACTS],
    }
    assert finalizers(present) == [FINALIZER]
    assert len(world.writes) == 1
    assert world.azure.journal == []
    assert result.requeue_after_seconds < 0.1
    assert [e[2] for e in world.events] == ["CredentialFrom"]


def test_r1_3_r1_5_what_cannot_be_claimed_yet_is_marked_alone_and_says_why_next(world):
    child = virtual_network()
    world.apply(child, marked=False)
    world.run(child)
    present = world.read(child)
    assert annotations(present) == {OPERATOR_NAMESPACE: OPERATOR}
    assert finalizers(present) == []
    assert world.ready(child) is None
    assert (len(world.writes), world.events) == (1, [])
    world.run(child)
    assert world.ready(child)["reason"] == "WaitingForOwner"
    assert world.azure.journal == []


class Failing:
    """Connections that cannot be had."""

    def __init__(self, error):
        self._error = error

    def for_object(self, obj):
        raise self._error


@pytest.mark.parametrize(
    "error",
    [
        CredentialError("none"),
        ForbiddenError("may not read", status=403),
        SpecError("cannot be sent"),
        RuntimeError("a bug"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_r1_3_nothing_is_shown_on_an_object_that_is_nobodys_yet(world, error):
    """Another operator may be about to mark it."""
    obj = resource_group()
    world.apply(obj, marked=False)
    failing = attrs.evolve(world.operator, connections=Failing(error))
    world.run(obj, operator=failing)
    assert annotations(world.read(obj)) == {OPERATOR_NAMESPACE: OPERATOR}
    assert (world.ready(obj), world.events) == (None, [])
    world.run(obj, operator=failing)
    assert world.ready(obj)["status"] == "False"
    assert [e[2] for e in world.events] == ["CreateOrUpdateActionError"]


def test_r1_3_what_lost_its_mark_is_marked_alone(world, group):
    before = annotations(world.read(group))
    world.annotate(group, **{OPERATOR_NAMESPACE: None})
    # Not PUT yet: no note may say that this generation was.
    world.apply(resource_group(tags={"a": "b"}), marked=False)
    asked, told = len(world.azure.journal), len(world.events)
    world.run(group)
    assert annotations(world.read(group)) == before
    assert finalizers(world.read(group)) == [FINALIZER]
    assert (len(world.azure.journal), len(world.events)) == (asked, told)


def test_r1_3_what_others_hold_on_to_stays_with_the_claim(world):
    obj = resource_group()
    obj["metadata"]["annotations"] = {"their/note": "stays"}
    obj["metadata"]["finalizers"] = ["their/finalizer"]
    world.apply(obj, marked=False)
    world.run(obj)
    present = world.read(obj)
    assert annotations(present)["their/note"] == "stays"
    assert finalizers(present) == ["their/finalizer", FINALIZER]


def test_what_is_marked_goes_before_what_waits_and_only_once(world):
    obj = resource_group()
    world.apply(obj, marked=False)
    assert world.run(obj).priority > 0
    world.azure.faults.answer("PUT", "resourceGroups/rg$", 503)
    assert world.run(obj).priority == 0
    world.azure.faults.answer("PUT", "resourceGroups/rg$", 503)
    assert world.run(obj).priority is None
    assert world.run(obj).priority < 0


def test_what_is_ready_at_once_waits_for_its_resync_behind_what_changes(world):
    obj = resource_group()
    world.apply(obj, marked=False)
    world.run(obj)
    assert world.run(obj).priority < 0
    assert world.ready(obj)["status"] == "True"


def vanish(world, obj):
    """Have an object go without asking the operator, as a backup's restore may."""
    body = {"metadata": {"finalizers": None}}
    world.client.patch(world.resource_for(obj), key_of(obj), body)
    world.delete(obj)


def test_what_went_before_it_was_begun_leaves_its_successor_no_place(world):
    obj = resource_group()
    world.apply(obj, marked=False)
    assert world.run(obj).priority > 0
    vanish(world, obj)
    world.run(obj)
    assert not world.remembers(obj)


def test_another_credential_than_the_claims_is_said_before_the_put(world):
    obj = resource_group()
    world.apply(obj, marked=False)
    world.run(obj)
    subscription = world.azure.subscription_id
    rotated = GlobalConnection(world.arm, subscription_id=subscription, source="a/b")
    world.run(obj, operator=attrs.evolve(world.operator, connections=rotated))
    told = [text for _, _, reason, text in world.events if reason == "CredentialFrom"]
    assert told[1:] == ['Using credential from "a/b"']


def test_r2_3_a_claim_notes_a_build_that_no_label_could_hold_as_it_is(world):
    obj = resource_group()
    world.apply(obj, marked=False)
    world.run(obj, operator=attrs.evolve(world.operator, build="1.2+local"))
    assert labels(world.read(obj))[LAST_RECONCILED_VERSION] == "1.2-local"


def test_synchronous_put_goes_straight_to_ready(world):
    obj = resource_group()
    world.apply(obj)
    result = world.run(obj)
    present = world.read(obj)
    subscription = world.azure.subscription_id
    assert annotations(present)[RESOURCE_ID] == (
        f"/subscriptions/{subscription}/resourceGroups/rg"
    )
    assert annotations(present)[LATEST_RECONCILED_GENERATION] == "1"
    assert finalizers(present) == [FINALIZER]
    assert world.ready(obj) == {
        "type": "Ready",
        "status": "True",
        "reason": "Succeeded",
        "observedGeneration": 1,
        "lastTransitionTime": world.ready(obj)["lastTransitionTime"],
    }
    assert present["status"]["name"] == "rg"
    assert result.requeue_after_seconds == SYNC_SECONDS
    assert [r.method for r in world.requests("PUT")] == ["PUT"]
    # The claim, the record of the PUT, and the status: no other write.
    assert len(world.writes) == 3


def test_r1_15_r1_16_sync_puts_again_and_writes_nothing(world, group):
    before = world.read(group)["metadata"]["resourceVersion"]
    world.run(group)
    assert len(world.requests("PUT")) == 2
    assert world.read(group)["metadata"]["resourceVersion"] == before


def test_d11_each_sync_and_each_restart_puts_once(world, group):
    """As Azure Service Operator does: what drifted comes back."""
    for _ in range(2):
        world.clock.advance(world.run(group).requeue_after_seconds)
    world.restart()
    world.run(group)
    puts = world.requests("PUT")
    assert len(puts) == 4
    assert all(put.body == puts[0].body for put in puts)


def test_r1_5_child_of_a_missing_owner_is_not_claimed(world):
    child = virtual_network()
    world.apply(child)
    result = world.run(child)
    present = world.read(child)
    assert world.ready(child)["reason"] == "WaitingForOwner"
    assert "create it" in world.ready(child)["message"]
    assert finalizers(present) == []
    assert RESOURCE_ID not in annotations(present)
    assert world.requests("PUT") == []
    assert result.requeue_after_seconds == 1.0
    owner = resource_group()
    world.apply(owner)
    world.settle(owner)
    assert world.settle(child)["status"]["provisioningState"] == "Succeeded"


def test_claim_names_the_owner(world, group):
    child = virtual_network()
    world.apply(child)
    world.run(child)
    present, owner = world.read(child), world.read(group)
    assert [r["uid"] for r in owner_references(present)] == [owner["metadata"]["uid"]]
    assert labels(present)["serviceoperator.azure.com/owner-name"] == "rg"


def test_claim_names_the_owner_beside_what_else_owns_the_object(world, group):
    theirs = another_owner(world)
    child = virtual_network()
    child["metadata"]["ownerReferences"] = [theirs]
    world.apply(child)
    world.run(child)
    found = owner_references(world.read(child))
    assert [(r["kind"], r["uid"]) for r in found] == [
        ("ConfigMap", theirs["uid"]),
        ("ResourceGroup", uid_of(world.read(group))),
    ]


def test_r1_12_long_operation_takes_one_put_and_one_poll_a_pass(world, group):
    child = virtual_network()
    world.apply(child)
    result = world.run(child)
    notes = annotations(world.read(child))
    assert notes[POLLER_ID] == PUT_POLLER
    assert json.loads(notes[POLLER_TOKEN])["type"] == "GenericResource"
    assert world.ready(child)["reason"] == "Reconciling"
    assert result.requeue_after_seconds == 10.0
    polled = len(world.azure.journal)
    world.clock.advance(10.0)
    world.run(child)
    assert [r.method for r in world.azure.journal[polled:]] == ["GET"]
    world.settle(child)
    notes = annotations(world.read(child))
    assert POLLER_ID not in notes
    assert POLLER_TOKEN not in notes
    assert len(world.requests("PUT", "virtualNetworks")) == 1


def test_a_resource_polled_at_itself_is_not_read_once_more(world, group):
    world.install("eventhub.azure.com/Namespace")
    namespace = {
        "apiVersion": "eventhub.azure.com/v1api20240101",
        "kind": "Namespace",
        "metadata": {"name": "event-hubs", "namespace": "default"},
        "spec": {"owner": {"name": "rg"}, "location": "westeurope"},
    }
    world.apply(namespace)
    world.run(namespace)
    assert world.ready(namespace)["reason"] == "Reconciling"
    world.clock.advance(30.0)
    world.run(namespace)
    assert world.ready(namespace)["status"] == "True"
    assert world.read(namespace)["status"]["provisioningState"] == "Succeeded"
    # One looks before the PUT, one polls.
    assert len(world.requests("GET", "namespaces/event-hubs")) == 2


def test_l27_r1_13_edit_during_an_operation_is_put_after_it(world, group):
    child = virtual_network()
    world.apply(child)
    world.run(child)
    edited = virtual_network(tags={"edited": "yes"})
    world.apply(edited)
    world.clock.advance(10.0)
    world.run(child)
    assert len(world.requests("PUT", "virtualNetworks")) == 1
    # Under way, and what was edited is not forgotten.
    ready = world.ready(child)
    assert (ready["reason"], ready["observedGeneration"]) == ("Reconciling", 2)
    world.settle(child)
    puts = world.requests("PUT", "virtualNetworks")
    assert len(puts) == 2
    assert puts[-1].body["tags"] == {"edited": "yes"}
    assert world.ready(child)["observedGeneration"] == 2


def test_restart_during_an_operation_goes_on_polling(world, group):
    child = virtual_network()
    world.apply(child)
    world.run(child)
    world.restart()
    world.settle(child)
    assert len(world.requests("PUT", "virtualNetworks")) == 1


def test_r1_14_unreadable_token_is_dropped_with_a_warning(world, group):
    child = virtual_network()
    child["metadata"]["annotations"] = {
        POLLER_TOKEN: "no token",
        POLLER_ID: PUT_POLLER,
    }
    world.apply(child)
    world.run(child)
    assert world.ready(child)["severity"] == "Warning"
    assert POLLER_TOKEN not in annotations(world.read(child))
    assert "no token" not in world.ready(child)["message"]


def test_d16_a_poller_of_another_kind_is_dropped(world, group, caplog):
    child = virtual_network()
    child["metadata"]["annotations"] = {
        POLLER_TOKEN: "{}",
        POLLER_ID: "AnotherPoller",
    }
    world.apply(child)
    world.run(child)
    found = annotations(world.read(child))
    assert found.get(POLLER_ID) in (None, PUT_POLLER)
    assert found.get(POLLER_TOKEN) != "{}"
    assert len(world.requests("PUT", "virtualNetworks")) == 1
    assert "Dropping an operation token that is not ours" in caplog.text


def test_d3_trouble_while_polling_keeps_the_operation(world, group):
    child = virtual_network()
    world.apply(child)
    world.run(child)
    token = annotations(world.read(child))[POLLER_TOKEN]
    world.azure.faults.answer("GET", "/operations/", 503, times=2, body="<html>")
    world.clock.advance(10.0)
    world.run(child)
    assert annotations(world.read(child))[POLLER_TOKEN] == token
    assert world.ready(child)["reason"] == "Reconciling"
    world.settle(child)
    assert len(world.requests("PUT", "virtualNetworks")) == 1


def test_what_went_while_it_failed_leaves_its_successor_no_delay(world):
    obj = resource_group()
    delays = []
    for _ in range(2):
        world.apply(obj)
        for _ in range(3):
            world.azure.faults.answer("PUT", "resourceGroups/rg$", 503)
            delays.append(world.run(obj).requeue_after_seconds)
        vanish(world, obj)
        world.run(obj)
    assert delays[:3] == delays[3:]
    assert delays[2] > delays[0]


def test_what_healed_begins_with_the_shortest_delay_again(world):
    obj = resource_group()
    world.apply(obj)
    delays = []
    for _ in range(2):
        for _ in range(3):
            world.azure.faults.answer("PUT", "resourceGroups/rg$", 503)
            delays.append(world.run(obj).requeue_after_seconds)
        world.run(obj)
        assert world.ready(obj)["status"] == "True"
    assert delays[:3] == delays[3:]


def test_r1_17_what_went_during_a_pass_that_failed_is_forgotten(world, group):
    present = world.read(group)
    assert world.remembers(present)

    class Vanishing(Failing):
        def for_object(self, obj):
            vanish(world, group)
            return super().for_object(obj)

    failing = Vanishing(CredentialError("none"))
    operator = attrs.evolve(world.operator, connections=failing)
    assert world.run(group, operator=operator).requeue_after_seconds is None
    assert not world.remembers(present)


def test_arm_refusal_is_shown_word_for_word_and_heals(world, group, caplog):
    child = virtual_network()
    world.azure.faults.answer(
        "PUT", "virtualNetworks", 409, code="QuotaExceeded", message="No more. Ask."
    )
    world.apply(child)
    with caplog.at_level(logging.INFO, logger="asoreconcile"):
        result = world.run(child)
    ready = world.ready(child)
    assert (ready["status"], ready["severity"], ready["reason"], ready["message"]) == (
        "False",
        "Warning",
        "QuotaExceeded",
        "No more. Ask.",
    )
    assert result.requeue_after_seconds == 1.0
    assert ("vnet", "Warning", "CreateOrUpdateActionError") in [
        e[:3] for e in world.events
    ]
    logged = "\n".join(
        str(getattr(r, "asoreconcile_fields", {}).get("armError"))
        for r in caplog.records
    )
    assert "RESPONSE 409: 409 Conflict" in logged
    assert "ERROR CODE: QuotaExceeded" in logged
    world.settle(child)


def test_failed_operation_is_classified_and_put_again(world, group):
    child = virtual_network()
    world.azure.faults.fail_operation("virtualNetworks", "AllocationFailed", "Full.")
    world.apply(child)
    world.run(child)
    world.clock.advance(30.0)
    world.run(child)
    assert world.ready(child)["reason"] == "AllocationFailed"
    assert POLLER_TOKEN not in annotations(world.read(child))
    world.settle(child)
    assert len(world.requests("PUT", "virtualNetworks")) == 2


def test_lost_answer_costs_one_identical_put(world, group):
    child = virtual_network()
    world.azure.faults.drop("PUT", "virtualNetworks", phase="after")
    world.apply(child)
    world.run(child)
    assert world.ready(child)["reason"] == "UnknownError"
    world.settle(child)
    first, second = world.requests("PUT", "virtualNetworks")
    assert first.body == second.body


def test_r1_8_skip_observes_and_never_writes(world, group):
    subscription = world.azure.subscription_id
    arm_id = (
        f"/subscriptions/{subscription}/resourceGroups/rg"
        "/providers/Microsoft.Network/virtualNetworks/vnet"
    )
    child = virtual_network()
    child["metadata"]["annotations"] = {RECONCILE_POLICY: "skip"}
    world.apply(child)
    world.run(child)
    assert world.ready(child)["reason"] == "AzureResourceNotFound"
    world.azure.seed(arm_id, {"location": "westeurope", "properties": {}})
    world.settle(child)
    assert world.requests("PUT", "virtualNetworks") == []
    world.delete(child)
    world.run(child)
    assert world.read(child) is None
    assert world.requests("DELETE") == []


def test_r5_5_finalizer_stays_until_azure_is_done(world, group):
    child = virtual_network()
    world.apply(child)
    world.settle(child)
    world.delete(child)
    world.run(child)
    assert world.ready(child)["reason"] == "Deleting"
    assert finalizers(world.read(child)) == [FINALIZER]
    world.restart()
    assert world.settle(child) is None
    assert len(world.requests("DELETE", "virtualNetworks")) == 1


def test_r5_1_detach_leaves_azure_alone(world, group):
    detached = resource_group()
    detached["metadata"]["annotations"] = {RECONCILE_POLICY: "detach-on-delete"}
    world.apply(detached)
    world.delete(group)
    asked = len(world.azure.journal)
    world.run(group)
    assert world.read(group) is None
    assert len(world.azure.journal) == asked


def test_r5_3_a_delete_proves_that_a_resource_is_gone_already(world, group):
    world.azure.remove(annotations(world.read(group))[RESOURCE_ID])
    world.delete(group)
    world.run(group)
    assert world.read(group) is None
    assert len(world.requests("DELETE")) == 1


def test_r4_5_refused_delete_is_a_warning_and_is_tried_again(world, group):
    world.azure.faults.answer(
        "DELETE", "resourceGroups", 400, code="LocationRequired", message="No."
    )
    world.delete(group)
    world.run(group)
    ready = world.ready(group)
    assert (ready["severity"], ready["reason"]) == ("Warning", "LocationRequired")
    assert world.events[-1][1:3] == ("Warning", "DeleteActionError")
    assert world.settle(group) is None


def test_r10_1_moving_to_another_name_is_refused(world, group):
    """At once where the CRD has our rules, else by the reconciler."""
    with pytest.raises(InvalidError, match="azureName cannot change once"):
        world.apply(resource_group(azureName="other"))
    world.drop_rules(group)
    world.apply(resource_group(azureName="other"))
    world.run(group)
    ready = world.ready(group)
    assert (ready["severity"], ready["reason"]) == ("Error", "Failed")
    assert "change it back" in ready["message"]
    assert not world.requests("PUT", "resourceGroups/other")


def test_d10_lost_resource_id_is_derived_anew(world, group):
    world.client.patch(
        world.resource_for(group),
        _key(world, group),
        {"metadata": {"annotations": {RESOURCE_ID: None}}},
    )
    world.run(group)
    assert annotations(world.read(group))[RESOURCE_ID].endswith("/resourceGroups/rg")


def test_resource_removed_out_of_band_comes_back(world, group):
    world.azure.remove(annotations(world.read(group))[RESOURCE_ID])
    world.settle(group)
    world.run(group)
    assert world.ready(group)["status"] == "True"
    assert len(world.azure.resources()) == 1


def test_two_operators_leave_each_other_s_objects_alone(world, group):
    other = world.make_operator(namespace="another")
    asked = len(world.azure.journal)
    world.run(group, operator=other)
    assert len(world.azure.journal) == asked


def _key(world, obj):
    from asoreconcile.base.objects import key_of

    return key_of(world.read(obj))


def test_de2_delete_refused_for_what_is_in_use_is_tried_again_soon(world, group):
    world.azure.faults.answer(
        "DELETE", "resourceGroups", 400, code="SubnetInUse", message="In use."
    )
    world.delete(group)
    result = world.run(group)
    assert world.ready(group)["reason"] == "SubnetInUse"
    assert result.requeue_after_seconds == 1.0


def test_v2_what_azure_wrote_is_not_sent_back(world, group):
    child = virtual_network()
    world.apply(child)
    world.settle(child)
    shown = world.read(child)["status"]
    assert shown["provisioningState"] == "Succeeded"
    world.apply(virtual_network(tags={"edited": "yes"}))
    world.settle(child)
    first, second = (put.body for put in world.requests("PUT", "virtualNetworks"))
    assert second == {**first, "tags": {"edited": "yes"}}
    for name in ("id", "type", "etag"):
        assert name in shown
        assert name not in second
    assert "provisioningState" not in second["properties"]


def test_pr4_one_registration_for_all_who_miss_it(world, group):
    world.azure.providers.unregister("Microsoft.Network", seconds=30.0)
    networks = [virtual_network(name) for name in ("one", "two", "three")]
    for obj in networks:
        world.apply(obj)
        world.run(obj)
        assert world.ready(obj)["reason"] == "MissingSubscriptionRegistration"
        assert world.ready(obj)["severity"] == "Warning"
    (asked,) = world.requests("POST", "/register")
    assert asked.path.endswith("/providers/Microsoft.Network/register")
    world.clock.advance(30.0)
    for obj in networks:
        world.settle(obj)
    assert len(world.requests("POST", "/register")) == 1
