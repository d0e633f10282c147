"""Extensions for any kind hold users of databases and groups of Entra, too."""

import pytest
from test_entra_groups import GROUP_KIND, group
from test_entra_groups import KIND as GROUPS
from test_non_arm_flow import SERVERS, USER, Outside, server, user
from world import World

from asoreconcile.azure.entra.directory_objects import DirectoryObjects
from asoreconcile.azure.middleware.extension_points import (
    DELETE,
    EVERY_SUCCESS,
    POST_RECONCILE,
    PRE_RECONCILE,
    PRE_RECONCILE_OWNER,
)
from asoreconcile.azure.middleware.extension_set import ANY_KIND, ExtensionSet
from asoreconcile.azure.middleware.requests import (
    Block,
    InProgress,
    NotReady,
    Postpone,
)
from asoreconcile.azure.non_arm.extension_points import require_permission
from asoreconcile.base.objects import annotations


class Writing(Outside):
    """An outside that writes each time, after the checks of extensions."""

    def apply(self, scope):
        require_permission(scope)
        require_permission(scope)
        return super().apply(scope)


class Policy:
    """A set for any kind whose answers a test gives; `asked` has the points."""

    def __init__(self):
        self.answers, self.asked, self.added = {}, [], {}
        self.set = ExtensionSet("policy")
        for point in (
            PRE_RECONCILE_OWNER,
            PRE_RECONCILE,
            POST_RECONCILE,
            EVERY_SUCCESS,
            DELETE,
        ):
            self.set.on(point, ANY_KIND)(self._link(point))

    def _link(self, point):
        def link(req, call_next):
            self.asked.append(point.name)
            if answer := self.answers.get(point):
                return answer
            result = call_next(req)
            return {**result, **self.added} if point is EVERY_SUCCESS else result

        return link


@pytest.fixture
def policy():
    return Policy()


@pytest.fixture
def world(tmp_path, policy):
    with World(tmp_path, extensions=[policy.set]) as running:
        running.install(SERVERS, "dbforpostgresql.azure.com/User", GROUPS)
        running.outside = running.external[USER] = Writing()
        running.external[GROUP_KIND] = DirectoryObjects()
        yield running


def test_every_point_of_all_kinds_is_run_for_a_user_of_a_database(world, policy):
    server(world)
    world.apply(user())
    seed_owner(world)
    world.settle(user())
    before = ["pre-reconcile-owner", "pre-reconcile", "post-reconcile", "every-success"]
    assert policy.asked == before
    world.delete(user())
    world.run(user())
    assert policy.asked[len(before) :] == ["delete"]
    assert world.read(user()) is None


def seed_owner(world):
    """The server in Azure, which the owner's check reads."""
    id_ = (
        f"/subscriptions/{world.azure.subscription_id}/resourceGroups/rg/providers"
        "/Microsoft.DBforPostgreSQL/flexibleServers/s"
    )
    world.azure.seed(id_, {"id": id_, "name": "s", "properties": {"state": "Ready"}})


@pytest.mark.parametrize("point", [PRE_RECONCILE_OWNER, PRE_RECONCILE])
def test_a_check_for_any_kind_holds_a_user_of_a_database(world, policy, point):
    server(world)
    seed_owner(world)
    policy.answers[point] = Block("changes are frozen")
    world.apply(user())
    world.run(user())
    ready = world.ready(user())
    assert (ready["reason"], ready["message"]) == (
        "ReconciliationBlocked",
        "changes are frozen",
    )
    assert world.outside.asked == []
    policy.answers.clear()
    world.settle(user())


def test_a_check_may_postpone_a_write(world, policy):
    server(world)
    seed_owner(world)
    policy.answers[PRE_RECONCILE] = Postpone(33.0)
    world.apply(user())
    assert world.run(user()).requeue_after_seconds == 33.0
    assert world.outside.asked == []


def test_a_check_after_the_write_is_shown(world, policy):
    server(world)
    seed_owner(world)
    policy.answers[POST_RECONCILE] = NotReady("audit it", reason="AuditPending")
    world.apply(user())
    world.run(user())
    assert world.ready(user())["reason"] == "AuditPending"


def test_a_deletion_may_be_held(world, policy):
    server(world)
    seed_owner(world)
    world.apply(user())
    world.settle(user())
    policy.answers[DELETE] = InProgress(44.0)
    world.delete(user())
    assert world.run(user()).requeue_after_seconds == 44.0
    assert [what for what, _ in world.outside.asked] == ["apply"]
    policy.answers.clear()
    assert world.settle(user()) is None


def test_annotations_of_extensions_reach_a_user_of_a_database(world, policy):
    server(world)
    seed_owner(world)
    policy.added = {"example.com/audited": "yes"}
    world.apply(user())
    world.settle(user())
    assert annotations(world.read(user()))["example.com/audited"] == "yes"


def test_a_check_for_any_kind_holds_a_group_until_it_passes(world, policy):
    policy.answers[PRE_RECONCILE] = Block("changes are frozen")
    world.apply(group())
    world.run(group())
    assert world.ready(group())["reason"] == "ReconciliationBlocked"
    assert world.azure.graph.groups() == {}
    policy.answers.clear()
    world.settle(group())
    policy.answers[PRE_RECONCILE] = Block("changes are frozen")
    # Nothing is to be written, so that the check is not asked.
    world.clock.advance(3600.0)
    world.run(group())
    assert world.ready(group())["status"] == "True"
    edited = group(displayName="Another team")
    world.apply(edited)
    world.run(edited)
    assert world.ready(edited)["reason"] == "ReconciliationBlocked"
