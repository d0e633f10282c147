"""What a reconcile writes to the cluster: at most one PATCH of its object's metadata and
one of its status, step by step through a lifecycle.

Exported Secrets and ConfigMaps are objects of their own and are named apart; events are
written by the recorder's own thread and are listed beside.
"""

import attrs
import pytest
from taps import KubeTap
from world import World, postgres_server, resource_group, virtual_network

from asoreconcile.azure.arm.outcomes import OperationDone, Pending
from asoreconcile.azure.arm.tokens import RESOURCE, Token, TokenShape
from asoreconcile.azure.middleware.extension_points import POST_RECONCILE
from asoreconcile.azure.middleware.extension_set import ExtensionSet
from asoreconcile.azure.reconcile.model.annotations import (
    DELETE_POLLER,
    OWNER_UID,
    POLLER_ID,
    POLLER_TOKEN,
    RECONCILE_POLICY,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
from asoreconcile.base.objects import GroupKind, annotations, key_of

GROUPS = "resources.azure.com/ResourceGroup"
NETWORKS = "network.azure.com/VirtualNetwork"
SERVERS = "dbforpostgresql.azure.com/FlexibleServer"


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path, lro=25.0, retry_after=10) as running:
        running.install(GROUPS, NETWORKS, SERVERS)
        yield running


class Steps:
    """Runs one reconcile at a time; what each wrote, and the reasons of its events."""

    def __init__(self, world, obj):
        self._world = world
        self._obj = obj
        self._writes = []
        self._priority = 0
        name = obj["metadata"]["name"]
        tap = KubeTap(world.client, {name: ""}, self._write)
        self._operator = attrs.evolve(world.operator, client=tap)

    def _write(self, name, effect, _lost):
        self._writes.append(name.strip())
        return effect()

    def __call__(self):
        self._writes.clear()
        self._world.events.clear()
        result = self._world.run_once(
            self._obj, operator=self._operator, priority=self._priority
        )
        self._priority = 0 if result.priority is None else result.priority
        own = [one for one in self._writes if not one.startswith("export")]
        assert len([one for one in own if one == "status"]) <= 1
        assert len([one for one in own if one != "status"]) <= 1
        self._world.clock.advance(result.requeue_after_seconds or 0.0)
        return [*self._writes], [event[2] for event in self._world.events]


def test_each_step_of_a_life_that_takes_its_time(world):
    world.settled(resource_group())
    network = virtual_network()
    world.apply(network, marked=False)
    step = Steps(world, network)
    life = [step() for _ in range(5)]
    world.delete(network)
    life += [step() for _ in range(4)]
    assert life == [
        (["claim"], ["CredentialFrom"]),  # with the mark
        (["record", "status"], ["BeginCreateOrUpdate"]),
        ([], []),  # a poll
        ([], []),
        (["clear", "status"], []),
        (["record", "status"], ["BeginDelete"]),
        ([], ["MonitorDelete"]),  # the first poll
        ([], []),
        (["release"], []),
    ]
    assert world.read(network) is None
    writes, events = (sum(map(len, step)) for step in zip(*life, strict=True))
    assert (writes, events) == (8, 4)


def test_each_step_of_a_life_by_default(world):
    """The record of a PUT is written with its success, before Ready is shown."""
    in_mode(world, SyncMode.COMPARE)
    group = resource_group()
    world.apply(group, marked=False)
    step = Steps(world, group)
    life = [step() for _ in range(4)]
    world.delete(group)
    life += [step() for _ in range(4)]
    assert life == [
        (["claim"], ["CredentialFrom"]),
        (["note", "status"], ["BeginCreateOrUpdate"]),
        ([], []),  # a sync
        ([], []),
        (["record", "status"], ["BeginDelete"]),
        ([], ["MonitorDelete"]),  # Azure signs the monitor anew with each answer
        ([], []),
        (["release"], []),
    ]
    assert world.read(group) is None


def test_each_step_of_a_life_that_is_answered_at_once(world):
    group = resource_group()
    world.apply(group, marked=False)
    step = Steps(world, group)
    life = [step() for _ in range(3)]
    world.apply(resource_group(tags={"edited": "yes"}))
    life.append(step())
    assert life == [
        (["claim"], ["CredentialFrom"]),
        (["note", "status"], ["BeginCreateOrUpdate"]),
        ([], ["BeginCreateOrUpdate"]),  # a sync
        (["note", "status"], ["BeginCreateOrUpdate"]),
    ]


def test_exports_and_what_is_noted_of_them(world):
    world.settled(resource_group())
    secret = {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "db-admin"}}
    world.apply({**secret, "stringData": {"password": "s3cret-word"}}, marked=False)
    server = postgres_server()
    server["spec"]["operatorSpec"] = {
        "secrets": {"fullyQualifiedDomainName": {"name": "db-host", "key": "host"}},
        "configMaps": {"fullyQualifiedDomainName": {"name": "db-host", "key": "host"}},
    }
    world.apply(server)
    step = Steps(world, server)
    assert [step() for _ in range(5)] == [
        (["claim"], ["CredentialFrom"]),
        (["record", "status"], ["BeginCreateOrUpdate"]),
        ([], []),
        ([], []),
        (["export Secret", "export ConfigMap", "clear", "status"], []),
    ]


def test_waiting_for_an_owner_is_told_once(world):
    network = virtual_network()
    world.apply(network, marked=False)
    step = Steps(world, network)
    assert [step() for _ in range(3)] == [(["mark"], []), (["status"], []), ([], [])]
    world.settled(resource_group())
    assert [step() for _ in range(2)] == [
        (["claim"], ["CredentialFrom"]),
        (["record", "status"], ["BeginCreateOrUpdate"]),
    ]


def test_a_failure_and_its_repetition(world):
    step = Steps(world, world.settled(resource_group()))
    for _ in range(2):
        world.azure.faults.answer("PUT", "resourceGroups/rg$", 409, body="{}")
    world.apply(resource_group(tags={"a": "b"}))
    failed = ["CreateOrUpdateActionError"]
    assert step() == (["note", "status"], failed)
    assert step() == ([], failed)


def test_an_operation_that_fails(world):
    world.settled(resource_group())
    network = virtual_network()
    world.apply(network)
    step = Steps(world, network)
    for _ in range(2):
        step()
    world.azure.faults.answer(
        "GET",
        "/operations/",
        200,
        body='{"status":"Failed","error":{"code":"Conflict"}}',
    )
    assert step() == (["clear", "status"], ["CreateOrUpdateActionError"])


def test_a_refused_delete(world):
    group = world.settled(resource_group())
    step = Steps(world, group)
    world.azure.faults.answer("DELETE", "resourceGroups/rg$", 409, body="{}")
    world.delete(group)
    assert step() == (["status"], ["DeleteActionError"])


def test_what_people_took_away_is_written_before_azure_is_asked(world):
    group = world.settled(resource_group())
    step = Steps(world, group)
    world.annotate(group, **{RESOURCE_ID: None})
    asked = len(world.azure.journal)
    assert step() == (["note"], [])
    assert len(world.azure.journal) == asked
    assert step() == ([], ["BeginCreateOrUpdate"])


def test_an_owner_made_again_is_named_before_azure_is_asked(world):
    world.settled(resource_group())
    network = world.settled(virtual_network())
    step = Steps(world, network)
    labelled = {"metadata": {"labels": {OWNER_UID: "another"}}}
    key = key_of(world.read(network))
    world.client.patch(world.resource_for(network), key, labelled)
    asked = len(world.azure.journal)
    assert step() == (["note"], [])
    assert len(world.azure.journal) == asked
    assert step() == (["status"], ["BeginCreateOrUpdate"])


def test_an_operation_that_is_not_ours_goes_with_what_else_is_noted(world):
    world.settled(resource_group())
    network = world.settled(virtual_network())
    step = Steps(world, network)
    world.annotate(network, **{POLLER_TOKEN: "{}", POLLER_ID: DELETE_POLLER})
    assert step() == (["clear", "status"], ["BeginCreateOrUpdate"])


def by_hand(world, obj, **members):
    """Somebody changes a resource in Azure."""
    arm_id = annotations(world.read(obj))[RESOURCE_ID]
    world.azure.seed(arm_id, {**world.azure.resources()[arm_id], **members})


def in_mode(world, mode):
    world.operator = attrs.evolve(world.operator, sync_mode=mode)


def test_a_sync_that_looks_first_writes_only_when_it_repairs(world):
    in_mode(world, SyncMode.COMPARE)
    group = world.settled(resource_group(tags={"team": "red"}))
    step = Steps(world, group)
    assert [step() for _ in range(2)] == [([], []), ([], [])]
    by_hand(world, group, tags={"team": "blue"})
    # The attempt is noted before the PUT, and its end with the next look: the status is
    # the same again after it.
    assert [step() for _ in range(3)] == [
        (["note"], ["Drift", "BeginCreateOrUpdate"]),
        (["note"], []),
        ([], []),
    ]


def test_a_repair_after_which_azure_goes_on_working(world):
    in_mode(world, SyncMode.COMPARE)
    world.settled(resource_group())
    network = world.settled(virtual_network())
    step = Steps(world, network)
    assert step() == ([], [])
    space = {"addressSpace": {"addressPrefixes": ["10.9.0.0/16"]}}
    arm_id = annotations(world.read(network))[RESOURCE_ID]
    known = world.azure.resources()[arm_id]["properties"]
    by_hand(world, network, properties={**known, **space})
    assert [step() for _ in range(3)] == [
        (
            ["note", "status"],
            ["ForeignValuesReplaced", "Drift", "BeginCreateOrUpdate"],
        ),
        (["note", "status"], []),  # as the next look at it finds it
        ([], []),
    ]


def test_a_difference_that_is_only_reported_is_written_once(world):
    in_mode(world, SyncMode.REPORT)
    group = world.settled(resource_group(tags={"team": "red"}))
    step = Steps(world, group)
    by_hand(world, group, tags={"team": "blue"})
    assert [step() for _ in range(2)] == [(["status"], ["Drift"]), ([], ["Drift"])]


def test_skip_shows_an_edit_and_lets_a_deletion_go(world):
    group = world.settled(resource_group())
    step = Steps(world, group)
    world.annotate(group, **{RECONCILE_POLICY: "skip"})
    # The record of the last PUT counts no more.
    assert [step() for _ in range(2)] == [(["note"], []), ([], [])]
    world.apply(resource_group(tags={"edited": "yes"}))
    assert [step() for _ in range(2)] == [(["status"], []), ([], [])]
    world.delete(group)
    assert step() == (["release"], [])
    assert world.requests("DELETE") == []


def test_skip_of_a_resource_that_is_not_there(world):
    group = resource_group()
    group["metadata"]["annotations"] = {RECONCILE_POLICY: "skip"}
    world.apply(group, marked=False)
    step = Steps(world, group)
    failed = ["CreateOrUpdateActionError"]
    assert [step() for _ in range(3)] == [
        (["claim"], ["CredentialFrom"]),
        (["status"], failed),
        ([], failed),
    ]


def test_detach_on_delete_is_one_write(world):
    group = world.settled(resource_group())
    step = Steps(world, group)
    world.annotate(group, **{RECONCILE_POLICY: "detach-on-delete"})
    assert step() == ([], ["BeginCreateOrUpdate"])  # only deletions are held back
    world.delete(group)
    assert step() == (["release"], [])
    assert world.read(group) is None
    assert world.requests("DELETE") == []


def test_an_operation_of_an_extension_is_recorded_with_the_end_of_the_object_s(
    tmp_path,
):
    extensions = ExtensionSet("syncs")
    url = "https://arm.test/operations/1"
    answers = [Pending(Token(TokenShape.LOCATION, RESOURCE, url, "InProgress"), 5.0)]

    @extensions.on(POST_RECONCILE, GroupKind("network.azure.com", "VirtualNetwork"))
    def synced(request, call_next):
        request.ctx.lro(
            "sync", lambda: answers.pop() if answers else OperationDone(None)
        )
        return call_next(request)

    with World(tmp_path, extensions=[extensions], lro=5.0, retry_after=5) as world:
        world.install(GROUPS, NETWORKS)
        world.settled(resource_group())
        network = virtual_network()
        world.apply(network)
        step = Steps(world, network)
        life = [step() for _ in range(3)]
        assert life[1:] == [
            (["record", "status"], ["BeginCreateOrUpdate"]),
            (["clear", "status"], []),  # with the token of the extension's operation
        ]
        notes = annotations(world.read(network))
        assert "asoreconcile/sync-token" in notes
        assert POLLER_TOKEN not in notes
