"""Samples at rest, in syncs that look first: nothing is put for what nobody changed."""

import json
import threading

import attrs
import pytest
from operation import samples
from world import World

from asoreconcile.azure.catalogue.resolution import Resolution
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.extensions.registry import builtin_sets
from asoreconcile.azure.middleware.chain import Extensions
from asoreconcile.azure.reconcile.model.annotations import RESOURCE_ID
from asoreconcile.azure.reconcile.model.differences import differences
from asoreconcile.azure.reconcile.model.policy import Policy
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
from asoreconcile.azure.reconcile.planning.change_plan import Planner
from asoreconcile.azure.reconcile.planning.dry_run import ReadOnlyArm
from asoreconcile.azure.reconcile.planning.resource_import.importer import (
    ResourceImporter,
)
from asoreconcile.azure.reconcile.planning.resource_import.options import ImportOptions
from asoreconcile.base.objects import annotations, gvk_of, key_of


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path, lro=1.0, retry_after=1) as running:
        running.operator = attrs.evolve(running.operator, sync_mode=SyncMode.COMPARE)
        yield running


def arm_samples():
    """The samples, but for the group of Entra."""
    return [obj for obj in samples() if not obj["apiVersion"].startswith("entra.")]


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
    objs = arm_samples()
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


def imported_over(world):
    """The samples applied, and what an import makes of them: the objects that are
    those that stand for their resources already.
    """
    objs = arm_samples()
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
    # The cluster's first pool has no object: the spec of the cluster contains it.
    assert len(made) == len(azure)
    named = {(obj["kind"], key_of(obj).name): obj for obj in azure}
    # One whose owner is called otherwise belongs to another object.
    same = [
        obj
        for obj in made
        if (found := named.get((obj["kind"], key_of(obj).name)))
        and obj["spec"].get("owner") == found["spec"].get("owner")
    ]
    assert len(same) >= len(made) / 2
    return same


def test_d11_what_was_imported_changes_nothing_when_it_is_applied(world):
    """The samples, imported: beside the objects that made them, at the same names."""
    same = imported_over(world)
    for obj in same:
        world.apply(obj)
    settle_all(world, same)
    world.clock.advance(3600.0)
    world.azure.journal.clear()
    for obj in same:
        world.run(obj)
    assert [request.path for request in world.requests("PUT")] == []


def test_what_was_imported_shows_no_difference_in_a_plan(world):
    same = imported_over(world)
    catalogue = builtin()
    clock = world.clock
    planner = Planner(
        catalogue=catalogue,
        objects=tuple(world.read(obj) | {"spec": obj["spec"]} for obj in same),
        resolution=Resolution(
            catalogue,
            [world.read(obj) for obj in arm_samples()],
            subscription_id=world.azure.subscription_id,
        ),
        reads=ReadOnlyArm(
            world.arm, clock=clock, stop=threading.Event(), on_wait=lambda *_: None
        ),
        extensions=Extensions.compose(
            builtin_sets(), kinds=[kind.group_kind for kind in catalogue.kinds()]
        ),
        clock=clock,
        subscription_id=world.azure.subscription_id,
    )
    found = {(one.kind.kind, one.name): one for one in planner.changes()}
    assert len(found) == len(same)
    assert [
        (k, c.why, c.changes) for k, c in found.items() if c.action != "no change"
    ] == []


def test_what_was_imported_is_put_as_it_was_where_each_sync_puts(tmp_path):
    with World(tmp_path, lro=1.0, retry_after=1) as world:
        same = imported_over(world)

        def sent():
            """The last body that was PUT to each id."""
            return {
                request.path.lower(): json.loads(request.body)
                if isinstance(request.body, str | bytes)
                else request.body
                for request in world.requests("PUT")
            }

        def bodies():
            """What Azure has, without what counts its writes."""
            return {
                arm_id: {
                    k: v for k, v in body.items() if k not in ("etag", "systemData")
                }
                for arm_id, body in world.azure.resources().items()
            }

        before, had = sent(), bodies()
        world.azure.journal.clear()
        for obj in same:
            world.apply(obj)
        settle_all(world, same)
        world.clock.advance(7200.0)
        for obj in same:
            world.run(obj)
        settle_all(world, same)
        after = sent()
        assert len(after) >= len(same)
        # All that the author wrote goes out again, beside what Azure had made of it, but
        # for a password: an import cannot register that there is one ...
        lost = [
            d.path for p, body in after.items() for d in differences(before[p], body)
        ]
        assert lost == ["properties/administratorLoginPassword"]
        # ... and changes nothing.
        have = bodies()
        assert have.keys() == had.keys()
        changed = [d.path for i in had for d in differences(had[i], have[i])]
        assert [path for path in changed if not path.endswith("/etag")] == []
