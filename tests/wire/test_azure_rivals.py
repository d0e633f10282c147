"""Random lives of two objects in two namespaces that may declare one resource.

By default a seeded sample runs; `hack/explore` runs 200 lives with a new seed, and
`hack/ci long` 2,000. A life that fails is replayed by its seed:

    ASORECONCILE_RIVALS=SEED hack/test tests/wire/test_azure_rivals.py
"""

import os

import pytest
from rivals import SPACES, Rivals
from world import World, virtual_network

from asoreconcile.kube.resources import NAMESPACES

_COUNT = int(os.environ.get("ASORECONCILE_RIVALS_COUNT", "12"))
_FIRST = int(os.environ.get("ASORECONCILE_RIVALS_SEED", "1"))
_ONE = os.environ.get("ASORECONCILE_RIVALS", "")
_LIVES_A_TEST = 20


def _chosen():
    if _ONE:
        return [[int(_ONE)]]
    seeds = [*range(_FIRST, _FIRST + _COUNT)]
    return [seeds[i : i + _LIVES_A_TEST] for i in range(0, _COUNT, _LIVES_A_TEST)]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with World(tmp_path_factory.mktemp("w"), lro=30.0, retry_after=10) as running:
        running.install("network.azure.com/VirtualNetwork")
        for space in SPACES:
            running.client.create(NAMESPACES, {"metadata": {"name": space}})
        yield running


@pytest.mark.parametrize("seeds", _chosen(), ids=lambda seeds: f"from {seeds[0]}")
def test_nothing_of_another_is_destroyed_and_nothing_of_ours_is_left(world, seeds):
    for seed in seeds:
        life = Rivals(world, group(world, seed), seed, network)
        try:
            life.live()
        except Exception as error:
            story = "\n".join(life.story)
            error.add_note(f"seed {seed}:\n{story}")
            raise


def group(world, seed):
    """A resource group of its own for each life, which no object manages."""
    id_ = f"/subscriptions/{world.azure.subscription_id}/resourceGroups/g{seed}"
    world.azure.seed(id_, {"id": id_, "name": f"g{seed}", "location": "westeurope"})
    return id_


def network(name, space, azure_name, mark, group_id):
    made = virtual_network(name, azureName=azure_name, tags={"mark": mark})
    made["metadata"]["namespace"] = space
    made["spec"]["owner"] = {"armId": group_id}
    return made
