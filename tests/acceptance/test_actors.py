"""The values of others on real managers: through edits, syncs, restarts, a takeover from
Azure Service Operator and another leader.
"""

import os
import random

import pytest
from actors import Contested
from leasetimes import election_flags
from operation import Operation
from world import resource_group

from asoreconcile.azure.reconcile.model.annotations import (
    CLAIM,
    RECONCILE_AT,
    RECONCILED_AT,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.drift_baseline import OBSERVED, loads
from asoreconcile.base.objects import annotations
from asoreconcile.runtime.leaderelection.lease import LeaseTiming

COUNT = int(os.environ.get("ASORECONCILE_ACTORS_COUNT", "3"))
# A start of a manager takes seconds: one in each run, all in `hack/explore`.
TURNS = int(os.environ.get("ASORECONCILE_ACTORS_TURNS", "1"))
SEED = int(os.environ.get("ASORECONCILE_ACTORS_SEED", "7"))

# The objects share them, as most end the manager.
ROUNDS = ("edit", "restart", "takeover", "leader")


def start(operation):
    operation.start_manager(
        # As installed: a hundred objects at once keep the machine busy.
        *election_flags(LeaseTiming(15.0, 10.0, 2.0)),
        AZURE_SYNC_PERIOD="87600h",
        ASORECONCILE_SYNC_MODE="compare",
    )


def synced(operation, stories, mark):
    """A sync of each object now, and its end."""

    def is_done(found):
        record = loads(annotations(found).get(OBSERVED) or "")
        is_noted = record is not None and record.rest != ""
        return is_noted and annotations(found).get(RECONCILED_AT) == mark

    for story in stories:
        note = {"metadata": {"annotations": {RECONCILE_AT: mark}}}
        operation.edit(story.manifest(), note)
    for story in stories:
        operation.wait_for(story.manifest(), is_done)


@pytest.mark.timeout(600)
def test_ow1_ow2_the_values_of_others_stay_on_real_managers(tmp_path):
    rng = random.Random(SEED)
    with Operation(tmp_path) as operation:
        stories = [Contested(operation.azure, SEED + n) for n in range(COUNT)]
        group = resource_group()
        operation.install(group, stories[0].manifest())
        start(operation)
        operation.apply(group)
        for story in stories:
            operation.apply(story.manifest())
        for story in stories:
            made = operation.wait_ready(story.manifest())
            story.id = annotations(made)[RESOURCE_ID]
        for number, what in enumerate(rng.sample(ROUNDS, TURNS)):
            for story in stories:
                step = story.rng.choice(
                    [story.terraform, story.policy, story.colleague]
                )
                story.done += [step.__name__, what]
                step()
            if what == "edit":
                for story in stories:
                    story.change_spec()
                    operation.apply(story.manifest())
                for story in stories:
                    operation.wait_ready(story.manifest())
            elif what == "leader":
                before = operation.manager
                start(operation)  # it waits until the first one ends
                before.end()
            elif what == "restart":
                operation.kill_manager()
                start(operation)
            else:
                operation.manager.end()
                gone = {"metadata": {"annotations": {CLAIM: None, OBSERVED: None}}}
                for story in stories:
                    operation.edit(story.manifest(), gone)
                start(operation)
            synced(operation, stories, str(number))
        for story in stories:
            story.require_kept()
