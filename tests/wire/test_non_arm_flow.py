"""What reconciles of all kinds without ARM have in common: claim, policies, finalizer,
conditions. The outside is a double that says what was asked of it.
"""

from uuid import UUID

import attrs
import pytest
from globalconnection import GlobalConnection
from world import OPERATOR, World

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.non_arm.owner_in_azure import OWNER_ID
from asoreconcile.azure.reconcile.model.annotations import (
    FINALIZER,
    OPERATOR_NAMESPACE,
    OWNER_NAME,
    RECONCILE_POLICY,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.decisions import Requeue, Succeeded
from asoreconcile.base.objects import (
    GroupKind,
    annotations,
    finalizers,
    key_of,
    labels,
    owner_references,
)

SERVERS = "dbforpostgresql.azure.com/FlexibleServer"
USER = GroupKind("dbforpostgresql.azure.com", "User")


class Outside:
    """`non_arm.resource.ExternalResource`; `end` is raised or returned."""

    def __init__(self):
        self.asked = []
        self.forgotten = []
        self.end = Succeeded()

    def apply(self, scope):
        return self._do("apply", scope)

    def observe(self, scope):
        self._do("observe", scope)

    def delete(self, scope):
        return self._do("delete", scope)

    def forget(self, key):
        self.forgotten.append(key.name)

    def close(self):
        self.asked.append("close")

    def _do(self, what, scope):
        # What is stored already when the outside is asked.
        self.asked.append((what, FINALIZER in finalizers(scope.patcher.obj)))
        if isinstance(self.end, Exception):
            raise self.end
        return self.end


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path) as running:
        running.install(SERVERS, "dbforpostgresql.azure.com/User")
        running.outside = running.external[USER] = Outside()
        yield running


def user(name="app", **annotated):
    return {
        "apiVersion": "dbforpostgresql.azure.com/v1",
        "kind": "User",
        "metadata": {"name": name, "namespace": "default", "annotations": annotated},
        "spec": {
            "owner": {"name": "server"},
            "localUser": {
                "password": {"name": "passwords", "key": "app"},
                "serverAdminPassword": {"name": "passwords", "key": "admin"},
                "serverAdminUsername": "admin",
            },
        },
    }


def server(world, *, ready=True):
    """The owner, as its own reconciles leave it."""
    obj = {
        "apiVersion": "dbforpostgresql.azure.com/v20250801",
        "kind": "FlexibleServer",
        "metadata": {"name": "server", "namespace": "default"},
        "spec": {"owner": {"name": "rg"}, "location": "westeurope"},
    }
    world.apply(obj)
    subscription = world.azure.subscription_id
    world.annotate(
        obj,
        **{
            "serviceoperator.azure.com/resource-id": f"/subscriptions/{subscription}"
            "/resourceGroups/rg/providers/Microsoft.DBforPostgreSQL/flexibleServers/s"
        },
    )
    condition = {
        "type": "Ready",
        "status": "True" if ready else "False",
        "reason": "Succeeded" if ready else "Reconciling",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    world.client.patch(
        world.resource_for(obj),
        key_of(obj),
        {"status": {"conditions": [condition]}},
        subresource="status",
    )
    return obj


def test_r1_4_the_finalizer_is_stored_before_anything_is_done_outside(world):
    server(world)
    world.apply(user(), marked=False)
    assert world.settle(user())
    assert world.outside.asked == [("apply", True)]
    present = world.read(user())
    assert annotations(present)[OPERATOR_NAMESPACE] == OPERATOR
    assert labels(present)[OWNER_NAME] == "server"
    assert owner_references(present)[0]["kind"] == "FlexibleServer"
    assert world.ready(user())["reason"] == "Succeeded"


def test_r1_5_an_owner_that_is_not_there_or_not_ready_is_waited_for(world):
    world.apply(user())
    world.run(user())
    assert world.ready(user())["reason"] == "WaitingForOwner"
    owner = server(world, ready=False)
    world.run(user())
    assert "not Ready yet" in world.ready(user())["message"]
    assert finalizers(world.read(user())) == []
    assert world.outside.asked == []
    world.delete(owner)


def test_r1_2_another_operator_s_object_is_left_alone(world):
    server(world)
    world.apply(user(**{OPERATOR_NAMESPACE: "other"}), marked=False)
    world.run(user())
    assert world.outside.asked == []
    assert [e[2] for e in world.events] == ["Overlap"]


def test_r1_8_skip_looks_and_neither_writes_nor_deletes(world):
    server(world)
    world.apply(user(**{RECONCILE_POLICY: "skip"}))
    world.settle(user())
    assert world.outside.asked == [("observe", True)]
    world.delete(user())
    assert world.settle(user()) is None
    assert world.outside.asked == [("observe", True)]
    assert world.outside.forgotten == ["app"]


def test_a_deletion_ends_when_the_outside_says_that_it_is_gone(world):
    server(world)
    world.settled(user())
    world.delete(user())
    world.outside.end = Requeue(5.0)
    assert world.run(user()).requeue_after_seconds == 5.0
    assert world.ready(user())["reason"] == "Deleting"
    world.outside.end = Succeeded()
    assert world.settle(user()) is None
    assert world.outside.asked == [("apply", True), ("delete", True), ("delete", True)]


def test_a_deletion_that_fails_keeps_the_object_and_says_why(world):
    server(world)
    world.settled(user())
    world.delete(user())
    world.outside.end = ConditionError("it owns a table", reason="UserOwnsObjects")
    world.run(user())
    ready = world.ready(user())
    assert (ready["reason"], ready["message"]) == ("UserOwnsObjects", "it owns a table")
    assert ("app", "Warning", "DeleteActionError") in [e[:3] for e in world.events]


def test_what_hung_on_an_owner_that_is_gone_goes_without_being_deleted(world):
    owner = server(world)
    world.settled(user())
    world.delete(owner)
    world.delete(user())
    assert world.settle(user()) is None
    assert ("delete", True) not in world.outside.asked


@pytest.mark.parametrize(
    ("status", "code", "is_gone"),
    [
        (404, "ResourceGroupNotFound", True),
        (410, "ResourceNotFound", True),
        (404, "SubscriptionNotFound", False),
        (404, "ServerLost", False),
        (403, "AuthorizationFailed", False),
    ],
)
def test_k2_only_azure_says_that_the_owner_is_gone(world, status, code, is_gone):
    owner = server(world)
    arm_id = annotations(world.read(owner))[RESOURCE_ID]
    world.settled(user(**{OWNER_ID: arm_id}))
    world.delete(owner)
    world.azure.faults.answer("GET", "flexibleServers/s$", status, code=code)
    world.delete(user())
    world.run(user())
    assert (world.read(user()) is None) is is_gone
    if not is_gone:
        assert "detach-on-delete" in world.ready(user())["message"]


def test_r8_6_an_owner_in_another_subscription_does_not_count_as_gone(world):
    """Azure tells a credential of another subscription that nothing is there."""
    owner = server(world)
    arm_id = annotations(world.read(owner))[RESOURCE_ID]
    world.settled(user(**{OWNER_ID: arm_id}))
    world.delete(owner)
    world.delete(user())
    connections = GlobalConnection(
        world.arm, subscription_id=str(UUID(int=7)), source="a/b"
    )
    other = attrs.evolve(world.operator, connections=connections)
    world.run(user(), operator=other)
    assert world.ready(user())["reason"] == "SubscriptionMismatch"
    assert world.settle(user()) is None


def test_detach_on_delete_leaves_what_is_outside(world):
    server(world)
    world.settled(user(**{RECONCILE_POLICY: "detach-on-delete"}))
    world.delete(user())
    assert world.settle(user()) is None
    assert world.outside.asked == [("apply", True)]


def test_an_unknown_policy_is_said_and_nothing_is_done_outside(world):
    server(world)
    world.apply(user(**{RECONCILE_POLICY: "manage-it"}))
    world.run(user())
    assert world.ready(user())["reason"] == "ReconcilePolicyUnreadable"
    assert world.outside.asked == []


def test_a_failure_is_shown_and_tried_again(world):
    server(world)
    world.apply(user())
    world.outside.end = ConditionError("no way in", reason="ServerUnreachable")
    assert world.run(user()).requeue_after_seconds == 1.0
    assert world.ready(user())["severity"] == "Warning"
    world.outside.end = Succeeded()
    world.settle(user())
