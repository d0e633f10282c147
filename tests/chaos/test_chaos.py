"""Chaos trials: one seed by default; `hack/chaos` draws new ones, or runs a given one."""

import os

import pytest
from chaostrial import ChaosTrial

_SEEDS = os.environ.get("ASORECONCILE_CHAOS_SEEDS", "1").split(",")


@pytest.mark.timeout(420)
@pytest.mark.parametrize("seed", _SEEDS)
def test_nothing_is_lost_doubled_or_orphaned(seed, tmp_path):
    trial = ChaosTrial(seed, tmp_path)
    try:
        trial.run()
    except BaseException as error:
        story = "\n".join(trial.told)
        error.add_note(f"replay: hack/chaos --seed {seed}\n{story}")
        raise
