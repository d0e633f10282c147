"""Objects that wait for a window, a pause or a period; `reconcile-at`."""

import itertools
from datetime import timedelta

import attrs
import pytest
from world import World, resource_group

from asoreconcile.azure.reconcile.model.annotations import (
    MAINTENANCE_WINDOWS,
    RECONCILE_AT,
    RECONCILED_AT,
    RESOURCE_ID,
    SYNC_PERIOD,
)
from asoreconcile.azure.reconcile.model.put_budget import PutBudget
from asoreconcile.azure.reconcile.model.sync_mode import SYNC_MODE, SyncMode
from asoreconcile.base.objects import ObjectKey, annotations, uid_of

TAGS = {"team": "red"}
GROUP = resource_group(tags=TAGS)


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path) as running:
        running.operator = attrs.evolve(running.operator, sync_mode=SyncMode.COMPARE)
        running.install("resources.azure.com/ResourceGroup")
        running.settled(GROUP)
        running.run(GROUP)
        yield running


def arm_id(world):
    return annotations(world.read(GROUP))[RESOURCE_ID]


def in_azure(world):
    return world.azure.resources().get(arm_id(world))


def by_hand(world, **changes):
    world.azure.seed(arm_id(world), {**in_azure(world), **changes})


def puts(world):
    return len(world.requests("PUT"))


def window_in(world, hours):
    start = world.clock.now() + timedelta(hours=hours)
    return f"{start.minute} {start.hour} * * * 1h"


def ask(world, value):
    world.annotate(GROUP, **{RECONCILE_AT: value})
    return world.run(GROUP).requeue_after_seconds


def is_handled(world, value):
    return annotations(world.read(GROUP)).get(RECONCILED_AT) == value


def handled_after(world, value, delay):
    """Follow the delays until a value is handled; return the seconds."""
    waited = 0.0
    while not is_handled(world, value):
        assert waited < 120.0
        world.clock.advance(delay)
        waited += delay
        delay = world.run(GROUP).requeue_after_seconds
    return waited


FOUND = {
    "gone": lambda world: world.azure.remove(arm_id(world)),
    "declared": lambda world: by_hand(world, tags={"team": "blue"}),
    "undeclared": lambda world: by_hand(world, managedBy="somebody"),
}
NOTES = {"hour": {}, "never": {SYNC_PERIOD: "never"}, "put": {SYNC_MODE: "put"}}


@pytest.mark.parametrize("restarted", [False, True], ids=["running", "restarted"])
@pytest.mark.parametrize("notes", NOTES)
@pytest.mark.parametrize("what", FOUND)
def test_ow7_what_is_found_outside_a_window_is_repaired_when_it_opens(
    world, what, notes, restarted
):
    FOUND[what](world)
    window = window_in(world, 3)
    opens = (world.clock.now() + timedelta(hours=3)).replace(second=0, microsecond=0)
    world.annotate(GROUP, **{MAINTENANCE_WINDOWS: window}, **NOTES[notes])
    before = puts(world)
    result = world.run(GROUP)
    waits = f"waits for the maintenance window that opens at {opens:%Y-%m-%dT%H:%M}"
    shown = world.read(GROUP)["status"]["conditions"]
    assert [one for one in shown if waits in one.get("message", "")]
    while world.clock.now() < opens:
        assert puts(world) == before
        world.clock.advance(result.requeue_after_seconds)
        if restarted and world.clock.now() >= opens:
            world.restart()
        result = world.run(GROUP)
    assert world.clock.now() - opens < timedelta(minutes=1)
    assert puts(world) > before
    world.settle(GROUP)
    assert in_azure(world)["tags"] == TAGS
    assert in_azure(world).get("managedBy") in (None, "somebody")
    shown = world.read(GROUP)["status"]["conditions"]
    assert not [one for one in shown if one["type"] == "Drifted"]


def fight(world):
    """Another writer undoes three PUTs."""
    for _ in range(4):
        by_hand(world, tags={"team": "blue"})
        world.run(GROUP)


def test_ow7_reconcile_at_ends_the_pause_of_a_fight_at_most_once_a_minute(world):
    world.annotate(GROUP, **{SYNC_PERIOD: "never"})
    fight(world)
    before = puts(world)
    ask(world, "first")
    assert is_handled(world, "first")
    assert (puts(world), in_azure(world)["tags"]) == (before + 1, TAGS)
    by_hand(world, tags={"team": "blue"})
    world.clock.advance(20.0)
    delay = ask(world, "second")
    assert not is_handled(world, "second")
    assert puts(world) == before + 1
    assert handled_after(world, "second", delay) == pytest.approx(40.0, abs=1.0)
    assert (puts(world), in_azure(world)["tags"]) == (before + 2, TAGS)


def test_a_fight_goes_on_after_its_pause_without_a_period(world):
    world.annotate(GROUP, **{SYNC_PERIOD: "never"})
    fight(world)
    before, now = puts(world), world.clock.monotonic()
    times = []
    for _ in range(4):
        delay = world.run(GROUP).requeue_after_seconds
        world.clock.advance(delay)
        world.run(GROUP)
        times.append(world.clock.monotonic() - now)
        by_hand(world, tags={"team": "blue"})
    assert puts(world) == before + 4
    pauses = [round((b - a) / 3600.0) for a, b in itertools.pairwise([0.0, *times])]
    assert pauses == [2, 4, 8, 16]


def test_ow7_reconcile_at_puts_a_failed_resource_again(world):
    by_hand(world, properties={"provisioningState": "Failed"})
    world.run(GROUP)
    assert world.ready(GROUP)["reason"] == "Failed"
    before = puts(world)
    ask(world, "1")
    assert puts(world) == before + 1
    assert is_handled(world, "1")


def test_ow7_a_value_is_attempted_once(world):
    """A PUT that Azure refuses is not repeated outside the windows."""
    world.annotate(GROUP, **{MAINTENANCE_WINDOWS: window_in(world, 5)})
    world.apply(resource_group(tags={"team": "green"}))
    world.run(GROUP)
    world.azure.faults.answer("PUT", "resourceGroups/rg$", 403, code="RequestDenied")
    before = puts(world)
    delay = ask(world, "1")
    assert (puts(world), is_handled(world, "1")) == (before + 1, True)
    world.clock.advance(delay)
    world.run(GROUP)
    assert puts(world) == before + 1
    assert world.ready(GROUP)["reason"] == "OutsideMaintenanceWindow"


def test_ow7_a_value_waits_for_the_end_of_a_failure_before_its_put(world):
    world.annotate(GROUP, **{MAINTENANCE_WINDOWS: window_in(world, 5)})
    by_hand(world, tags={"team": "blue"})
    world.azure.faults.answer("GET", "resourceGroups/rg$", 503, code="Busy")
    delay = ask(world, "1")
    assert not is_handled(world, "1")
    handled_after(world, "1", delay)
    assert in_azure(world)["tags"] == TAGS


def test_ow7_reconcile_at_lifts_no_budget(world):
    uid = uid_of(world.read(GROUP))
    memory = world.kind_of(GROUP).memories.of(ObjectKey("default", "rg"), uid)
    memory.keep(PutBudget((world.clock.monotonic(),) * 20))
    by_hand(world, tags={"team": "blue"})
    before = puts(world)
    ask(world, "1")
    assert (puts(world), is_handled(world, "1")) == (before, False)
    assert world.ready(GROUP)["reason"] == "PutBudgetSpent"
