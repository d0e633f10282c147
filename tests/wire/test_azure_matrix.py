"""The crash and race matrix: one lifecycle a cell, each with one thing gone wrong.

By default a seeded sample runs; `hack/matrix` runs every cell, or those it is told.
"""

import os

import pytest
from matrix import WRITES, cells, named, sample
from trial import Trial
from world import World

_SAMPLE = int(os.environ.get("ASORECONCILE_MATRIX_COUNT", "28"))
_SEED = int(os.environ.get("ASORECONCILE_MATRIX_SEED", "1"))


def _chosen():
    wanted = os.environ.get("ASORECONCILE_MATRIX", "")
    if wanted == "all":
        return cells()
    return named(wanted) if wanted else sample(_SEED, _SAMPLE)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with World(tmp_path_factory.mktemp("w"), lro=30.0, retry_after=10) as running:
        running.install(
            "resources.azure.com/ResourceGroup",
            "dbforpostgresql.azure.com/FlexibleServer",
        )
        yield running


def test_the_table_names_every_write_of_a_lifecycle(world):
    trial = Trial(world, None, "plain")
    trial.live()
    assert tuple(trial.writes) == WRITES


@pytest.mark.parametrize("cell", _chosen(), ids=str)
def test_nothing_is_lost_doubled_or_claimed_too_early(world, cell):
    trial = Trial(world, cell, f"c{len(world.azure.journal)}")
    try:
        trial.live()
    except Exception as error:
        error.add_note(f"writes: {', '.join(trial.writes)}\nreplay: hack/matrix {cell}")
        raise
    assert trial.struck, "the fault was never met"


def test_a_sample_holds_every_write_fault_and_change():
    drawn = sample(_SEED, _SAMPLE)
    assert {cell.write for cell in drawn} == set(range(len(WRITES)))
    for field in ("fault", "change", "managers"):
        assert {getattr(c, field) for c in drawn} == {
            getattr(c, field) for c in cells()
        }


def test_samples_are_replayable():
    assert sample(7, 20) == sample(7, 20)
    assert sample(7, 20) != sample(8, 20)
