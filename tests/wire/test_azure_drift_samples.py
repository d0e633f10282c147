"""Samples at rest, in syncs that look first: nothing is put for what nobody changed."""

import attrs
import pytest
from operation import samples
from world import World

from asoreconcile.azure.sync_mode import SyncMode
from asoreconcile.objects import gvk_of, key_of


@pytest.fixture
def world(tmp_path):
    with World(tmp_path, lro=1.0, retry_after=1) as running:
        running.operator = attrs.evolve(running.operator, sync_mode=SyncMode.COMPARE)
        yield running


def settle_all(world, objs):
    """Passes over all in turn, until each is Ready."""
    waiting = list(objs)
    for _ in range(60):
        for obj in waiting:
            world.run(obj)
        waiting = [o for o in waiting if (world.ready(o) or {}).get("status") != "True"]
        if not waiting:
            return
        world.clock.advance(5.0)
    raise AssertionError([(key_of(o), world.ready(o)) for o in waiting])


def test_d11_samples_at_rest_are_read_and_not_put(world):
    objs = samples()
    azure = [obj for obj in objs if obj["kind"] != "Secret"]
    for obj in azure:
        world.install_version(gvk_of(obj))
    for obj in objs:
        world.apply(obj)
    settle_all(world, azure)
    for _ in range(3):
        world.clock.advance(3600.0)
        world.azure.journal.clear()
        for obj in azure:
            world.run(obj)
        assert [request.path for request in world.requests("PUT")] == []
        assert len(world.requests("GET")) >= len(azure)
