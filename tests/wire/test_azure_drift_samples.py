"""Samples at rest, in syncs that look first: nothing is put for what nobody changed."""

import attrs
import pytest
from operation import samples
from world import World

from asoreconcile.azure.annotations import RESOURCE_ID
from asoreconcile.azure.policy import Policy
from asoreconcile.azure.resource_import.importer import ResourceImporter
from asoreconcile.azure.resource_import.options import ImportOptions
from asoreconcile.azure.sync_mode import SyncMode
from asoreconcile.controllers.catalogue import builtin
from asoreconcile.extensions.registry import builtin_sets
from asoreconcile.objects import annotations, gvk_of, key_of


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


def test_d11_what_was_imported_changes_nothing_when_it_is_applied(world):
    """The samples, imported: beside the objects that made them, at the same names."""
    objs = samples()
    azure = [obj for obj in objs if obj["kind"] != "Secret"]
    for obj in azure:
        world.install_version(gvk_of(obj))
    for obj in objs:
        world.apply(obj)
    settle_all(world, azure)
    group = next(obj for obj in azure if obj["kind"] == "ResourceGroup")
    kinds = {gvk_of(obj).group_kind: gvk_of(obj).version for obj in azure}
    imported = ResourceImporter(
        world.arm,
        builtin(),
        builtin_sets(),
        options=ImportOptions(
            policy=Policy.MANAGE,
            versions=kinds,
            wanted=lambda kind: kind.group_kind in kinds,
        ),
        clock=world.clock,
    ).run([annotations(world.read(group))[RESOURCE_ID]])
    assert imported.report.is_complete, imported.report
    made = [one.obj for one in imported.manifests]
    assert {gvk_of(obj) for obj in made} == {gvk_of(obj) for obj in azure}
    assert len(made) == len(azure) + 1  # the cluster's own first pool
    named = {(obj["kind"], key_of(obj).name): obj for obj in azure}
    # One whose owner is called otherwise belongs to another object.
    same = [
        obj
        for obj in made
        if (found := named.get((obj["kind"], key_of(obj).name)))
        and obj["spec"].get("owner") == found["spec"].get("owner")
    ]
    assert len(same) >= len(made) / 2
    for obj in same:
        world.apply(obj)
    settle_all(world, same)
    world.clock.advance(3600.0)
    world.azure.journal.clear()
    for obj in same:
        world.run(obj)
    assert [request.path for request in world.requests("PUT")] == []
