"""The context of a reconcile: how long its waits may be, and what ends them."""

import threading

import pytest

from asoreconcile.base import reconcile_context
from asoreconcile.base.errors import AsoreconcileError, StoppedError
from asoreconcile.base.reconcile_context import Context, DeadlineError, running
from asoreconcile.base.stop_signal import StopSignal, wait_for_any


def in_thread(call):
    """Run a call; what it raised or returned, from the list once it is over."""
    ended = []

    def run():
        try:
            ended.append(call())
        except AsoreconcileError as error:
            ended.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, ended


def test_what_is_left_is_the_nearer_of_deadline_and_stop(clock):
    stop = StopSignal()
    context = Context(clock, deadline=60.0, stop=stop)
    assert context.seconds_left == 60.0
    stop.stop(5.0)
    assert context.seconds_left == 5.0
    stop.stop(3.0)
    assert context.seconds_left == 5.0, "a second stop may only give more time"
    stop.stop(10.0)
    clock.advance(7)
    assert context.seconds_left == 3.0
    clock.advance(7)
    assert context.seconds_left == 0.0


def test_a_stop_without_an_end_leaves_the_deadline(clock):
    stop = StopSignal()
    with running(Context(clock, deadline=60.0, stop=stop)):
        stop.stop()
        assert reconcile_context.seconds_left() == 60.0
        with pytest.raises(StoppedError):
            reconcile_context.check()


def test_outside_a_reconcile_nothing_is_bounded(clock):
    assert reconcile_context.current() is None
    assert reconcile_context.seconds_left() is None
    signal = StopSignal()
    signal.set()
    reconcile_context.wait(signal)


@pytest.mark.parametrize("reason", ["deadline", "stop", "signal"])
def test_th9_a_wait_ends_with_whatever_comes_first(clock, reason):
    stop, signal = StopSignal(), StopSignal()

    def call():
        with running(Context(clock, deadline=60.0, stop=stop)):
            return reconcile_context.wait(signal)

    thread, ended = in_thread(call)
    clock.until_waiting()
    match reason:
        case "deadline":
            clock.advance(60)
        case "stop":
            stop.stop()
        case "signal":
            signal.set()
    thread.join(10)
    wanted = {"deadline": DeadlineError, "stop": StoppedError, "signal": bool}
    assert type(ended[0]) is wanted[reason]


def test_an_answer_that_is_there_counts_though_the_time_is_over(clock):
    stop, signal = StopSignal(), StopSignal()
    signal.set()
    stop.stop()
    with running(Context(clock, deadline=0.0, stop=stop)):
        reconcile_context.wait(signal)


def test_an_allowance_gives_time_to_write_down_what_was_done(clock):
    with running(Context(clock, deadline=5.0)):
        clock.advance(9)
        with pytest.raises(DeadlineError):
            reconcile_context.check()
        with reconcile_context.allowance(10):
            assert reconcile_context.seconds_left() == 10.0
        assert reconcile_context.seconds_left() == 0.0


def test_an_allowance_takes_nothing_away(clock):
    with running(Context(clock, deadline=60.0)), reconcile_context.allowance(10):
        assert reconcile_context.seconds_left() == 60.0


def test_an_allowance_does_not_outlast_a_stop(clock):
    stop = StopSignal()
    stop.stop(3.0)
    context = Context(clock, deadline=0.0, stop=stop)
    with running(context), reconcile_context.allowance(10):
        assert reconcile_context.seconds_left() == 3.0


def test_th9_a_first_try_leaves_half_of_the_stop_s_time(clock):
    stop = StopSignal()
    with running(Context(clock, deadline=60.0, stop=stop)):
        with reconcile_context.half_of_stop():
            assert reconcile_context.seconds_left() == 60.0
            stop.stop(8.0)
            assert reconcile_context.seconds_left() == 4.0
            stop.stop(10.0)  # asked again, for more time
            assert reconcile_context.seconds_left() == 5.0
        assert reconcile_context.seconds_left() == 10.0
        clock.advance(4)
        with reconcile_context.half_of_stop():
            assert reconcile_context.seconds_left() == 3.0


def test_th9_first_tries_before_the_stop_have_one_signal_and_later_ones_their_own(
    clock,
):
    stop = StopSignal()
    before = [stop.half(clock), stop.half(clock)]
    assert before[0] is before[1]
    assert not before[0].is_set()
    stop.stop(8.0)
    assert before[0].is_set()
    assert before[0].deadline == 4.0
    clock.advance(4)
    assert stop.half(clock).deadline == 6.0


@pytest.mark.parametrize("stop", [None, StopSignal()], ids=["none", "without an end"])
def test_half_of_no_time_is_none(clock, stop):
    with running(Context(clock, stop=stop)), reconcile_context.half_of_stop():
        if stop is not None:
            stop.stop()
        assert reconcile_context.seconds_left() is None
    with reconcile_context.half_of_stop():
        assert reconcile_context.current() is None


def test_a_block_can_belong_to_no_reconcile(clock):
    with running(Context(clock, "id", deadline=0.0)):
        with running(None):
            reconcile_context.check()
            assert reconcile_context.reconcile_id() == ""
        assert reconcile_context.reconcile_id() == "id"


def test_a_callback_hears_of_a_stop_that_came_before_it():
    signal, heard = StopSignal(), []
    signal.set()
    with signal.calling(lambda: heard.append(1)):
        assert heard == [1]


def test_a_callback_hears_nothing_after_its_block():
    signal, heard = StopSignal(), []
    with signal.calling(lambda: heard.append(1)):
        pass
    signal.set()
    assert heard == []


def test_either_of_two_signals_ends_a_wait(clock):
    first, second = StopSignal(), StopSignal()
    thread, ended = in_thread(lambda: wait_for_any(clock, first, None, second))
    clock.until_waiting()
    second.set()
    thread.join(10)
    assert ended == [True]
    assert not wait_for_any(clock, first, timeout_seconds=0.0)


def finishing(context, signal):
    with running(context), reconcile_context.finishing():
        return reconcile_context.wait(signal)


def test_what_is_to_be_finished_outlasts_a_stop(clock):
    stop, signal = StopSignal(), StopSignal()
    thread, ended = in_thread(lambda: finishing(Context(clock, stop=stop), signal))
    clock.until_waiting()
    stop.stop(30.0)
    clock.until_waiting()
    signal.set()
    thread.join(10)
    assert ended == [True]


@pytest.mark.parametrize("asked", ["before", "meanwhile"])
def test_what_is_to_be_finished_ends_with_the_stop(clock, asked):
    stop, signal = StopSignal(), StopSignal()
    if asked == "before":
        stop.stop(30.0)
    context = Context(clock, deadline=60.0, stop=stop)
    thread, ended = in_thread(lambda: finishing(context, signal))
    clock.until_waiting()
    stop.stop(30.0)
    clock.until_waiting()
    clock.advance(30)
    thread.join(10)
    assert [type(error) for error in ended] == [StoppedError]


def test_who_does_not_want_to_wait_is_not_told_of_a_stop(clock):
    stop, signal = StopSignal(), StopSignal()
    stop.stop()
    with running(Context(clock, stop=stop)):
        assert not reconcile_context.wait(signal, 0.0)
