"""Syncs that look before they put: D11's other way, pass by pass."""

import itertools
from datetime import datetime

import attrs
import pytest
from world import World, postgres_server, resource_group, virtual_network

from asoreconcile.azure.arm.outcomes import OperationDone
from asoreconcile.azure.reconcile.model.annotations import (
    RECONCILE_AT,
    RECONCILE_POLICY,
    RESOURCE_ID,
    SYNC_PERIOD,
)
from asoreconcile.azure.reconcile.model.drift_baseline import OBSERVED, loads
from asoreconcile.azure.reconcile.model.sync_mode import (
    SYNC_MODE,
    SyncMode,
    Undeclared,
    sync_mode_of,
)
from asoreconcile.base.objects import ObjectKey, annotations, generation, key_of
from asoreconcile.kube.errors import ApiError
from asoreconcile.kube.resources import SECRETS
from asoreconcile.testing.http import HttpResponse

GROUPS = "resources.azure.com/ResourceGroup"
NETWORKS = "network.azure.com/VirtualNetwork"
SERVERS = "dbforpostgresql.azure.com/FlexibleServer"
TAGS = {"team": "red"}


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path, lro=5.0, retry_after=1) as running:
        running.install(GROUPS, NETWORKS, SERVERS)
        running.operator = attrs.evolve(running.operator, sync_mode=SyncMode.COMPARE)
        yield running


@pytest.fixture
def group(world):
    """A resource group that is Ready."""
    return world.settled(resource_group(tags=TAGS))


def arm_id(world, obj):
    return annotations(world.read(obj))[RESOURCE_ID]


def in_azure(world, obj):
    return world.azure.resources()[arm_id(world, obj)]


def by_hand(world, obj, **members):
    """Somebody changes a resource in Azure."""
    world.azure.seed(arm_id(world, obj), {**in_azure(world, obj), **members})


def sync(world, obj, passes=1):
    """A sync, with as many passes as its operations take; what was asked of Azure."""
    world.clock.advance(3600.0)
    world.azure.journal.clear()
    for _ in range(passes):
        world.clock.advance(world.run(obj).requeue_after_seconds)
    return [request.method for request in world.azure.journal]


def reasons(world):
    return [reason for _, kind, reason, _ in world.events if kind == "Warning"]


class Stubborn:
    """An Azure that accepts every PUT, and keeps some members as it wants them."""

    def __init__(self, world, obj, **kept):
        self._world, self._obj, self._kept = world, obj, kept
        self._put, world.arm.put = world.arm.put, self.put

    def put(self, *arguments, **options):
        outcome = self._put(*arguments, **options)
        body = {**in_azure(self._world, self._obj), **self._kept}
        self._world.azure.seed(arm_id(self._world, self._obj), body)
        return outcome


def test_d11_a_sync_without_a_difference_is_one_get(world, group):
    before = world.read(group)
    assert sync(world, group) == ["GET"]
    assert sync(world, group) == ["GET"]
    assert world.read(group) == before
    assert reasons(world) == []


def test_d11_what_somebody_changed_is_put_again(world, group):
    sync(world, group)
    by_hand(world, group, tags={"team": "blue"})
    assert sync(world, group) == ["GET", "PUT", "GET"]
    assert in_azure(world, group)["tags"] == TAGS
    assert world.read(group)["status"]["tags"] == TAGS
    assert world.ready(group)["status"] == "True"
    assert reasons(world) == ["Drift"]
    assert "tags/team" in world.events[-2][3]
    assert sync(world, group) == ["GET"]


def test_what_went_is_made_again(world, group):
    sync(world, group)
    world.azure.remove(arm_id(world, group))
    assert sync(world, group) == ["GET", "PUT", "GET"]


def test_an_edit_is_put_after_one_look_for_foreign_tags(world, group):
    sync(world, group)
    edited = resource_group(tags={**TAGS, "tier": "gold"})
    world.apply(edited)
    world.azure.journal.clear()
    world.run(edited)
    assert [r.method for r in world.azure.journal] == ["GET", "PUT", "GET"]


def test_what_left_the_spec_is_put_too(world, group):
    """A comparison could not see it: Azure may have values that nobody wants."""
    world.apply(resource_group())
    world.settle(group)
    assert not in_azure(world, group).get("tags")


def test_what_azure_overrules_is_put_once_more_and_then_known(world, group):
    Stubborn(world, group, tags={"team": "azure's"})
    by_hand(world, group, tags={"team": "azure's"})
    assert sync(world, group) == ["GET", "PUT", "GET"]
    assert reasons(world) == ["Drift", "ValueNotHonoured"]
    for _ in range(3):
        assert sync(world, group) == ["GET"]
    assert reasons(world) == ["Drift", "ValueNotHonoured"]
    # Known is that difference, and no other.
    by_hand(world, group, tags={"team": "somebody's"})
    assert sync(world, group) == ["GET", "PUT", "GET"]


def test_what_azure_overrules_is_learnt_after_long_operations_too(world, group):
    network = virtual_network()
    world.apply(network)
    world.settle(network)
    taken = {**in_azure(world, network)["properties"], "addressSpace": {}}
    Stubborn(world, network, properties=taken)
    by_hand(world, network, properties=taken)
    methods = sync(world, network, passes=12)
    assert methods.count("PUT") == 1
    assert "ValueNotHonoured" in reasons(world)
    assert sync(world, network) == ["GET"]


def test_d11_without_a_record_what_azure_does_not_show_is_put_once(world, group):
    hide(world, group, "tags")
    body = in_azure(world, group)
    world.azure.seed(arm_id(world, group), {k: body[k] for k in body if k != "tags"})
    world.annotate(group, **{OBSERVED: None})
    assert sync(world, group) == ["GET", "PUT", "GET"]
    assert reasons(world) == []
    for _ in range(2):
        assert sync(world, group) == ["GET"]


def fights(world, group):
    """Another writer undoes the last PUT, and an hour later there is a sync."""
    others = {"lastModifiedBy": "policy@example.com"}
    by_hand(world, group, tags={"team": "blue"}, systemData=others)
    world.clock.advance(3600.0)
    world.azure.journal.clear()
    world.run(group)
    return [request.method for request in world.azure.journal]


def test_two_writers_that_fight_are_put_again_after_growing_pauses(world, group):
    sync(world, group)
    ready = world.ready(group)
    hours = [hour for hour in range(100) if "PUT" in fights(world, group)]
    assert [b - a for a, b in itertools.pairwise(hours)] == [
        *(1, 1),
        *(2, 4, 8, 16),
        *(24, 24),
    ]
    assert world.ready(group) == ready  # as it was, all the time


def test_k4_a_restart_before_each_sync_ends_no_pause_of_a_fight(world, group):
    hours = []
    for hour in range(40):
        world.restart()
        world.run(group)  # it is taken over without a look
        if "PUT" in fights(world, group):
            hours.append(hour)
    assert [b - a for a, b in itertools.pairwise(hours)] == [1, 1, 2, 4, 8, 16]
    drifted = condition(world.read(group), "Drifted")
    assert "changes the resource back" in drifted["message"]
    # The other writer stops, and the count ends.
    by_hand(world, group, tags=TAGS)
    world.restart()
    world.annotate(group, **{RECONCILE_AT: "once more"})
    assert sync(world, group) == ["GET"]
    assert not note_of(world, group).repairs


def test_k4_restarts_leave_an_undeclared_value_that_moves_by_itself(world, group):
    def moves(to):
        world.restart()
        world.annotate(group, **{RECONCILE_AT: to})
        by_hand(world, group, managedBy=to)
        return "PUT" in sync(world, group)

    assert [moves(str(number)) for number in range(5)] == [True] * 3 + [False] * 2
    # After a day a change counts again.
    world.clock.advance(86400.0)
    assert moves("tomorrow")


def test_two_writers_that_fight_are_told_of_until_one_stops(world, group):
    sync(world, group)
    for _ in range(4):
        assert world.ready(group)["status"] == "True"
        fights(world, group)
    drifted = condition(world.read(group), "Drifted")
    assert "policy@example.com changes the resource back" in drifted["message"]
    assert "tags/team" in drifted["message"]
    while "PUT" not in fights(world, group):
        assert condition(world.read(group), "Drifted") == drifted
    assert condition(world.read(group), "Drifted") == drifted
    by_hand(world, group, tags=TAGS)  # the other one stops
    assert sync(world, group) == ["GET"]
    assert condition(world.read(group), "Drifted") is None
    fights(world, group)  # a new fight
    assert in_azure(world, group)["tags"] == TAGS


def test_puts_that_azure_refuses_are_no_fight(world, group):
    sync(world, group)
    refused = {"code": "Busy", "times": 6}
    world.azure.faults.answer("PUT", "resourceGroups/rg$", 409, **refused)
    by_hand(world, group, tags={"team": "blue"})
    sync(world, group, passes=8)
    assert in_azure(world, group)["tags"] == TAGS
    assert condition(world.read(group), "Drifted") is None


def test_a_new_child_does_not_wait_for_the_end_of_a_fight(world, group):
    sync(world, group)
    for _ in range(5):
        fights(world, group)
    world.settled(virtual_network())


def test_k4_a_record_of_the_future_keeps_no_failed_resource(world, group):
    """The clock of the last PUT was years ahead, and was set right."""
    record = loads(annotations(world.read(group))[OBSERVED])
    ahead = attrs.evolve(record, at="2031-01-01T00:00:00Z")
    world.annotate(group, **{OBSERVED: ahead.dumps()})
    by_hand(world, group, properties={"provisioningState": "Failed"})
    assert sync(world, group) == ["GET", "PUT", "GET"]


def test_k4_a_resource_that_never_comes_to_rest_is_shown_after_a_day(world, group):
    sync(world, group)
    by_hand(world, group, properties={"provisioningState": "Updating"})
    for hours in range(0, 28, 2):
        world.run(group)
        is_shown = "Updating" in str(world.read(group)["status"]["conditions"])
        assert is_shown is (hours >= 24)
        world.clock.advance(2 * 3600.0)
    by_hand(world, group, properties={"provisioningState": "Succeeded"})
    sync(world, group)
    shown = {one["type"] for one in world.read(group)["status"]["conditions"]}
    assert shown == {"Claim", "Ready"}


def test_k2_a_resource_of_another_name_is_no_answer(world, group):
    other = {**in_azure(world, group), "tags": {"of": "another"}}
    other["id"] = other["id"].removesuffix("rg") + "other"
    world.azure.faults.answer("GET", "resourceGroups/rg$", 200, body=other)
    assert sync(world, group) == ["GET"]
    present = world.read(group)["status"]
    assert present["id"] == arm_id(world, group)
    assert world.ready(group)["status"] == "True"


@pytest.mark.parametrize("state", ["Failed", "Canceled"])
def test_a_failed_resource_is_not_in_order_and_put_once_in_a_period(
    world, group, state
):
    sync(world, group)
    failed = {**in_azure(world, group)["properties"], "provisioningState": state}
    world.clock.advance(3600.0)
    by_hand(world, group, properties=failed)
    world.azure.journal.clear()
    world.arm.put = lambda *_args, **_options: OperationDone(in_azure(world, group))
    puts, last = [], 0.0
    for minute in range(0, 60 * 8, 10):  # wakes in between
        world.run(group)
        ready = world.ready(group)
        assert (ready["status"], ready["reason"], ready["severity"]) == (
            *("False", state),
            "Warning",
        )
        counted = annotations(world.read(group))[OBSERVED]
        if (at := loads(counted).at) != last:
            last = at
            puts.append(minute)
        world.clock.advance(600.0)
    assert 6 <= len(puts) <= 11
    by_hand(world, group, properties={**failed, "provisioningState": "Succeeded"})
    del world.arm.put
    world.settle(group)
    assert reasons(world).count("UndeclaredChange") == 0


def test_k4_a_failed_resource_is_put_once_in_a_period_of_its_own(world, group):
    sync(world, group)
    world.annotate(group, **{SYNC_PERIOD: "6h"})
    by_hand(world, group, properties={"provisioningState": "Failed"})
    assert sync(world, group) == ["GET"]
    world.clock.advance(5 * 3600.0)
    assert sync(world, group) == ["GET", "PUT", "GET"]


def test_a_failed_resource_that_is_only_read_is_not_ready(world, group):
    world.annotate(group, **{RECONCILE_POLICY: "skip"})
    failed = {**in_azure(world, group)["properties"], "provisioningState": "Failed"}
    by_hand(world, group, properties=failed)
    assert sync(world, group) == ["GET"]
    assert world.ready(group)["reason"] == "Failed"
    assert "put again" not in world.ready(group)["message"]


def test_a_resource_in_another_region_is_told_of(world, group):
    sync(world, group)
    by_hand(world, group, location="northeurope")
    assert sync(world, group) == ["GET"]
    drifted = condition(world.read(group), "Drifted")
    assert "the resource is in northeurope" in drifted["message"]
    assert world.ready(group)["status"] == "True"
    by_hand(world, group, location="West Europe")
    sync(world, group)
    assert condition(world.read(group), "Drifted") is None


@pytest.mark.parametrize("status", [403, 429, 500, 503])
def test_one_read_that_fails_leaves_ready_and_is_repeated(world, group, status):
    sync(world, group)
    before = world.read(group)
    world.azure.faults.answer("GET", "resourceGroups/rg$", status, code="Sorry")
    world.clock.advance(3600.0)
    world.azure.journal.clear()
    result = world.run(group)
    assert world.read(group) == before
    assert 0.0 < result.requeue_after_seconds <= 60.0
    world.clock.advance(result.requeue_after_seconds)
    world.run(group)
    assert [r.method for r in world.azure.journal] == ["GET", "GET"]
    assert reasons(world) == []


def test_no_put_follows_an_outage_of_azure(world, group):
    """Six networks in order; Azure fails for an hour, and each of them is woken."""
    networks = [virtual_network(f"vnet-{number}") for number in range(6)]
    for network in networks:
        world.settled(network)
    for obj in (group, *networks):
        sync(world, obj)
    fill_in(world, networks[0], provisioningState="Updating")
    world.azure.faults.answer("GET", ".", 503, code="Down", times=10_000)
    for _ in range(6):
        world.clock.advance(600.0)
        for obj in (group, *networks):
            world.run(obj)
    assert {world.ready(obj)["reason"] for obj in networks} == {"Down"}
    world.restart()
    world.azure.faults.clear()
    world.azure.journal.clear()
    world.clock.advance(600.0)
    for obj in (group, *networks):
        world.run(obj)
        assert world.ready(obj)["status"] == "True"
    assert world.requests("PUT") == []


def test_a_resource_in_transition_is_left_in_peace(world, group):
    by_hand(world, group, tags={}, properties={"provisioningState": "Updating"})
    assert sync(world, group) == ["GET"]
    by_hand(world, group, properties={"provisioningState": "Succeeded"})
    assert "PUT" in sync(world, group)


def test_a_resource_of_another_operator_s_time_is_looked_at_first(world, group):
    """No note yet: after a takeover there is nothing but what ASO wrote."""
    edit = {"metadata": {"annotations": {OBSERVED: None}}}
    world.client.patch(world.resource_for(group), key_of(group), edit)
    assert sync(world, group) == ["GET"]
    assert annotations(world.read(group))[OBSERVED]


def test_after_a_failure_nothing_is_spared(world, group):
    world.azure.faults.answer("PUT", "resourceGroups/rg", 409, code="Conflict")
    edited = resource_group(tags={"edited": "yes"})
    world.apply(edited)
    world.run(edited)
    assert world.ready(edited)["reason"] == "Conflict"
    world.run(edited)
    assert in_azure(world, edited)["tags"] == {"edited": "yes"}


def admin_secret():
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "db-admin"},
        "stringData": {"password": "Sesame-1"},
    }


@pytest.fixture
def server(world, group):
    obj = postgres_server()
    world.apply(admin_secret())
    world.apply(obj)
    world.settle(obj)
    return obj


@pytest.mark.parametrize("record", [None, '{"put":"x","known":[],"v":2}'])
def test_d11_without_a_record_a_secret_is_put_once(world, server, record):
    """After a takeover, or if the record was pruned: the password was never sent."""
    world.annotate(server, **{OBSERVED: record})
    asked = sync(world, server, passes=12)
    assert asked[:2] == ["GET", "PUT"]
    assert asked.count("PUT") == 1
    assert reasons(world) == []
    assert sync(world, server) == ["GET"]


def test_d11_from_skip_to_manage_the_whole_spec_is_sent(world, server):
    world.annotate(server, **{RECONCILE_POLICY: "skip"})
    assert set(sync(world, server, passes=2)) == {"GET"}
    password = world.requests("PUT", "flexibleServers")
    assert password == []
    world.annotate(server, **{RECONCILE_POLICY: "manage"})
    sync(world, server, passes=12)
    (put,) = world.requests("PUT", "flexibleServers")
    assert put.body["properties"]["administratorLoginPassword"] == "Sesame-1"
    assert sync(world, server) == ["GET"]


def test_d11_metadata_of_a_secret_is_no_change(world, server):
    sync(world, server)
    for number in range(10):
        note = {"metadata": {"annotations": {"rotated-by": f"tool {number}"}}}
        world.client.patch(SECRETS, ObjectKey("default", "db-admin"), note)
        assert "PUT" not in sync(world, server)
    # A restored cluster: the same values under another uid and version.
    world.client.delete(SECRETS, ObjectKey("default", "db-admin"))
    world.apply(admin_secret())
    assert "PUT" not in sync(world, server)


def test_d11_another_principal_puts_what_it_declares(world, server):
    sync(world, server)
    connection = world.operator.connections.for_object(world.read(server))
    another = attrs.evolve(connection, client_id="another")
    world.operator = attrs.evolve(world.operator, connections=Always(another))
    assert sync(world, server, passes=12).count("PUT") == 1
    assert sync(world, server) == ["GET"]


class Always:
    """Finds the same connection for every object."""

    def __init__(self, connection):
        self._connection = connection

    def for_object(self, _obj):
        return self._connection


def test_d11_the_record_is_in_the_cluster_before_ready(world, group):
    edited = resource_group(tags={"team": "green"})
    world.apply(edited)
    broken = HttpResponse(500, b'{"kind": "Status", "code": 500}')
    world.cluster.faults.respond("PATCH", "resourcegroups/rg/status", broken)
    with pytest.raises(ApiError):
        world.run(edited)
    note = note_of(world, group)
    assert note.rest
    # The process dies here: the next one finds the record, and reads.
    world.restart()
    world.azure.journal.clear()
    world.run(edited)
    assert [request.method for request in world.azure.journal] == ["GET"]
    assert world.ready(group)["observedGeneration"] == 2


@pytest.mark.parametrize("lost", [True, False], ids=["no answer", "refused"])
def test_d11_a_value_that_was_sent_and_not_accepted_is_not_in_order(
    world, server, lost
):
    """A password that was changed and changed back is sent again: Azure may have the
    other one."""
    if lost:
        world.azure.faults.time_out("PUT", "flexibleServers/pg-db", applied=True)
    else:
        world.azure.faults.answer("PUT", "flexibleServers/pg-db", 409, code="Conflict")
    for password, is_put in (("Sesame-2", True), ("Sesame-1", True)):
        body = {"stringData": {"password": password}}
        world.client.patch(SECRETS, ObjectKey("default", "db-admin"), body)
        assert ("PUT" in sync(world, server)) is is_put
    world.settle(server)
    sent = world.requests("PUT", "flexibleServers")[-1]
    assert sent.body["properties"]["administratorLoginPassword"] == "Sesame-1"


def test_d11_a_failed_operation_is_no_record(world, server):
    world.azure.faults.fail_operation("flexibleServers", "LocationRequired", "No.")
    body = {"stringData": {"password": "Sesame-2"}}
    world.client.patch(SECRETS, ObjectKey("default", "db-admin"), body)
    for _ in range(6):
        if world.ready(server)["reason"] != "LocationRequired":
            world.clock.advance(world.run(server).requeue_after_seconds)
    assert not note_of(world, server).put
    world.restart()
    assert "PUT" in sync(world, server)


def test_a_secret_is_not_missed_nor_noted_and_its_rotation_is_put(world, server):
    assert sync(world, server) == ["GET"]
    note = annotations(world.read(server))[OBSERVED]
    body = {"stringData": {"password": "Sesame-2"}}
    world.client.patch(SECRETS, ObjectKey("default", "db-admin"), body)
    assert "PUT" in sync(world, server, passes=12)
    assert "Sesame" not in note + str(world.read(server)["metadata"])
    assert annotations(world.read(server))[OBSERVED] != note


def test_reporting_says_what_differs_and_leaves_it(world, group):
    world.operator = attrs.evolve(world.operator, sync_mode=SyncMode.REPORT)
    sync(world, group)
    by_hand(world, group, tags={"team": "blue"})
    assert sync(world, group) == ["GET"]
    assert reasons(world) == ["Drift"]
    stored = world.read(group)
    assert stored["status"]["tags"] == {"team": "blue"}
    assert in_azure(world, group)["tags"] == {"team": "blue"}
    assert world.ready(group)["status"] == "True"
    drifted = condition(stored, "Drifted")
    assert drifted["message"] == "Azure differs at tags/team; left as it is"
    # It stands there, with its time, until it is so no more.
    assert sync(world, group) == ["GET"]
    assert condition(world.read(group), "Drifted") == drifted
    by_hand(world, group, tags=TAGS)
    assert sync(world, group) == ["GET"]
    assert condition(world.read(group), "Drifted") is None
    shown = {one["type"] for one in world.read(group)["status"]["conditions"]}
    assert shown == {"Claim", "Ready"}


def test_a_put_takes_the_report_of_drift_away(world, group):
    world.operator = attrs.evolve(world.operator, sync_mode=SyncMode.REPORT)
    sync(world, group)
    by_hand(world, group, tags={"team": "blue"})
    sync(world, group)
    assert condition(world.read(group), "Drifted") is not None
    world.settled(resource_group(tags={"team": "green"}))
    assert condition(world.read(group), "Drifted") is None


def condition(obj, type_):
    found = [c for c in obj["status"]["conditions"] if c["type"] == type_]
    return found[0] if found else None


def test_an_object_may_want_it_otherwise(world, group):
    note = {"metadata": {"annotations": {SYNC_MODE: "put"}}}
    world.client.patch(world.resource_for(group), key_of(group), note)
    assert sync(world, group) == ["GET", "PUT", "GET"]
    assert generation(world.read(group)) == 1


@pytest.mark.parametrize(
    ("own", "inherited", "expected"),
    [
        ("put", "compare", SyncMode.PUT),
        (None, "compare", SyncMode.COMPARE),
        ("", "report", SyncMode.REPORT),
        (None, None, SyncMode.PUT),
        ("Compare", "compare", SyncMode.REPORT),
    ],
)
def test_the_object_s_mode_comes_before_its_namespace_s(own, inherited, expected):
    notes, others = (
        {} if value is None else {SYNC_MODE: value} for value in (own, inherited)
    )
    assert sync_mode_of(notes, others, SyncMode.PUT) is expected


def note_of(world, obj):
    return loads(annotations(world.read(obj)).get(OBSERVED, ""))


def test_a_put_leaves_a_note_of_what_it_came_to(world, group):
    note = note_of(world, group)
    assert note.rest
    assert note.put
    assert datetime.fromisoformat(note.at) == world.clock.now().replace(microsecond=0)
    assert note.known == frozenset()
    assert len(annotations(world.read(group))[OBSERVED]) < 400


def hide(world, obj, name):
    """Azure takes a member, and shows it no more."""
    put = world.arm.put

    def hiding(*arguments, **options):
        outcome = put(*arguments, **options)
        body = {k: v for k, v in in_azure(world, obj).items() if k != name}
        world.azure.seed(arm_id(world, obj), body)
        return outcome

    world.arm.put = hiding


def test_what_azure_never_shows_is_learnt_from_the_first_put(world, group):
    hide(world, group, "tags")
    edited = resource_group(tags={**TAGS, "tier": "gold"})
    world.apply(edited)
    world.run(edited)
    assert len(note_of(world, group).known) == 2
    for _ in range(2):
        assert sync(world, group) == ["GET"]
    assert reasons(world) == []


def test_what_azure_never_shows_is_learnt_in_a_report_too(world, group):
    world.operator = attrs.evolve(world.operator, sync_mode=SyncMode.REPORT)
    hide(world, group, "tags")
    edited = resource_group(tags={**TAGS, "tier": "gold"})
    world.apply(edited)
    world.run(edited)
    assert len(note_of(world, group).known) == 2
    assert sync(world, group) == ["GET"]
    assert reasons(world) == []


def test_what_a_put_did_not_apply_is_put_once_more(world, group):
    """As a Key Vault that is recovered: it takes its policies with the next PUT."""
    put, lazy = world.arm.put, []

    def slow_to_apply(*arguments, **options):
        outcome = put(*arguments, **options)
        if not lazy:
            lazy.append(1)
            body = {**in_azure(world, group), "tags": {"team": "azure's"}}
            world.azure.seed(arm_id(world, group), body)
        return outcome

    world.arm.put = slow_to_apply
    world.apply(resource_group(tags={"team": "green"}))
    world.run(group)
    assert sync(world, group) == ["GET", "PUT", "GET"]
    assert in_azure(world, group)["tags"] == {"team": "green"}
    assert reasons(world) == []
    assert sync(world, group) == ["GET"]


@pytest.fixture
def network(world, group):
    return world.settled(virtual_network())


def fill_in(world, obj, **members):
    """A value changes that no spec declares."""
    properties = {**in_azure(world, obj)["properties"], **members}
    by_hand(world, obj, properties=properties)


@pytest.mark.parametrize(
    ("undeclared", "asked", "told"),
    [
        (Undeclared.PUT, True, ["UndeclaredChange"]),
        (Undeclared.REPORT, False, ["UndeclaredChange"]),
        (Undeclared.IGNORE, False, []),
    ],
)
def test_a_change_that_nobody_declared_is_noticed_once(
    world, network, undeclared, asked, told
):
    world.operator = attrs.evolve(world.operator, undeclared=undeclared)
    assert "PUT" not in sync(world, network)
    fill_in(world, network, enableDdosProtection=True)
    assert ("PUT" in sync(world, network, passes=12)) is asked
    assert reasons(world) == told
    texts = [
        text for _, _, reason, text in world.events if reason == "UndeclaredChange"
    ]
    assert all("in Azure at enableDdosProtection; " in text for text in texts)
    assert "PUT" not in sync(world, network)
    assert reasons(world) == told


def test_a_password_is_put_again_once_its_period_is_over(world, server):
    day = 86400.0
    world.operator = attrs.evolve(world.operator, force_put_seconds=day)
    assert sync(world, server) == ["GET"]
    world.clock.advance(1.25 * day)
    assert "PUT" in sync(world, server, passes=12)
    assert sync(world, server) == ["GET"]


def test_a_resource_that_shows_all_is_never_forced(world, group):
    world.operator = attrs.evolve(world.operator, force_put_seconds=1.0)
    assert sync(world, group) == ["GET"]


def test_syncs_are_counted_by_what_they_came_to(world, group):
    counted = []
    world.operator = attrs.evolve(
        world.operator, count_sync=lambda *given: counted.append(given)
    )
    sync(world, group)
    by_hand(world, group, tags={})
    sync(world, group)
    assert counted == [("unchanged", False), ("drift", True)]
