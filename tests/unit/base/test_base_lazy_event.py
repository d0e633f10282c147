"""Events that are small until somebody waits: in all else as `threading.Event`."""

import sys
import threading
import tracemalloc

import pytest

from asoreconcile.base.lazy_event import LazyEvent

LONG = 30.0


@pytest.fixture(params=[LazyEvent, threading.Event])
def event(request):
    return request.param()


@pytest.fixture
def impatient():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def waiting(event, count=1):
    """Threads that wait for it, and what each was told."""
    told, ready = [], threading.Barrier(count + 1)

    def wait():
        ready.wait()
        told.append(event.wait(LONG))

    threads = [threading.Thread(target=wait) for _ in range(count)]
    for thread in threads:
        thread.start()
    ready.wait()
    return threads, told


def test_it_is_unset_until_it_is_set_and_again_once_cleared(event):
    assert (event.is_set(), event.wait(0)) == (False, False)
    event.set()
    event.set()
    assert (event.is_set(), event.wait(), event.wait(0)) == (True, True, True)
    event.clear()
    assert (event.is_set(), event.wait(0.001)) == (False, False)


def test_all_that_wait_are_woken(event):
    threads, told = waiting(event, 8)
    event.set()
    for thread in threads:
        thread.join(LONG)
    assert told == [True] * 8


def test_who_waits_again_after_a_clear_is_woken_again(event):
    for _ in range(20):
        threads, told = waiting(event)
        event.set()
        threads[0].join(LONG)
        assert told == [True]
        event.clear()


@pytest.mark.usefixtures("impatient")
def test_no_wake_is_lost_between_the_look_and_the_wait():
    for _ in range(300):
        event = LazyEvent()
        threads, told = waiting(event, 3)
        event.set()
        for thread in threads:
            thread.join(LONG)
        assert told == [True] * 3


def test_what_nobody_waits_for_is_small():
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        events = [LazyEvent() for _ in range(1000)]
        for event in events:
            event.set()
            event.clear()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (after - before) / len(events) < 250
    assert repr(events[0]) == "<LazyEvent: unset>"
