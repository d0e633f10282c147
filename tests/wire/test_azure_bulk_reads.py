"""Syncs that go by a list: what they ask of Azure, and that they see what a GET
sees.
"""

import attrs
import pytest
from startstate import StartState
from world import SYNC_SECONDS, World, resource_group, virtual_network

from asoreconcile.azure.arm.collection_reads import CollectionReads
from asoreconcile.azure.reconcile.model.annotations import RESOURCE_ID
from asoreconcile.azure.reconcile.model.drift_baseline import (
    OBSERVED,
    UNSETTLED,
    loads,
)
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode, Undeclared
from asoreconcile.azure.reconcile.policies.confirmed_absence import ASKED_AGAIN_SECONDS
from asoreconcile.azure.reconcile.state import sync_schedule
from asoreconcile.base.objects import annotations

GROUPS = "resources.azure.com/ResourceGroup"
NETWORKS = "network.azure.com/VirtualNetwork"


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path) as running:
        running.install(GROUPS, NETWORKS)
        running.operator = attrs.evolve(
            running.operator,
            sync_mode=SyncMode.COMPARE,
            collection_reads=CollectionReads(
                running.clock, max_age_seconds=SYNC_SECONDS / 2
            ),
        )
        running.settled(resource_group())
        yield running


def networks(world, count):
    made = [virtual_network(name=f"net{number}") for number in range(count)]
    return [world.settled(network) for network in made]


@pytest.fixture(scope="module")
def twelve_state(start, start_state):
    start_state.restore()
    return StartState([networks(start, 12), start])


@pytest.fixture
def twelve(world, twelve_state):
    """Twelve networks of the world, which are Ready."""
    del world  # it is restored first
    twelve_state.restore()
    return twelve_state.root[0]


def asked(world):
    """What was asked of Azure since the last time: method and last part of the path."""
    requests = [(r.method, r.path.rsplit("/", 1)[-1]) for r in world.azure.journal]
    world.azure.journal.clear()
    return requests


def period(world, objects):
    """One sync of each, a moment apart; what was asked."""
    world.clock.advance(SYNC_SECONDS)
    asked(world)
    for obj in objects:
        world.clock.advance(1.0)
        world.run(obj)
    return asked(world)


def arm_id(world, obj):
    return annotations(world.read(obj))[RESOURCE_ID]


def by_hand(world, obj, **members):
    id_ = arm_id(world, obj)
    world.azure.seed(id_, {**world.azure.resources()[id_], **members})


LIST = ("GET", "virtualNetworks")


@pytest.fixture
def no_looks_between(monkeypatch):
    """Without the GETs that look whether lists show all."""
    monkeypatch.setattr(sync_schedule, "_LISTED_IN_A_ROW", 1 << 30)


@pytest.mark.usefixtures("no_looks_between")
def test_q6_many_of_a_group_are_one_list(world):
    objects = networks(world, 20)
    period(world, objects)
    second = period(world, objects)
    # The first few show that there are many.
    assert second.count(LIST) == 1
    assert period(world, objects) == [LIST]


@pytest.mark.long  # 400 reconciles
@pytest.mark.timeout(600)
def test_q6_below_a_twentieth_of_the_gets_at_a_hundred(world):
    """Due when the syncs say so, from a start that is spread over the period."""
    objects = networks(world, 100)
    begun = world.clock.monotonic()
    due = {i: begun + SYNC_SECONDS * (1 + i / 100) for i in range(100)}
    asked(world)
    for turn in range(400):
        if turn == 200:
            # The first period tells that there are many, then each comes to its place.
            asked(world)
        number = min(due, key=due.__getitem__)
        world.clock.advance(max(due[number] - world.clock.monotonic(), 0.0))
        again = world.run_once(objects[number]).requeue_after_seconds
        due[number] = world.clock.monotonic() + again
    requests = asked(world)
    assert {method for method, _ in requests} == {"GET"}
    assert len(requests) / 200 < 0.05


@pytest.mark.usefixtures("no_looks_between")
def test_q7_what_somebody_changed_is_read_and_put_again(world, twelve):
    world.operator = attrs.evolve(world.operator, undeclared=Undeclared.REPORT)
    period(world, twelve)
    period(world, twelve)
    by_hand(world, twelve[7], tags={"by": "hand"})
    declared = arm_id(world, twelve[9])
    changed = world.azure.resources()[declared]
    changed["properties"]["addressSpace"]["addressPrefixes"] = ["10.9.0.0/16"]
    world.azure.seed(declared, changed)
    world.azure.remove(arm_id(world, twelve[3]))
    # The last PUT has left the resource in a state to which no later one is compared.
    record = loads(annotations(world.read(twelve[5]))[OBSERVED])
    unsettled = attrs.evolve(record, rest=UNSETTLED).dumps()
    world.annotate(twelve[5], **{OBSERVED: unsettled})
    requests = period(world, twelve)
    # A tag that nobody declared is read, and shown in the status.
    assert requests.count(("GET", "net7")) == 1
    assert world.read(twelve[7])["status"]["tags"] == {"by": "hand"}
    assert ("PUT", "net9") in requests
    assert ("PUT", "net3") not in requests  # it is read again first
    world.clock.advance(ASKED_AGAIN_SECONDS)
    world.run(twelve[3])
    assert ("PUT", "net3") in asked(world)
    asked_for = {"virtualNetworks", "net3", "net5", "net7", "net9"}
    assert {name for _, name in requests} == asked_for


def test_q7_a_list_that_leaves_members_out_is_not_believed(world, twelve, monkeypatch):
    real = world.arm.pages

    def poorer(path, api_version, **options):
        for page in real(path, api_version, **options):
            for entry in page:
                entry["properties"].pop("addressSpace", None)
            yield page

    monkeypatch.setattr(world.arm, "pages", poorer)
    period(world, twelve)
    period(world, twelve)
    names = [name for _, name in period(world, twelve)]
    assert names == [f"net{number}" for number in range(12)]


@pytest.mark.usefixtures("no_looks_between")
def test_q7_ids_in_another_case_are_the_same_and_no_status_is_written(
    world, twelve, monkeypatch
):
    real = world.arm.pages

    def louder(path, api_version, **options):
        for page in real(path, api_version, **options):
            yield [{**entry, "id": entry["id"].upper()} for entry in page]

    monkeypatch.setattr(world.arm, "pages", louder)
    period(world, twelve)
    period(world, twelve)
    before = [world.read(obj) for obj in twelve]
    assert period(world, twelve) == [LIST]
    assert [world.read(obj) for obj in twelve] == before


@pytest.mark.usefixtures("no_looks_between")
def test_a_status_that_was_lost_is_written_anew(world, twelve):
    period(world, twelve)
    period(world, twelve)
    stored = world.read(twelve[5])
    kept = {"conditions": stored["status"]["conditions"]}
    world.client.replace(
        world.resource_for(stored), {**stored, "status": kept}, subresource="status"
    )
    assert period(world, twelve) == [LIST, ("GET", "net5")]
    assert world.read(twelve[5])["status"] == stored["status"]


def test_q7_what_is_asked_for_between_periods_is_a_get(world, twelve):
    period(world, twelve)
    period(world, twelve)
    period(world, twelve)
    asked(world)
    world.run(twelve[0])
    assert asked(world) == [("GET", "net0")]


def test_q8_what_was_put_after_the_list_was_begun_is_read(world, twelve):
    period(world, twelve)
    period(world, twelve)
    world.clock.advance(SYNC_SECONDS)
    world.run(twelve[0])
    edited = virtual_network(name="net4")
    edited["spec"]["tags"] = {"team": "red"}
    world.apply(edited)
    world.settle(edited)
    asked(world)
    world.run(twelve[4])
    assert asked(world) == [("GET", "net4")]
    assert world.read(twelve[4])["status"]["tags"] == {"team": "red"}


def test_few_are_read_one_by_one(world):
    objects = networks(world, 2)
    period(world, objects)
    assert LIST not in period(world, objects)


def test_a_kind_that_cannot_be_listed_is_read_one_by_one(world, twelve):
    world.azure.faults.answer("GET", "/virtualNetworks$", 405, code="No", times=99)
    assert period(world, twelve).count(LIST) == 1
    requests = period(world, twelve)
    assert requests == [("GET", f"net{number}") for number in range(12)]
