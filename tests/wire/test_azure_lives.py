"""Lives of a small estate with all features of the operator, judged by its promises.

A seeded sample runs by default; `hack/lives` runs thousands in pieces. A life that
fails is made shorter and printed, and runs again by its seed or its two features:

    hack/lives --seed 17
    hack/lives --pair skip,windows
"""

import os
import random

import pytest
from life import KINDS, Life
from lifeplan import PAIRS, crossing, plan, shorter
from world import World

_FIRST, _LAST = map(int, os.environ.get("ASORECONCILE_LIVES", "1-60").split("-"))
_PAIR = os.environ.get("ASORECONCILE_CROSSINGS", "")
_LIVES_A_TEST = 20


def _pairs():
    if not _PAIR:
        return random.Random(54).sample(PAIRS, len(PAIRS) // 10)
    return PAIRS if _PAIR == "all" else [tuple(_PAIR.split(","))]


@pytest.fixture(scope="module")
def lives(tmp_path_factory):
    with World(tmp_path_factory.mktemp("w"), lro=5.0, retry_after=2) as running:
        running.install(*KINDS)
        numbers = iter(range(1, 10_000))

        def fails(steps):
            life = Life(running, next(numbers))
            try:
                life.live([*steps])
            except AssertionError as error:
                return f"{error}\n  " + "\n  ".join(life.story)
            finally:
                life.clear()
            return ""

        yield fails


def require_kept(lives, steps, name):
    if lives(steps):
        told = lives(shorter(steps, lives))
        message = f"{name}: {told}"
        raise AssertionError(message)


@pytest.mark.parametrize("first", range(_FIRST, _LAST + 1, _LIVES_A_TEST))
def test_a_life_keeps_every_promise(lives, first):
    for seed in range(first, min(first + _LIVES_A_TEST, _LAST + 1)):
        require_kept(lives, plan(seed), f"seed {seed}")


def test_two_features_that_meet_keep_every_promise(lives):
    for pair in _pairs():
        require_kept(lives, crossing(pair, 0), " and ".join(pair))


def test_a_failing_plan_is_made_as_short_as_it_fails():
    steps = plan(3, length=40)
    wanted = {str(steps[7]), str(steps[21])}
    found = shorter(steps, lambda tried: wanted <= {*map(str, tried)})
    assert {*map(str, found)} == wanted
    assert len(found) == 2
