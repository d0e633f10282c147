"""Calls within calls: who shares a limit, and who has one of its own."""

import pytest

from asoreconcile.base import call_limit
from asoreconcile.base.call_limit import limited
from asoreconcile.base.errors import StoppedError
from asoreconcile.base.reconcile_context import Context, DeadlineError, running
from asoreconcile.base.stop_signal import StopSignal
from asoreconcile.testing.clock import FakeClock


def test_a_request_and_the_sending_of_it_share_one_call():
    with limited(60.0, is_read=False) as outer:
        with limited(60.0, is_read=False) as inner:
            assert inner is outer
        assert call_limit.current() is outer
    assert call_limit.current() is None


@pytest.mark.parametrize(
    ("seconds", "is_read"),
    [(5.0, True), (60.0, False)],
    ids=["shorter", "another-kind"],
)
def test_what_needs_a_limit_of_its_own_has_one(seconds, is_read):
    with limited(60.0, is_read=True) as outer:
        with limited(seconds, is_read=is_read) as inner:
            assert inner is not outer
            assert call_limit.current() is inner
            assert inner.seconds <= seconds
        assert call_limit.current() is outer


def test_th9_a_stop_cuts_what_is_shared_once_and_forgets_it():
    stop, clock = StopSignal(), FakeClock()
    with running(Context(clock, stop=stop)):
        with (
            limited(60.0, is_read=True) as outer,
            limited(60.0, is_read=True),
        ):
            stop.stop(deadline=clock.monotonic())
            clock.advance(0.0)
            assert outer.is_cut
        with pytest.raises(StoppedError):
            outer.explain()


def test_ct6_nothing_is_left_behind_by_a_call_that_had_no_time(clock):
    with running(Context(clock, deadline=clock.monotonic())):
        with pytest.raises(DeadlineError), limited(60.0, is_read=True):
            pytest.fail("it has no time left")
        assert call_limit.current() is None


def test_a_stop_that_cannot_be_followed_leaves_no_callback():
    stop = StopSignal()
    stop.set()

    def fail():
        raise RuntimeError("no thread for a timer")

    with pytest.raises(RuntimeError):
        stop.add("key", fail)
    stop.add("key", lambda: None)  # no trace of the first
    stop.remove("key")
