"""Fields that hold any JSON, nested as deep as the API server takes it.

Depth alone changes nothing: the object is written to Azure whole, its status shows what
Azure has, nothing is written twice, and its neighbours notice nothing.
"""

import attrs
import pytest
from world import SYNC_SECONDS, World, resource_group

from asoreconcile.azure.reconcile.model.annotations import RESOURCE_ID
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
from asoreconcile.base import jsontext
from asoreconcile.base.objects import annotations, copy_json

FACTORIES = "datafactory.azure.com/Factory"
GROUPS = "resources.azure.com/ResourceGroup"


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path) as running:
        running.install(GROUPS, FACTORIES)
        running.operator = attrs.evolve(running.operator, sync_mode=SyncMode.COMPARE)
        running.settled(resource_group())
        yield running


def deep(levels, leaf="1"):
    return jsontext.loads('{"a":' * levels + leaf + "}" * levels)


def factory(value, name="factory"):
    return {
        "apiVersion": "datafactory.azure.com/v20180601",
        "kind": "Factory",
        "metadata": {"name": name},
        "spec": {
            "location": "westeurope",
            "owner": {"name": "rg"},
            "additionalProperties": {"x": value},
            "globalParameters": {"p": {"type": "Object", "value": value}},
        },
    }


def bodies(world):
    return [r.body for r in world.requests("PUT", "/factories/")]


@pytest.mark.parametrize("levels", [95, 300, 1100])
def test_a_deep_object_becomes_ready_and_is_written_once(world, levels):
    obj = world.settled(factory(deep(levels)))
    (body,) = bodies(world)
    text = jsontext.dumps(deep(levels))
    assert text in jsontext.dumps(body)
    world.clock.advance(SYNC_SECONDS + 1)
    world.run(obj)
    world.restart()
    world.run(obj)
    assert len(bodies(world)) == 1
    world.settled(factory(deep(levels, "2")))
    assert len(bodies(world)) == 2
    world.delete(obj)
    assert world.settle(obj) is None


def test_what_somebody_changes_deep_inside_in_azure_is_put_right(world):
    obj = world.settled(factory(deep(300)))
    arm_id = annotations(world.read(obj))[RESOURCE_ID]
    resource = copy_json(world.azure.resources()[arm_id])
    resource["properties"]["globalParameters"]["p"]["value"] = deep(300, "2")
    world.azure.seed(arm_id, resource)
    world.clock.advance(SYNC_SECONDS + 1)
    world.run(obj)
    assert len(bodies(world)) == 2
