"""What memory keeps between the polls of an operation."""

from asoreconcile.arm.outcomes import Progress
from asoreconcile.azure.polls import Polls


def test_of_an_operation_that_is_over_nothing_is_left():
    polls = Polls()
    polls.remember("a", Progress(polls=3), due=7.0)
    polls.remember("b", Progress(polls=4), due=8.0)
    polls.forget("a")
    assert (polls.of("a"), polls.due("a")) == (Progress(), 0.0)
    assert (polls.of("b"), polls.due("b")) == (Progress(polls=4), 8.0)
    polls.forget("b")
    assert not any(kept for kept in vars(polls).values() if isinstance(kept, dict))
    polls.forget("b")
