"""Terraform, Azure Policy and a colleague in the portal change what an object declares.

Seeded draws: whoever else writes tags or an ignored field, the values stay through
edits, syncs, restarts, another leader and a takeover from Azure Service Operator.
"""

import random

import attrs
import pytest
from world import World, resource_group

from asoreconcile.azure.reconcile.model.annotations import (
    CLAIM,
    IGNORE_FIELDS,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.drift_baseline import OBSERVED
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
from asoreconcile.base.objects import annotations, copy_json

DRAWS = 100
FEW = 6  # of them in every run
STEPS = 8
IGNORED = "spec.idleTimeoutInMinutes, spec.tags.costcenter"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with World(tmp_path_factory.mktemp("actors")) as running:
        running.install(
            "resources.azure.com/ResourceGroup", "network.azure.com/PublicIPAddress"
        )
        running.operator = attrs.evolve(running.operator, sync_mode=SyncMode.COMPARE)
        running.settled(resource_group())
        yield running


class Story:
    """One object, the others that write its resource, and what each of them wants."""

    def __init__(self, world, seed):
        self.world, self.rng = world, random.Random(seed)
        self.name = f"pip{seed}"
        self.own = {"team": "red"}
        self.foreign = {}
        self.minutes = 4
        self.obj = self.manifest()
        world.settled(self.obj)
        self.id = annotations(world.read(self.obj))[RESOURCE_ID]

    def manifest(self):
        return {
            "apiVersion": "network.azure.com/v20250301",
            "kind": "PublicIPAddress",
            "metadata": {
                "name": self.name,
                "annotations": {IGNORE_FIELDS: IGNORED},
            },
            "spec": {
                "location": "westeurope",
                "owner": {"name": "rg"},
                "sku": {"name": "Standard"},
                "idleTimeoutInMinutes": 4,
                "tags": {**self.own, "costcenter": "spec"},
            },
        }

    def by_hand(self, **changes):
        body = copy_json(self.world.azure.resources()[self.id])
        body["tags"] = {**body.get("tags", {}), **changes.pop("tags", {})}
        body["properties"] = {**body["properties"], **changes}
        self.world.azure.seed(self.id, body)

    # The others.

    def terraform(self):
        self.minutes = self.rng.randint(5, 30)
        self.by_hand(idleTimeoutInMinutes=self.minutes)

    def policy(self):
        name = self.rng.choice(["env", "created-by", "costcenter"])
        self.foreign[name] = str(self.rng.random())
        self.by_hand(tags={name: self.foreign[name]})

    def colleague(self):
        self.by_hand(tags={"team": "blue"})

    # The operator, and who writes the object.

    def edit(self):
        self.own["rev"] = str(self.rng.random())
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
    done = []
    for _ in range(STEPS):
        step = story.rng.choice([*others, *ours])
        done.append(step.__name__)
        step()
    story.sync()
    have = world.azure.resources()[story.id]
    assert have["properties"]["idleTimeoutInMinutes"] == story.minutes, done
    assert have["tags"] == {"costcenter": "spec", **story.own, **story.foreign}, done
