"""Deletion protection: no DELETE leaves for a protected resource, in none of many ways.

Management locks of Azure are tested too.
"""

import re

import attrs
import pytest
from world import OPERATOR, World, resource_group, virtual_network

from asoreconcile.azure.controllers.admission import Admission
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.deletion_guard import DeletionGuard
from asoreconcile.azure.controllers.live_objects import LiveObjects
from asoreconcile.azure.controllers.protected_objects import VanishedObjects
from asoreconcile.azure.reconcile.model.annotations import (
    DELETION_PROTECTION,
    FINALIZER,
    OPERATOR_NAMESPACE,
    POLLER_ID,
    POLLER_TOKEN,
    PUT_POLLER,
    RECONCILE_POLICY,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.policy import Policy
from asoreconcile.azure.reconcile.model.sync_mode import SYNC_MODE
from asoreconcile.base.objects import (
    ObjectKey,
    finalizers,
    gvk_of,
    key_of,
    uid_of,
)
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.events import Deleted
from asoreconcile.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES
from asoreconcile.webhooks.admission import AdmissionRequest, Allowed, Denied

GROUP, NETWORK = resource_group(), virtual_network()
SUBNET = {
    "apiVersion": "network.azure.com/v20250301",
    "kind": "VirtualNetworksSubnet",
    "metadata": {"name": "sub"},
    "spec": {"owner": {"name": "vnet"}, "addressPrefix": "10.0.1.0/24"},
}
ON = {DELETION_PROTECTION: "true"}
LOCKS = "/providers/Microsoft.Authorization/locks"


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path, lro=30.0, retry_after=10) as running:
        running.install(
            "resources.azure.com/ResourceGroup",
            "network.azure.com/VirtualNetwork",
            "network.azure.com/VirtualNetworksSubnet",
        )
        for obj in (GROUP, NETWORK, SUBNET):
            running.settled(obj)
        yield running


def protect_namespace(world, value="true", name="default"):
    body = {"metadata": {"annotations": {DELETION_PROTECTION: value}}}
    world.client.patch(NAMESPACES, ObjectKey("", name), body)


def reconcile_all(world, passes=4):
    """Reconcile everything that is there, often enough for a DELETE and its polls."""
    for _ in range(passes):
        for obj in (SUBNET, NETWORK, GROUP):
            if world.read(obj) is not None:
                result = world.run(obj)
                world.clock.advance(min(result.requeue_after_seconds or 0.0, 200.0))


def marked(value):
    def way(world):
        world.annotate(NETWORK, **{DELETION_PROTECTION: value})
        world.delete(NETWORK)

    return way


def with_options(**options):
    def way(world):
        world.annotate(NETWORK, **ON)
        world.client.delete(world.resource_for(NETWORK), key(NETWORK), **options)

    return way


def key(obj):
    return ObjectKey("default", key_of(obj).name)


def by_namespace(world):
    protect_namespace(world)
    world.delete(NETWORK)


def by_misspelt_namespace(world):
    protect_namespace(world, "ture")
    world.delete(NETWORK)


def namespace_over_own_false(world):
    protect_namespace(world)
    marked("false")(world)


def collection(world):
    world.annotate(NETWORK, **ON)
    resource = world.resource_for(NETWORK)
    for obj in world.client.list_all(resource):
        world.client.delete(resource, key_of(obj))


def owner(world):
    world.annotate(NETWORK, **ON)
    world.delete(GROUP)


def group_itself(world):
    world.annotate(GROUP, **ON)
    world.delete(GROUP)


def owner_and_child(world):
    world.annotate(NETWORK, **ON)
    world.delete(GROUP)
    world.delete(NETWORK)


def owner_of_owner(world):
    world.annotate(SUBNET, **ON)
    world.delete(GROUP)


def parent(world):
    world.annotate(SUBNET, **ON)
    world.delete(NETWORK)


def whole_chain(world):
    world.annotate(SUBNET, **ON)
    for obj in (GROUP, NETWORK, SUBNET):
        world.delete(obj)


def owner_without_references(world):
    """The collector knows nothing: only the ARM ids tell."""
    world.annotate(NETWORK, **ON)
    body = {"metadata": {"ownerReferences": None}}
    world.client.patch(world.resource_for(NETWORK), key(NETWORK), body)
    world.delete(GROUP)


def strip(world, obj):
    body = {"metadata": {"finalizers": None}}
    world.client.patch(world.resource_for(obj), key(obj), body)


def stripped_before(world):
    world.annotate(NETWORK, **ON)
    strip(world, NETWORK)
    world.delete(NETWORK)


def stripped_after(world):
    world.annotate(NETWORK, **ON)
    world.delete(NETWORK)
    strip(world, NETWORK)


def definition(world):
    world.annotate(NETWORK, **ON)
    resource = world.resource_for(NETWORK)
    name = ObjectKey("", f"{resource.plural}.{resource.group}")
    world.client.delete(CUSTOM_RESOURCE_DEFINITIONS, name)


def namespace(world):
    protect_namespace(world)
    for obj in (GROUP, NETWORK, SUBNET):
        world.delete(obj)


def restarted(world):
    marked("true")(world)
    world.restart()


def restarted_by_another_version(world):
    marked("true")(world)
    world.restart()
    world.operator = attrs.evolve(world.operator, build="next")


def lost_id(world):
    marked("true")(world)
    world.annotate(NETWORK, **{RESOURCE_ID: None})
    world.annotate(NETWORK, **{RESOURCE_ID: arm_id(world)})


def arm_id(world):
    (one,) = {r.path for r in world.requests("PUT", "virtualNetworks/vnet")} - {
        r.path for r in world.requests("PUT", "/subnets/")
    }
    return one


def during_a_put(world):
    world.annotate(NETWORK, **{POLLER_TOKEN: "{}", POLLER_ID: PUT_POLLER})
    marked("true")(world)


def with_note(name, value):
    def way(world):
        world.annotate(NETWORK, **{name: value})
        marked("true")(world)

    return way


def after_a_sync(world):
    world.annotate(NETWORK, **ON)
    world.clock.advance(4000.0)
    world.run(NETWORK)
    world.delete(NETWORK)


def protected_while_waiting(world):
    """The cache still shows the object of before."""
    world.delete(NETWORK)
    before = world.read(NETWORK)
    world.annotate(NETWORK, **ON)
    world.run_once(NETWORK, stale=before)


def namespace_while_the_watch_is_behind(world):
    world.delete(NETWORK)
    live = world.operator.namespace_annotations

    class Behind:
        def __call__(self, _namespace):
            return {}

        def live(self, name, *, since):
            return live.live(name, since=since)

    protect_namespace(world)
    world.operator = attrs.evolve(world.operator, namespace_annotations=Behind())


def another_operator(world):
    marked("true")(world)
    world.run(NETWORK, operator=world.make_operator(namespace="another"))


WAYS = {
    "delete": marked("true"),
    "misspelt false": marked("flase"),
    "foreground": with_options(propagation="Foreground"),
    "orphan": with_options(propagation="Orphan"),
    "Namespace": by_namespace,
    "misspelt on the Namespace": by_misspelt_namespace,
    "Namespace over the object's false": namespace_over_own_false,
    "each of a collection": collection,
    "group itself": group_itself,
    "owner": owner,
    "owner and child": owner_and_child,
    "owner's owner": owner_of_owner,
    "parent": parent,
    "whole chain": whole_chain,
    "owner without owner references": owner_without_references,
    "finalizer stripped, then deleted": stripped_before,
    "deleted, then finalizer stripped": stripped_after,
    "CRD": definition,
    "all of a Namespace": namespace,
    "restart": restarted,
    "upgrade": restarted_by_another_version,
    "lost resource-id": lost_id,
    "during a PUT": during_a_put,
    "explicit manage": with_note(RECONCILE_POLICY, "manage"),
    "empty policy": with_note(RECONCILE_POLICY, ""),
    "sync mode put": with_note(SYNC_MODE, "put"),
    "after a sync": after_a_sync,
    "protected while a DELETE was decided": protected_while_waiting,
    "Namespace protected behind the watch": namespace_while_the_watch_is_behind,
    "another operator": another_operator,
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_ow4_no_way_of_deleting_deletes_what_is_protected(world, way):
    way(world)
    reconcile_all(world)
    deleted = [one.path.lower() for one in world.requests("DELETE")]
    # A parent contains the protected resource. A child that is not protected may go.
    assert [path for path in deleted if not path.endswith("/subnets/sub")] == []


def test_ow4_the_condition_and_an_event_say_how_to_let_go(world):
    marked("true")(world)
    reconcile_all(world)
    ready = world.ready(NETWORK)
    assert (ready["status"], ready["severity"]) == ("False", "Warning")
    assert ready["reason"] == "DeletionProtected"
    assert DELETION_PROTECTION in ready["message"]
    assert "detach-on-delete" in ready["message"]
    assert FINALIZER in finalizers(world.read(NETWORK))
    ((type_, reason, message),) = {
        event[1:] for event in world.events if event[2] == "DeleteActionError"
    }
    assert (type_, reason) == ("Warning", "DeleteActionError")
    assert message.startswith("DeletionProtected: ")


def test_ow4_an_owner_s_condition_names_the_protected_child(world):
    owner(world)
    reconcile_all(world)
    ready = world.ready(GROUP)
    assert ready["reason"] == "DeletionProtected"
    assert "VirtualNetwork default/vnet" in ready["message"]
    world.annotate(NETWORK, **{DELETION_PROTECTION: None})
    assert world.settle(GROUP) is None
    assert [one.path.rpartition("/")[2] for one in world.requests("DELETE")] == ["rg"]


@pytest.mark.parametrize("same_id", [False, True])
def test_ow4_an_object_that_manages_nothing_protects_what_its_spec_names(
    world, same_id
):
    """It waits for its Secret, or another object manages the id."""
    named = virtual_network("named", azureName="vnet" if same_id else "named")
    named["metadata"]["annotations"] = {**ON, RECONCILE_POLICY: "skip"}
    world.apply(named, marked=False)
    victim = NETWORK if same_id else GROUP
    world.annotate(NETWORK, **{DELETION_PROTECTION: None})
    world.delete(victim)
    for _ in range(3):
        world.run(victim)
    ready = world.ready(victim)
    assert ready["reason"] == "DeletionProtected"
    assert "VirtualNetwork default/named" in ready["message"]
    assert world.requests("DELETE") == []
    world.annotate(named, **{DELETION_PROTECTION: None})
    assert world.settle(victim) is None


def test_ow4_without_the_annotation_the_deletion_goes_on(world):
    marked("true")(world)
    reconcile_all(world)
    world.annotate(NETWORK, **{DELETION_PROTECTION: "false"})
    assert world.settle(NETWORK) is None
    assert len(world.requests("DELETE", "virtualNetworks/vnet")) == 1


def test_ow4_a_detached_object_goes_and_leaves_the_resource(world):
    marked("true")(world)
    reconcile_all(world)
    world.annotate(NETWORK, **{RECONCILE_POLICY: "detach-on-delete"})
    assert world.settle(NETWORK) is None
    assert world.requests("DELETE") == []


def test_ow4_a_protected_child_in_another_namespace_is_only_named(world):
    """Otherwise a tenant could keep another tenant's group."""
    world.client.create(NAMESPACES, {"metadata": {"name": "other"}})
    there = virtual_network("theirs")
    there["metadata"] |= {"namespace": "other", "annotations": dict(ON)}
    there["metadata"]["annotations"] |= {
        OPERATOR_NAMESPACE: OPERATOR,
        RESOURCE_ID: f"{arm_id(world).rpartition('/')[0]}/theirs",
    }
    world.client.create(world.resource_for(there), there)
    world.delete(GROUP)
    assert world.settle(GROUP) is None
    (event,) = {e for e in world.events if e[2] == "ProtectedElsewhere"}
    assert "VirtualNetwork other/theirs" in event[3]


# Objects that vanish.


def vanished(world, obj, **changes):
    facts = {
        "recorder": world,
        "namespace": OPERATOR,
        "inherited": world.operator.namespace_annotations,
        "default_policy": Policy.MANAGE,
        "leads": lambda: True,
        **changes,
    }
    VanishedObjects(**facts).on_event(gvk_of(obj).group_kind, Deleted(Entry(obj)))
    return [event for event in world.events if event[2] == "ProtectedObjectGone"]


def test_ow4_a_vanished_object_is_an_event_in_the_operator_s_namespace(world):
    world.annotate(NETWORK, **ON)
    (event,) = vanished(world, world.read(NETWORK))
    assert event[0] == OPERATOR
    assert arm_id(world).rpartition("/")[2] in event[3]


@pytest.mark.parametrize(
    ("notes", "changes"),
    [
        ({DELETION_PROTECTION: "false"}, {}),
        ({**ON, RECONCILE_POLICY: "detach-on-delete"}, {}),
        ({**ON, OPERATOR_NAMESPACE: "another"}, {}),
        ({**ON, RESOURCE_ID: None}, {}),
        (ON, {"leads": lambda: False}),
    ],
    ids=["unprotected", "detached", "another's", "never claimed", "not the leader"],
)
def test_ow4_an_object_that_was_let_go_is_no_event(world, notes, changes):
    world.annotate(NETWORK, **notes)
    assert vanished(world, world.read(NETWORK), **changes) == []


# The webhook.


def review(world, obj, *, group="", version="", subresource="", operation="DELETE"):
    gvk = gvk_of(obj)
    guard = DeletionGuard(world.client, Policy.MANAGE, world.operator.protected_below)
    objects = LiveObjects(world.client, builtin())

    def live(asked):
        """Convert as an API server that serves each version; this one serves one."""
        return objects(attrs.evolve(asked, gvk=gvk))

    admission = Admission(builtin(), refuse_deletion=guard.why_refused, live=live)
    return admission.validate(
        AdmissionRequest(
            operation=operation,
            gvk=attrs.evolve(
                gvk, group=group or gvk.group, version=version or gvk.version
            ),
            key=key(obj),
            obj=None if operation == "DELETE" else obj,
            old=obj,
            subresource=subresource,
            dry_run=False,
            user={},
            options={},
        )
    )


@pytest.mark.parametrize("version", ["", "v20250301storage", "v1api20201101"])
def test_ow4_the_webhook_refuses_with_the_way_to_lift_it(world, version):
    world.annotate(NETWORK, **ON)
    refused = review(world, world.read(NETWORK), version=version)
    assert isinstance(refused, Denied)
    assert DELETION_PROTECTION in refused.message


def test_ow4_the_webhook_refuses_what_the_namespace_protects(world):
    protect_namespace(world)
    refused = review(world, world.read(NETWORK))
    assert isinstance(refused, Denied)
    assert "on the Namespace" in refused.message


def test_ow4_the_webhook_refuses_an_owner_of_what_is_protected(world):
    world.annotate(SUBNET, **ON)
    refused = review(world, world.read(GROUP))
    assert isinstance(refused, Denied)
    assert "VirtualNetworksSubnet default/sub" in refused.message


@pytest.mark.parametrize("invented", ["uid", "no uid", "name", "id"])
def test_wh12_an_invented_object_learns_nothing_of_what_is_protected(world, invented):
    """Anyone who reaches the port can invent one, or state another id of a live one."""
    world.annotate(NETWORK, **ON)
    group = world.read(GROUP)
    assert isinstance(review(world, group), Denied)
    if invented == "id":
        other, notes = world.read(SUBNET), group["metadata"]["annotations"]
        other["metadata"]["annotations"][RESOURCE_ID] = notes[RESOURCE_ID]
        group = other
    meta = group["metadata"]
    meta |= {"uid": {"uid": "invented"}, "no uid": {"uid": ""}}.get(invented, {})
    meta |= {"name": "another"} if invented == "name" else {}
    assert review(world, group) == Allowed()


@pytest.mark.parametrize(
    ("notes", "more"),
    [
        ({}, {}),
        ({**ON, RECONCILE_POLICY: "skip"}, {}),
        ({**ON, RESOURCE_ID: None}, {}),
        (ON, {"group": "network.example.com"}),
        (ON, {"subresource": "status"}),
    ],
    ids=["unprotected", "skip", "never claimed", "another's kind", "subresource"],
)
def test_ow4_the_webhook_lets_pass_what_deletes_nothing_in_azure(world, notes, more):
    world.annotate(NETWORK, **notes)
    assert review(world, world.read(NETWORK), **more) == Allowed()


def test_ow4_an_object_that_is_being_deleted_is_not_refused_again(world):
    world.annotate(NETWORK, **ON)
    world.delete(NETWORK)
    assert review(world, world.read(NETWORK)) == Allowed()


# Locks in Azure.


def lock(world, scope, level="CanNotDelete", name="keep"):
    world.arm.put(
        f"{scope}{LOCKS}/{name}",
        "2020-05-01",
        {"properties": {"level": level}},
    )


def group_id(world):
    return re.sub(r"/providers/.*", "", arm_id(world))


@pytest.mark.parametrize("where", ["group", "resource"])
def test_ow4_a_lock_in_azure_is_named_and_not_hammered(world, where):
    scope = group_id(world) if where == "group" else arm_id(world)
    lock(world, scope)
    world.delete(NETWORK)
    for _ in range(10):
        result = world.run(NETWORK)
        assert result.requeue_after_seconds >= 300.0
        world.clock.advance(1.0)
    ready = world.ready(NETWORK)
    assert (ready["reason"], ready["severity"]) == ("ScopeLocked", "Warning")
    assert f"lock keep (CanNotDelete) of {scope}" in ready["message"]
    world.arm.delete(f"{scope}{LOCKS}/keep", "2020-05-01")
    assert world.settle(NETWORK) is None


def test_ow4_a_read_only_lock_is_no_error_of_the_spec(world):
    lock(world, group_id(world), "ReadOnly")
    world.apply(virtual_network(tags={"a": "b"}))
    result = world.run(NETWORK)
    ready = world.ready(NETWORK)
    assert (ready["reason"], ready["severity"]) == ("ScopeLocked", "Warning")
    assert 300.0 <= result.requeue_after_seconds < 600.0


def test_ow4_locks_that_may_not_be_read_are_told_by_their_scope(world):
    lock(world, group_id(world))
    world.azure.faults.answer("GET", "locks", 403, code="AuthorizationFailed", times=99)
    world.delete(NETWORK)
    world.run(NETWORK)
    assert group_id(world).lower() in world.ready(NETWORK)["message"].lower()


def test_ow4_an_object_of_the_same_name_is_not_a_child_of_the_deleted_one(world):
    other = resource_group("rg2")
    world.settled(other)
    world.annotate(NETWORK, **ON)
    world.delete(other)
    assert world.settle(other) is None
    assert uid_of(world.read(NETWORK))
