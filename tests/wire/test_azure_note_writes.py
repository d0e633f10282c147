"""What Azure has is noted after Ready was shown, whatever comes in between."""

import attrs
import pytest
from world import SYNC_SECONDS, World, resource_group

from asoreconcile.azure.reconcile.model.drift_baseline import OBSERVED, loads
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
from asoreconcile.azure.reconcile.state.deferred_note import NOTE_PRIORITY
from asoreconcile.base.objects import annotations
from asoreconcile.kube.errors import ApiError
from asoreconcile.queue.workqueue import LOW_PRIORITY
from asoreconcile.testing.http import HttpResponse

GROUPS = "resources.azure.com/ResourceGroup"


@pytest.fixture
def world(tmp_path):
    with World(tmp_path, lro=5.0, retry_after=1) as running:
        running.install(GROUPS)
        running.operator = attrs.evolve(running.operator, sync_mode=SyncMode.COMPARE)
        yield running


@pytest.fixture
def group(world):
    """Ready, and not noted yet; what is asked from here on is in the journals."""
    obj = resource_group()
    world.apply(obj)
    for _ in range(2):  # claim, PUT
        result = world.run_once(obj)
    assert world.ready(obj)["status"] == "True"
    assert note_of(world, obj) is None
    assert (result.requeue_after_seconds, result.priority) == (1.0, NOTE_PRIORITY)
    world.azure.journal.clear()
    world.cluster.journal.clear()
    return obj


def note_of(world, obj):
    return loads(annotations(world.read(obj)).get(OBSERVED) or "")


def writes(world):
    return [one.path for one in world.cluster.journal if one.method == "PATCH"]


def asked(world):
    return [request.method for request in world.azure.journal]


def look(world, obj):
    """The look that the queue has for the note."""
    return world.run_once(obj, priority=NOTE_PRIORITY)


def test_a_look_of_its_own_asks_azure_nothing_and_goes_on_in_the_period(world, group):
    world.clock.advance(1.0)
    result = look(world, group)
    assert note_of(world, group).rest
    assert (asked(world), len(writes(world))) == ([], 1)
    assert result.priority == LOW_PRIORITY
    # Of the period that began when it was made Ready, a second ago.
    until_sync = result.requeue_after_seconds
    assert 0.75 * SYNC_SECONDS - 1.0 <= until_sync <= 1.25 * SYNC_SECONDS - 1.0
    world.run(group)
    assert asked(world) == ["GET"]  # a sync, as by an event
    assert len(writes(world)) == 1


def test_notes_of_many_at_once_are_spread(world, group):
    others = [resource_group(f"rg{number}") for number in range(3)]
    for obj in others:
        world.apply(obj)
        world.run_once(obj)
    asked_for = [world.run_once(obj).requeue_after_seconds for obj in others]
    assert asked_for == pytest.approx([1.1, 1.2, 1.3])
    world.clock.advance(1.3)
    assert [look(world, obj).priority for obj in others] == [LOW_PRIORITY] * 3


def test_with_no_period_the_object_is_left_alone_after_it(tmp_path):
    with World(tmp_path) as world:
        world.install(GROUPS)
        world.operator = attrs.evolve(world.operator, sync_mode=SyncMode.COMPARE)
        obj = resource_group()
        world.apply(obj)
        world.kind_of(obj).requeue_backoff.sync_period_seconds = None
        for _ in range(2):
            world.run_once(obj)
        assert look(world, obj).requeue_after_seconds is None
        assert note_of(world, obj).rest


def test_an_edit_in_between_is_put_and_noted(world, group):
    world.apply(resource_group(tags={"edited": "yes"}))
    result = look(world, group)
    assert asked(world)[0] == "PUT"
    assert world.ready(group)["observedGeneration"] == 2
    assert note_of(world, group).rest
    assert result.requeue_after_seconds > 1.0
    first = note_of(world, group)
    look(world, group)
    assert note_of(world, group) == first


@pytest.mark.parametrize("priority", [0, LOW_PRIORITY])
def test_something_else_that_changed_is_looked_at_in_the_same_reconcile(
    world, group, priority
):
    """An owner, a Secret; a credential, which nobody waits for."""
    world.run_once(group, priority=priority)
    assert asked(world) == ["GET"]
    assert note_of(world, group).rest
    assert len(writes(world)) == 1


def test_an_object_that_goes_is_not_noted(world, group):
    world.delete(group)
    world.run_once(group)
    assert asked(world)[-1] == "DELETE"
    assert note_of(world, group) is None


def test_a_process_that_ends_before_it_costs_a_read_and_no_put(world, group):
    world.restart()
    world.run(group)
    assert asked(world) == ["GET"]
    assert note_of(world, group).rest
    world.azure.journal.clear()
    world.restart()
    world.run(group)
    assert asked(world) == []


def test_where_another_process_wrote_a_note_the_look_is_a_sync(world, group):
    world.annotate(group, **{OBSERVED: '{"put":"theirs","v":2}'})
    look(world, group)
    assert asked(world)[0] == "PUT"  # theirs was of another body
    assert note_of(world, group).put != "theirs"
    assert world.ready(group)["status"] == "True"


def test_trouble_of_the_api_server_is_tried_again_and_shows_nothing(world, group):
    said = b'{"kind": "Status", "code": 500, "reason": "InternalError"}'
    broken = HttpResponse(500, said)
    world.cluster.faults.respond("PATCH", "resourcegroups/rg", broken)
    with pytest.raises(ApiError):
        look(world, group)
    assert world.ready(group)["status"] == "True"
    look(world, group)
    assert note_of(world, group).rest
    assert asked(world) == []
