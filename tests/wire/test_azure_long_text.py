"""Text that is too long to be read holds its object: nothing is written in Azure, and
the condition names field and limit.
"""

import pytest
from world import World, resource_group

from asoreconcile.azure.reconcile.model import annotations as names
from asoreconcile.base.objects import ObjectKey
from asoreconcile.kube.resources import NAMESPACES

LONG = "1" * 70_000
NAMED = (
    names.SYNC_PERIOD,
    names.IGNORE_FIELDS,
    names.MAINTENANCE_WINDOWS,
    names.CREDENTIAL_FROM,
    names.ON_IMMUTABLE,
    "asoreconcile/if-exists",
    "asoreconcile/observed",
    names.CLAIM,
    names.RESOURCE_ID,
    names.POLLER_TOKEN,
)
INHERITED = (
    names.SYNC_PERIOD,
    names.IGNORE_FIELDS,
    names.ALLOWED_SCOPES,
    names.ALLOWED_TYPES,
    "asoreconcile/sync-mode",
)


@pytest.fixture(scope="module")
def world(module_path):
    with World(module_path) as running:
        running.install("resources.azure.com/ResourceGroup")
        yield running


def annotate_namespace(world, **notes):
    body = {"metadata": {"annotations": notes}}
    world.client.patch(NAMESPACES, ObjectKey("", "default"), body)


def written(world):
    return [
        (one.method, one.path)
        for one in world.azure.journal
        if one.method in ("PUT", "PATCH", "DELETE", "POST") and "/token" not in one.path
    ]


def held(world, group, *names_in_message):
    before = written(world)
    for _ in range(3):
        world.run(group)
    ready = world.ready(group)
    assert (ready["status"], ready["severity"]) == ("False", "Error")
    for part in names_in_message:
        assert part in ready["message"]
    assert len(ready["message"]) < 2000
    assert written(world) == before


@pytest.mark.parametrize("name", NAMED)
def test_ft1_an_annotation_that_is_too_long_holds_the_object(world, name):
    group = resource_group(f"own-{NAMED.index(name)}")
    world.settled(group)
    kept = world.read(group)["metadata"]["annotations"].get(name)
    world.annotate(group, **{name: LONG})
    group["spec"]["tags"] = {"changed": "yes"}
    group["metadata"]["annotations"] = {name: LONG}
    world.apply(group)
    held(world, group, name, "characters")
    world.delete(group)
    held(world, group, name)
    world.annotate(group, **{name: kept})
    world.settle(group)
    assert written(world)[-1][0] == "DELETE"


@pytest.mark.parametrize("name", INHERITED)
def test_ft1_an_annotation_of_the_namespace_that_is_too_long_holds_its_objects(
    world, name
):
    annotate_namespace(world, **{name: LONG})
    group = resource_group(f"inherits-{INHERITED.index(name)}")
    world.apply(group)
    held(world, group, "Namespace", name)
    annotate_namespace(world, **{name: None})
    world.settle(group)
    assert world.ready(group)["status"] == "True"
