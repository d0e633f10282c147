"""What our own write was answered a moment ago: for how long, and in which state."""

import pytest

from asoreconcile.azure.reconcile.state.memory import AS_WRITTEN_SECONDS, RecentWrites


def obj(*, version="7"):
    return {"metadata": {"resourceVersion": version}}


@pytest.fixture
def begun():
    found = RecentWrites()
    found.note(obj(), at=100.0)
    return found


def test_what_was_written_a_moment_ago_is_as_written(begun):
    assert begun.is_as_written(obj(), now=100.0)
    assert begun.is_as_written(obj(), now=100.0 + AS_WRITTEN_SECONDS)


def test_a_moment_passes(begun):
    assert not begun.is_as_written(obj(), now=100.01 + AS_WRITTEN_SECONDS)


def test_another_state_is_not_what_was_written(begun):
    assert not begun.is_as_written(obj(version="8"), now=100.0)


def test_the_pass_that_begins_it_ends_it_once(begun):
    assert begun.end()
    assert not begun.end()
    assert not begun.is_as_written(obj(), now=100.0)


def test_what_was_written_last_is_what_was_written(begun):
    begun.note(obj(version="8"), at=200.0)
    assert begun.is_as_written(obj(version="8"), now=200.0)
    assert not begun.is_as_written(obj(), now=200.0)
