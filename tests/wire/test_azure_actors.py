"""Terraform, Azure Policy and a colleague in the portal change what an object declares.

Seeded draws: whoever else writes tags or an ignored field, the values stay through
edits, syncs, restarts, another leader and a takeover from Azure Service Operator.
"""

import attrs
import pytest
from actors import Contested
from world import World, resource_group

from asoreconcile.azure.reconcile.model.annotations import CLAIM, RESOURCE_ID
from asoreconcile.azure.reconcile.model.drift_baseline import OBSERVED
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
from asoreconcile.base.objects import annotations

DRAWS = 100
FEW = 6  # of them in every run
STEPS = 8


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with World(tmp_path_factory.mktemp("actors")) as running:
        running.install(
            "resources.azure.com/ResourceGroup", "network.azure.com/PublicIPAddress"
        )
        running.operator = attrs.evolve(running.operator, sync_mode=SyncMode.COMPARE)
        running.settled(resource_group())
        yield running


class Story(Contested):
    """The object in a world, and the steps of the operator."""

    def __init__(self, world, seed):
        super().__init__(world.azure, seed)
        self.world = world
        self.obj = world.settled(self.manifest())
        self.id = annotations(world.read(self.obj))[RESOURCE_ID]

    def edit(self):
        self.change_spec()
        self.world.apply(self.manifest())
        self.world.settle(self.obj)

    def sync(self):
        self.world.clock.advance(3600.0)
        self.world.run(self.obj)
        self.world.settle(self.obj)

    def restart(self):
        self.world.restart()
        self.sync()

    def takeover(self):
        """The records are those of Azure Service Operator: none of ours."""
        self.world.annotate(self.obj, **{CLAIM: None, OBSERVED: None})
        self.world.restart()
        self.sync()


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(seed, marks=[pytest.mark.long] if seed >= FEW else [])
        for seed in range(DRAWS)
    ],
)
def test_ow1_ow2_the_values_of_others_stay(world, seed):
    story = Story(world, seed)
    others = [story.terraform, story.policy, story.colleague]
    ours = [story.edit, story.sync, story.restart, story.takeover]
    for _ in range(STEPS):
        step = story.rng.choice([*others, *ours])
        story.done.append(step.__name__)
        step()
    story.sync()
    story.require_kept()
