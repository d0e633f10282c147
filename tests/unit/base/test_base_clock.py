"""The real clock's timers: one thread, in order, and nothing left behind."""

import operator
import random
import threading
import time
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest
from recordedthreads import RecordedThreads

from asoreconcile.base.clock import SystemClock

LONG = 3600.0
PATIENCE = 30.0


@pytest.fixture
def clock():
    return SystemClock()


def in_seconds(clock, seconds, call):
    return clock.call_at(clock.monotonic() + seconds, call)


def heap(clock):
    return clock._timers._heap


def test_monotonic_and_now_are_the_systems(clock):
    before = time.monotonic()
    assert before <= clock.monotonic() <= time.monotonic()
    assert abs(clock.now() - datetime.now(UTC)).total_seconds() < PATIENCE
    assert clock.now().tzinfo is UTC


def test_a_wait_ends_with_the_event_or_with_the_time(clock):
    event = threading.Event()
    assert clock.wait(event, 0.001) is False
    event.set()
    assert clock.wait(event, LONG) is True


@contextmanager
def held(clock):
    """No timer rings inside, and all that are due have rung after it."""
    begun, go_on, over = threading.Event(), threading.Event(), threading.Event()
    in_seconds(clock, 0.0, lambda: begun.set() or go_on.wait(PATIENCE))
    assert begun.wait(PATIENCE)
    yield
    in_seconds(clock, 0.0, over.set)
    go_on.set()
    assert over.wait(PATIENCE)


def test_timers_ring_in_the_order_of_their_deadlines(clock):
    rung = []
    with held(clock):
        for place in (2, 0, 1):
            in_seconds(clock, place - LONG, lambda place=place: rung.append(place))
    assert rung == [0, 1, 2]


def test_those_of_one_deadline_ring_in_the_order_they_were_set(clock):
    rung = []
    with held(clock):
        deadline = clock.monotonic()
        for place in range(5):
            clock.call_at(deadline, lambda place=place: rung.append(place))
    assert rung == [0, 1, 2, 3, 4]


def test_a_timer_does_not_ring_before_its_deadline(clock):
    rung, over = [], threading.Event()
    deadline = clock.monotonic() + 0.02
    clock.call_at(deadline, lambda: (rung.append(clock.monotonic()), over.set()))
    assert over.wait(PATIENCE)
    assert rung[0] >= deadline


def test_an_earlier_timer_wakes_the_thread_that_waits_for_a_later_one(clock):
    over = threading.Event()
    in_seconds(clock, LONG, lambda: None)
    in_seconds(clock, 0.0, over.set)
    assert over.wait(PATIENCE)
    assert len(heap(clock)) == 1


def test_a_cancelled_timer_never_rings(clock):
    rung = []
    with held(clock):
        timer = in_seconds(clock, -1.0, lambda: rung.append(1))
        timer.cancel()
        timer.cancel()
    assert rung == []
    assert (heap(clock), clock._timers._cancelled) == ([], 0)


def test_cancelling_what_has_begun_changes_nothing(clock):
    over = threading.Event()
    timer = in_seconds(clock, 0.0, over.set)
    assert over.wait(PATIENCE)
    timer.cancel()
    assert clock._timers._cancelled == 0


def test_th1_cancelled_timers_do_not_pile_up(clock):
    kept = [in_seconds(clock, LONG, lambda: None) for _ in range(10)]
    for number in range(10_000):
        in_seconds(clock, LONG + number, lambda: None).cancel()
        assert len(heap(clock)) < 100
    live = [entry for _, _, entry in heap(clock) if entry.call is not None]
    assert live == kept
    over = threading.Event()
    in_seconds(clock, 0.0, over.set)
    assert over.wait(PATIENCE)


def test_th1_what_is_left_when_cancelled_timers_were_swept_out_is_in_order(clock):
    numbers = random.Random(7)
    delays = [LONG * (1 + numbers.random()) for _ in range(400)]
    made = [in_seconds(clock, delay, int) for delay in delays]
    for timer in made[:350]:
        timer.cancel()
        with clock._timers._changed:  # its thread takes cancelled ones off the top
            slots = list(heap(clock))
            counted = clock._timers._cancelled
        assert counted == sum(entry.call is None for _, _, entry in slots)
        deadlines = [deadline for deadline, _, _ in slots]
        parents = [deadlines[place // 2] for place in range(len(slots) - 1)]
        assert all(map(operator.le, parents, deadlines[1:]))
    assert len(slots) < 400


def test_a_call_that_raises_is_logged_and_ends_nothing(clock, caplog):
    over = threading.Event()
    in_seconds(clock, 0.0, lambda: 1 / 0)
    in_seconds(clock, 0.0, over.set)
    assert over.wait(PATIENCE)
    assert [record.msg for record in caplog.records] == ["Timer call failed"]
    assert "ZeroDivisionError" in caplog.text


def test_a_thread_that_could_not_be_started_is_started_for_the_next_timer(
    clock, monkeypatch
):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="can't start"):
            in_seconds(clock, 0.0, lambda: None)
    assert heap(clock) == []
    over = threading.Event()
    in_seconds(clock, 0.0, over.set)
    assert over.wait(PATIENCE)


def test_th1_a_clock_that_is_closed_leaves_no_timer_and_no_thread():
    threads, rung = RecordedThreads(), threading.Event()
    clock = SystemClock(start_thread=threads.start)
    forgotten = in_seconds(clock, LONG, rung.set)
    clock.close()
    assert threads.ended(PATIENCE)
    assert heap(clock) == []
    forgotten.cancel()
    assert not rung.is_set()


def test_th1_a_timer_after_the_close_has_a_thread_again():
    threads, rung = RecordedThreads(), threading.Event()
    clock = SystemClock(start_thread=threads.start)
    in_seconds(clock, LONG, rung.set)
    clock.close()
    clock.close()
    in_seconds(clock, 0.0, rung.set)
    assert rung.wait(PATIENCE)
    clock.close()
    assert threads.ended(PATIENCE)
    assert len(threads.started) == 2


def test_th1_a_timer_that_rings_may_close_its_clock():
    threads = RecordedThreads()
    clock = SystemClock(start_thread=threads.start)
    in_seconds(clock, 0.0, clock.close)
    assert threads.ended(PATIENCE)
