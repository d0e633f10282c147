"""Parents and children by turns: who comes in between begins anew, nobody waits."""

import random
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from asoreconcile.azure.reconcile.state.parent_writes import ParentWrites
from asoreconcile.base.errors import RetryError

SET = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/sets/S"
CHILD = f"{SET.upper().replace('/SUBSCRIPTIONS', '/subscriptions')}/extensions/e"


@pytest.fixture
def parent_writes():
    return ParentWrites()


def test_an_undisturbed_parent_is_written(parent_writes):
    with (
        parent_writes.reading(SET) as reading,
        parent_writes.exclusive(reading),
        parent_writes.writing(SET),
    ):
        pass


@pytest.mark.parametrize("child", [CHILD, f"{CHILD}/parts/p"])
def test_a_write_below_since_the_read_makes_it_stale(parent_writes, child):
    with parent_writes.reading(SET) as reading:
        with parent_writes.writing(child):
            pass
        with pytest.raises(RetryError) as raised, parent_writes.exclusive(reading):
            pass
        assert raised.value.after_seconds < 0.1
    with parent_writes.reading(SET) as again, parent_writes.exclusive(again):
        pass


def test_a_write_below_that_runs_when_the_read_begins_is_waited_for(parent_writes):
    with parent_writes.writing(CHILD):
        with (
            parent_writes.reading(SET) as reading,
            pytest.raises(RetryError) as raised,
            parent_writes.exclusive(reading),
        ):
            pass
        assert raised.value.after_seconds >= 1.0


def test_nobody_writes_below_while_the_parent_is_written(parent_writes):
    with parent_writes.reading(SET) as reading:
        with parent_writes.exclusive(reading):
            with pytest.raises(RetryError), parent_writes.writing(CHILD):
                pass
            with parent_writes.writing(f"{SET}x/extensions/e"):
                pass  # below another
        with parent_writes.writing(CHILD):
            pass  # read once more, or put: it is over


@pytest.mark.parametrize("other", [SET.partition("/providers")[0], "/subscriptions/s"])
def test_a_resource_group_is_no_parent_of_what_is_in_it(parent_writes, other):
    """Its PUT holds none of them."""
    with parent_writes.reading(other) as reading:
        with parent_writes.exclusive(reading), parent_writes.writing(SET):
            pass
        with parent_writes.exclusive(reading):
            pass


def test_nothing_is_kept(parent_writes):
    with (
        parent_writes.reading(SET) as reading,
        parent_writes.exclusive(reading),
        pytest.raises(RetryError),
        parent_writes.writing(CHILD),
    ):
        pass
    with pytest.raises(ZeroDivisionError), parent_writes.writing(CHILD):
        _ = 1 / 0
    assert not any(vars(parent_writes)[name] for name in ("_readings", "_writes"))


def test_no_write_of_many_threads_is_lost(parent_writes):
    """Each child's write is in the parent's at the end, whatever came in between."""
    children: set[int] = set()
    writes, rounds = 40, random.Random(7)
    shown: list[frozenset[int]] = [frozenset()]

    def child(number):
        while True:
            try:
                with parent_writes.writing(f"{SET}/extensions/e{number}"):
                    shown[0] = shown[0] | {number}
                    children.add(number)
                    return
            except RetryError:
                continue

    def parent():
        for _ in range(200):
            with parent_writes.reading(SET) as reading:
                read = shown[0]
                for _ in range(rounds.randrange(50)):
                    pass
                try:
                    with parent_writes.exclusive(reading):
                        shown[0] = read
                except RetryError:
                    continue

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(2) as pool:
            # One child at a time: only parent and child may come between each other.
            done = [
                pool.submit(parent),
                pool.submit(lambda: [*map(child, range(writes))]),
            ]
            for one in done:
                one.result(timeout=60)
    finally:
        sys.setswitchinterval(before)
    assert shown[0] == children == set(range(writes))
