"""Keys that wait: delays, holds, and the one timer behind them."""

import pytest

from asoreconcile.base.backoff import ItemExponential
from asoreconcile.base.errors import RetryError
from asoreconcile.queue.workqueue import WorkQueue
from asoreconcile.testing.clock import FakeClock


class CountingClock(FakeClock):
    """Counts the timers that are set and not cancelled or run."""

    def __init__(self):
        super().__init__()
        self.armed = []

    def call_at(self, deadline, call):
        timer = super().call_at(deadline, call)
        self.armed.append((deadline, timer))
        return timer

    def pending(self):
        return [
            deadline
            for deadline, timer in self.armed
            if not timer.cancelled and deadline > self.monotonic()
        ]


@pytest.fixture
def clock():
    return CountingClock()


@pytest.fixture
def queue(clock):
    limiter = ItemExponential(1.0, 60.0, clock=clock)
    return WorkQueue("test", clock=clock, limiter=limiter)


def take(queue):
    keys = []
    while len(queue):
        item = queue.get()
        queue.done(item.key)
        keys.append(item.key)
    return keys


def test_dq1_a_waiting_key_is_ready_at_its_time_and_not_earlier(queue, clock):
    queue.add_after("a", 5)
    clock.advance(4.999)
    assert len(queue) == 0
    clock.advance(0.001)
    assert take(queue) == ["a"]
    clock.advance(100)
    assert len(queue) == 0


def test_dq1_keys_become_ready_in_the_order_of_their_times(queue, clock):
    for key, delay in (("c", 3), ("a", 1), ("b", 2)):
        queue.add_after(key, delay)
    clock.advance(5)
    assert take(queue) == ["a", "b", "c"]


def test_dq2_a_direct_add_takes_the_waiting_entry_with_it(queue, clock):
    queue.add_after("a", 5)
    queue.add("a")
    assert take(queue) == ["a"]
    clock.advance(10)
    assert len(queue) == 0, "it must not run twice"


def test_dq3_shutdown_drops_what_waits(queue, clock):
    queue.add_after("a", 5)
    queue.shut_down()
    clock.advance(10)
    assert queue.get() is None


def test_pq4_a_key_that_an_event_brings_forward_is_ready_when_its_hold_ends(clock):
    queue = WorkQueue("test", clock=clock, limiter=ItemExponential(60, 60, clock=clock))
    queue.add_rate_limited("a", hold_seconds=5)
    queue.add("a")
    clock.advance(5)
    assert take(queue) == ["a"]


def test_dq4_one_timer_is_armed_for_the_earliest_key(queue, clock):
    for delay in (30, 20, 10, 40):
        queue.add_after(delay, delay)
    assert clock.pending() == [10]
    clock.advance(10)
    assert clock.pending() == [20]
    queue.shut_down()
    assert clock.pending() == []


def test_dq4_many_replaced_delays_do_not_pile_up(queue, clock):
    for step in range(10_000):
        queue.add_after("a", 20_000 - step)
    assert len(queue._state.delayed._slots) < 100
    clock.advance(10_001)
    assert take(queue) == ["a"]


def test_rl1_a_rate_limited_add_waits_as_the_limiter_says(queue, clock):
    queue.add_rate_limited("a")
    clock.advance(1)
    assert take(queue) == ["a"]
    queue.add_rate_limited("a")
    clock.advance(1)
    assert len(queue) == 0
    clock.advance(1)
    assert take(queue) == ["a"]
    assert queue.retries("a") == 2
    queue.forget("a")
    assert queue.retries("a") == 0


def test_rl1_the_default_limiter_is_5_ms_doubling_to_1000_s(clock):
    queue = WorkQueue("test", clock=clock)
    delays = []
    for _ in range(25):
        queue.add_rate_limited("a")
        delays.append(queue._state.entries["a"].ready_at - clock.monotonic())
        clock.advance(1000)
        take(queue)
    assert delays[:3] == pytest.approx([0.005, 0.01, 0.02])
    assert delays[-1] == pytest.approx(1000)


def test_rl3_the_limiter_sees_the_error(queue, clock):
    queue.add_rate_limited("a", error=RetryError("busy", after_seconds=30))
    clock.advance(29)
    assert len(queue) == 0
    clock.advance(1)
    assert len(queue) == 1


def test_a_hold_is_not_beaten_by_an_add(queue, clock):
    queue.add_after("a", 30, not_before=True)
    queue.add("a", priority=5)
    queue.add_after("a", 1)
    clock.advance(29)
    assert len(queue) == 0
    clock.advance(1)
    assert queue.get() == ("a", 5)


def test_a_hold_given_while_the_key_is_held_beats_the_add_that_came_meanwhile(
    queue, clock
):
    queue.add("a")
    queue.get()
    queue.add("a")
    queue.add_rate_limited("a", hold_seconds=30)
    queue.done("a")
    assert len(queue) == 0
    clock.advance(30)
    assert take(queue) == ["a"]


def test_a_hold_without_a_delay_ends_by_itself(clock):
    class AtOnce:
        def delay(self, key, error):
            return 0.0

    queue = WorkQueue("test", clock=clock, limiter=AtOnce())
    queue.add_rate_limited("a", hold_seconds=5.0)
    clock.advance(4.0)
    assert len(queue) == 0
    clock.advance(1.0)
    assert take(queue) == ["a"]
