"""Whose an object is and what may be done for it: policies, inherited or its own, other
operators' objects, and the ways a deletion ends without a DELETE.
"""

from unittest import mock

import attrs
import pytest
from globalconnection import GlobalConnection
from world import LaggingNamespaces, World, resource_group, virtual_network

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.reconcile.model.annotations import (
    IGNORE_FIELDS,
    OPERATOR_NAMESPACE,
    POLLER_TOKEN,
    RECONCILE_POLICY,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.existence import IF_EXISTS
from asoreconcile.azure.reconcile.model.policy import Policy
from asoreconcile.azure.reconcile.model.sync_mode import SYNC_MODE, SyncMode
from asoreconcile.base.objects import ObjectKey, annotations, finalizers, key_of
from asoreconcile.kube.resources import NAMESPACES

GROUPS = "resources.azure.com/ResourceGroup"
NETWORKS = "network.azure.com/VirtualNetwork"


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path, lro=30.0, retry_after=10) as running:
        running.install(GROUPS, NETWORKS)
        running.settled(resource_group())
        yield running


@pytest.fixture
def network(world):
    """A network that is Ready."""
    return world.settled(virtual_network())


def set_policy(world, obj, policy):
    world.annotate(obj, **{RECONCILE_POLICY: policy})


def annotate_namespace(world, **notes):
    body = {"metadata": {"annotations": notes}}
    world.client.patch(NAMESPACES, ObjectKey("", "default"), body)


def set_namespace_policy(world, policy):
    body = {"metadata": {"annotations": {RECONCILE_POLICY: policy}}}
    world.client.patch(NAMESPACES, ObjectKey("", "default"), body)


def puts(world):
    return len(world.requests("PUT", "virtualNetworks"))


def without_credentials(world):
    return attrs.evolve(world.operator, connections=GlobalConnection(None))


def behind(world):
    """The operator, with a watch of Namespaces that is behind."""
    return attrs.evolve(world.operator, namespace_annotations=LaggingNamespaces(world))


# Permission, when the caches are behind.


def test_r1_18_a_namespace_s_skip_holds_a_put_though_the_watch_is_behind(
    world, network
):
    set_namespace_policy(world, "skip")
    world.apply(virtual_network(tags={"a": "b"}))
    for _ in range(3):
        # Not at once: the watch may stay behind.
        assert world.run(network, operator=behind(world)).requeue_after_seconds >= 1.0
    assert puts(world) == 1


def test_r1_18_a_namespace_s_detach_holds_a_delete_though_the_watch_is_behind(
    world, network
):
    set_namespace_policy(world, "detach-on-delete")
    world.delete(network)
    for _ in range(3):
        world.run(network, operator=behind(world))
    assert world.requests("DELETE") == []
    assert world.read(network) is not None
    assert world.settle(network) is None
    assert world.requests("DELETE") == []


def test_r1_18_nothing_is_let_go_for_a_policy_that_the_namespace_had(world, network):
    """A release cannot be undone: the resource would stay in Azure for ever."""
    set_namespace_policy(world, "detach-on-delete")
    before = annotations(world.client.get(NAMESPACES, ObjectKey("", "default")))
    set_namespace_policy(world, None)
    world.delete(network)
    lagging = LaggingNamespaces(world, before)
    late = attrs.evolve(world.operator, namespace_annotations=lagging)
    assert world.run(network, operator=late).requeue_after_seconds >= 1.0
    assert world.read(network) is not None
    world.run(network)
    assert len(world.requests("DELETE")) == 1


@pytest.mark.parametrize(
    "notes",
    [{RECONCILE_POLICY: "skip"}, {OPERATOR_NAMESPACE: "another"}],
    ids=["policy", "operator"],
)
def test_r1_18_what_an_object_s_own_annotation_forbids_is_not_sent(
    world, network, notes
):
    before = world.apply(virtual_network(tags={"a": "b"}))
    world.annotate(network, **notes)
    world.run_once(network, stale=before)
    assert puts(world) == 1


@pytest.mark.parametrize(
    ("where", "name", "value"),
    [
        ("object", SYNC_MODE, "report"),
        ("namespace", SYNC_MODE, "report"),
        ("namespace", IGNORE_FIELDS, "spec.tags.a"),
    ],
)
def test_r1_18_nothing_is_put_over_an_annotation_that_the_watch_has_not_shown(
    world, where, name, value
):
    """The body of the PUT, and whether there is one, rest on more than the policy."""
    network = world.settled(virtual_network(tags={"a": "b"}))
    arm_id = annotations(world.read(network))[RESOURCE_ID]
    body = {**world.azure.resources()[arm_id], "tags": {"a": "of another"}}
    world.arm.put(arm_id, "2025-03-01", body)
    before = world.read(network)
    if where == "object":
        world.annotate(network, **{name: value})
    else:
        annotate_namespace(world, **{name: value})
    world.azure.journal.clear()
    world.clock.advance(10_000.0)
    stale = before if where == "object" else world.read(network)
    world.run_once(network, stale=stale, operator=behind(world))
    assert puts(world) == 0


def test_r1_18_the_answer_to_an_own_write_counts(world):
    """The answer to the write before the PUT shows an edit that the cache lacks."""
    network = virtual_network()
    network["metadata"]["annotations"] = {IF_EXISTS: "adopt"}
    world.apply(network)
    world.run_once(network)
    read = world.arm.get

    def deleted_meanwhile(*asked):
        world.delete(network)
        return read(*asked)

    with mock.patch.object(world.arm, "get", deleted_meanwhile):
        world.run_once(network)
    assert world.requests("GET", "virtualNetworks")
    assert puts(world) == 0


def test_r1_18_a_delete_is_not_sent_for_an_object_that_was_detached(world, network):
    world.delete(network)
    before = world.read(network)
    set_policy(world, network, "detach-on-delete")
    world.run_once(network, stale=before)
    assert world.requests("DELETE") == []
    assert world.settle(network) is None
    assert world.requests("DELETE") == []


class Unreadable:
    """Namespaces that cannot be read."""

    def __call__(self, _namespace):
        return {}

    def live(self, namespace, *, since):
        raise ConditionError(f"{namespace}: no", reason="NamespaceUnreadable")


def test_r1_18_a_delete_waits_for_a_namespace_that_cannot_be_read(world, network):
    operator = attrs.evolve(world.operator, namespace_annotations=Unreadable())
    world.delete(network)
    world.run(network, operator=operator)
    assert world.ready(network)["reason"] == "NamespaceUnreadable"
    assert world.requests("DELETE") == []
    assert world.settle(network) is None
    assert len(world.requests("DELETE")) == 1


def test_r1_18_steady_syncs_read_no_namespace(world, network):
    lagging = LaggingNamespaces(world)
    operator = attrs.evolve(
        world.operator, namespace_annotations=lagging, sync_mode=SyncMode.COMPARE
    )
    world.run(network, operator=operator)
    world.run(network, operator=operator)
    lagging.reads = 0
    world.run(network, operator=operator)
    assert lagging.reads == 0


# Policies.


def test_r1_7_a_namespace_s_skip_keeps_its_objects_from_being_written(world, network):
    set_namespace_policy(world, "skip")
    world.apply(virtual_network(tags={"a": "b"}))
    world.settle(network)
    assert puts(world) == 1
    set_policy(world, network, "manage")
    world.settle(network)
    assert puts(world) == 2


def test_r1_7_a_namespace_s_detach_keeps_its_resources(world, network):
    set_namespace_policy(world, "detach-on-delete")
    world.run(network)
    assert puts(world) == 2  # only deletions are held back
    world.delete(network)
    assert world.settle(network) is None
    assert world.requests("DELETE") == []


def test_r1_7_an_object_may_be_deleted_though_its_namespace_detaches(world, network):
    set_namespace_policy(world, "detach-on-delete")
    set_policy(world, network, "manage")
    world.delete(network)
    assert world.settle(network) is None
    assert len(world.requests("DELETE", "virtualNetworks")) == 1


def test_r1_7_the_operator_s_default_counts_where_nothing_is_said(world, network):
    cautious = world.make_operator(policy=Policy.DETACH_ON_DELETE)
    world.delete(network)
    world.run(network, operator=cautious)
    assert world.read(network) is None
    assert world.requests("DELETE") == []


def test_r1_7_with_an_unknown_policy_nothing_is_written(world, network, caplog):
    set_policy(world, network, "Skip")
    world.apply(virtual_network(tags={"a": "b"}))
    world.run(network)
    world.run(network)
    assert puts(world) == 1
    assert "Unknown reconcile-policy; nothing is written" in [
        r.msg for r in caplog.records
    ]
    set_policy(world, network, "manage")
    world.settle(network)
    assert puts(world) == 2


@pytest.mark.parametrize("value", ["detach-on-delte", "Skip", "mange"])
def test_r1_7_with_an_unknown_policy_nothing_is_deleted(world, network, value):
    set_policy(world, network, value)
    world.delete(network)
    world.run(network)
    assert world.ready(network)["reason"] == "ReconcilePolicyUnreadable"
    assert world.requests("DELETE") == []
    set_policy(world, network, "detach-on-delete")
    assert world.settle(network) is None
    assert world.requests("DELETE") == []


def test_r1_7_an_unknown_policy_does_not_switch_off_the_namespace_s_skip(
    world, network
):
    set_namespace_policy(world, "skip")
    set_policy(world, network, "skp")
    world.apply(virtual_network(tags={"a": "b"}))
    world.run(network)
    world.run(network)
    assert puts(world) == 1


def told(world):
    return [e[3] for e in world.events if e[2] == "UnknownAnnotationValue"]


def test_r1_7_an_unknown_policy_is_told_to_whoever_wrote_it(world, network):
    """In the condition of whatever comes of its passes, and once in an event."""
    set_policy(world, network, "detach_on_delete")
    for _ in range(3):
        world.run(network)
    ready = world.ready(network)
    assert (ready["status"], ready["reason"]) == ("False", "ReconcilePolicyUnreadable")
    sentence = f"annotation {RECONCILE_POLICY} is 'detach_on_delete', which is none of "
    assert sentence in ready["message"]
    assert "did you mean detach-on-delete? Until it is" in ready["message"]
    assert "nothing is written or deleted in Azure" in ready["message"]
    (event,) = told(world)
    assert ready["message"].endswith(event)
    set_policy(world, network, "detach-on-delete")
    world.settle(network)
    assert "message" not in world.ready(network)
    assert len(told(world)) == 1


def test_r1_7_an_unknown_policy_of_the_namespace_is_told_as_such(world, network):
    set_namespace_policy(world, "Skip")
    world.run(network)
    assert "the Namespace's annotation" in world.ready(network)["message"]
    assert len(told(world)) == 1


def test_an_unknown_policy_of_another_operators_object_is_not_ours_to_tell(world):
    obj = resource_group(name="theirs")
    obj["metadata"]["annotations"] = {
        OPERATOR_NAMESPACE: "another",
        RECONCILE_POLICY: "Skip",
    }
    world.apply(obj)
    world.run(obj)
    assert told(world) == []


def test_an_unknown_sync_mode_is_told_too(world, network):
    world.annotate(network, **{SYNC_MODE: "x" * 1000})
    world.settle(network)
    message = world.ready(network)["message"]
    assert f"annotation {SYNC_MODE} is 'xxx" in message
    assert "none of put, compare, report. Until it is corrected, syncs" in message
    assert "only report" in message
    assert len(message) < 300


def test_skip_during_an_operation_leaves_its_token_for_later(world):
    obj = virtual_network()
    world.apply(obj)
    world.run(obj)
    token = annotations(world.read(obj))[POLLER_TOKEN]
    set_policy(world, obj, "skip")
    world.clock.advance(10.0)
    world.run(obj)
    assert annotations(world.read(obj))[POLLER_TOKEN] == token
    set_policy(world, obj, None)
    world.clock.advance(30.0)
    world.settle(obj)
    assert POLLER_TOKEN not in annotations(world.read(obj))
    assert puts(world) == 1


def test_what_is_skipped_and_gone_is_said_and_not_made_again(world, network):
    set_policy(world, network, "skip")
    world.azure.remove(annotations(world.read(network))[RESOURCE_ID])
    delays = [world.run(network).requeue_after_seconds for _ in range(3)]
    ready = world.ready(network)
    assert (ready["severity"], ready["reason"]) == ("Warning", "AzureResourceNotFound")
    assert delays == [1, 2, 4]
    assert puts(world) == 1
    set_policy(world, network, "manage")
    world.settle(network)
    assert puts(world) == 2


# Other operators.


def test_r1_2_another_operator_s_object_is_left_alone_while_it_is_deleted(
    world, network
):
    world.annotate(network, **{OPERATOR_NAMESPACE: "elsewhere"})
    asked, version = len(world.azure.journal), world.read(network)["metadata"]
    world.events.clear()
    world.delete(network)
    result = world.run(network)
    assert result.requeue_after_seconds is None
    assert [(kind, reason) for _, kind, reason, _ in world.events] == [
        ("Warning", "Overlap")
    ]
    present = world.read(network)["metadata"]
    assert finalizers(world.read(network)) == version["finalizers"]
    assert present["annotations"] == version["annotations"]
    assert len(world.azure.journal) == asked


# Deletions that need no DELETE, and those that do not get through.


@pytest.mark.parametrize("policy", ["skip", "detach-on-delete"])
@pytest.mark.parametrize("inherited", [False, True], ids=["own", "inherited"])
def test_r5_1_detaching_needs_neither_azure_nor_credentials(
    world, network, policy, inherited
):
    if inherited:
        set_namespace_policy(world, policy)
    else:
        set_policy(world, network, policy)
    world.delete(network)
    asked = len(world.azure.journal)
    world.run(network, operator=without_credentials(world))
    assert world.read(network) is None
    assert len(world.azure.journal) == asked


def test_r5_1_detaching_frees_a_deletion_that_azure_refuses(world, network):
    world.azure.faults.answer(
        "DELETE", "virtualNetworks", 403, code="AuthorizationFailed", times=99
    )
    world.delete(network)
    for _ in range(3):
        world.clock.advance(world.run(network).requeue_after_seconds)
    assert world.ready(network)["reason"] == "AuthorizationFailed"
    set_policy(world, network, "detach-on-delete")
    world.run(network)
    assert world.read(network) is None


def test_r5_3_what_went_with_its_group_is_proved_by_a_delete(world, network):
    """A read may miss what Azure still makes, so no read comes before it."""
    world.azure.remove(annotations(world.read(resource_group()))[RESOURCE_ID])
    world.delete(network)
    world.run(network)
    assert world.read(network) is None
    assert len(world.requests("DELETE")) == 1


def test_de3_a_deletion_that_may_not_look_is_a_warning_and_goes_on(world, network):
    """Without access Azure says neither that it is there nor that it is gone."""
    for method in ("GET", "DELETE"):
        world.azure.faults.answer(
            method, "virtualNetworks", 403, code="AuthorizationFailed", times=4
        )
    world.delete(network)
    delays = [world.run(network).requeue_after_seconds for _ in range(4)]
    ready = world.ready(network)
    assert (ready["severity"], ready["reason"]) == ("Warning", "AuthorizationFailed")
    assert delays == [1, 2, 4, 8]
    assert finalizers(world.read(network))
    assert world.settle(network) is None


def test_a_finalizer_of_ours_that_is_gone_leaves_nothing_to_do(world, network):
    foreign = {"metadata": {"finalizers": ["example.com/theirs"]}}
    world.client.patch(world.resource_for(network), key_of(network), foreign)
    world.delete(network)
    asked, before = len(world.azure.journal), world.read(network)
    assert world.run(network).requeue_after_seconds is None
    assert world.read(network) == before
    assert len(world.azure.journal) == asked
