"""Admission reviews of several callers, which share a number of slots."""

import threading

import pytest

from asoreconcile.base.clock import SystemClock
from asoreconcile.webhooks.review_work import ReviewWork
from asoreconcile.webhooks.reviews import ReviewError

LIGHT = b'{"a":1}'


@pytest.fixture
def clock():
    made = SystemClock()
    yield made
    made.close()


def test_th7_a_caller_that_floods_the_port_delays_another_by_one_review(clock):
    work = ReviewWork(clock, conversions=1, admissions=2)
    deadline = clock.monotonic() + 30
    order, go, began = [], threading.Semaphore(0), threading.Semaphore(0)

    def review(caller):
        with work.parsing(LIGHT, caller, deadline):
            order.append(caller)
            began.release()
            go.acquire()

    def start(caller):
        thread = threading.Thread(target=review, args=(caller,), daemon=True)
        thread.start()
        return thread

    def waiting(caller):
        return len(work._light._waiting.get(caller, ()))

    flood = [start("stranger") for _ in range(12)]
    for _ in range(2):
        began.acquire()
    while waiting("stranger") < 10:
        flood[0].join(0.001)
    other = start("api server")
    while not waiting("api server"):
        other.join(0.001)
    go.release()
    go.release()
    for _ in range(2):
        began.acquire()
    # Both began at the same time.
    found = sorted(order[2:])
    for _ in range(12):
        go.release()
    for thread in (*flood, other):
        thread.join()
    assert found == ["api server", "stranger"]


def test_th7_a_review_that_gets_no_slot_in_time_is_answered(clock):
    work = ReviewWork(clock, conversions=1, admissions=1)
    with work.parsing(LIGHT, "a", clock.monotonic() + 30):
        with pytest.raises(ReviewError, match="too many reviews at once") as refused:
            work.parsing(LIGHT, "b", clock.monotonic() + 0.01).__enter__()
        assert refused.value.code == 503
    with work.parsing(LIGHT, "b", clock.monotonic() + 0.01):
        pass
