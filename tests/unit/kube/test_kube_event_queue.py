"""Events are gathered for a moment and then taken together, in order."""

import threading

import pytest
from notedclock import NotedClock

from asoreconcile.kube.event_queue import GATHER_SECONDS, EventQueue


class Taker:
    """The one thread that takes tasks; a test sees which, and when by the clock."""

    def __init__(self, queue, clock):
        self.taken = []
        self._queue, self._clock = queue, clock
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def put(self, name):
        return self._queue.put(lambda: self._take(name))

    def until(self, *names):
        with self._changed:
            return self._changed.wait_for(
                lambda: [name for name, _ in self.taken] == list(names), 10
            )

    def ended(self):
        self._thread.join(10)
        return not self._thread.is_alive()

    def _take(self, name):
        with self._changed:
            self.taken.append((name, self._clock.monotonic()))
            self._changed.notify_all()

    def _run(self):
        while (task := self._queue.next()) is not None:
            task()
        self._queue.end()


@pytest.fixture
def clock():
    return NotedClock()


@pytest.fixture
def queue(clock):
    return EventQueue(clock)


@pytest.fixture
def taker(queue, clock):
    taker = Taker(queue, clock)
    yield taker
    queue.stop()
    assert taker.ended()


def test_what_comes_together_is_taken_together_a_moment_later(taker, clock):
    taker.put("a")
    clock.advance(GATHER_SECONDS / 2)
    taker.put("b")
    clock.advance(GATHER_SECONDS / 2)
    assert taker.until("a", "b")
    assert [at for _, at in taker.taken] == [GATHER_SECONDS] * 2


def test_the_next_ones_are_gathered_again(taker, queue, clock):
    taker.put("a")
    clock.advance(GATHER_SECONDS)
    assert taker.until("a")
    assert queue.flush(10)
    taker.put("b")
    clock.advance(GATHER_SECONDS)
    assert taker.until("a", "b")
    assert taker.taken[1] == ("b", pytest.approx(2 * GATHER_SECONDS))


def test_what_is_gathered_together_has_one_timer(queue, clock):
    for _ in range(2):
        queue.put(lambda: None)
        queue.put(lambda: None)
        clock.advance(GATHER_SECONDS)
    assert clock.due == [GATHER_SECONDS]


def test_what_comes_when_all_was_taken_has_a_timer_of_its_own(taker, queue, clock):
    for number in range(3):
        taker.put(number)
        clock.advance(GATHER_SECONDS)
        assert queue.flush(10)
    assert clock.due == pytest.approx([n * GATHER_SECONDS for n in (1, 2, 3)])


def test_a_timer_that_finds_nothing_lets_the_next_ones_be_gathered(queue, clock):
    for _ in range(500):
        queue.put(lambda: None)
    for _ in range(500):
        queue.next()
    clock.advance(GATHER_SECONDS)
    queue.put(lambda: None)
    assert clock.due == [GATHER_SECONDS, 2 * GATHER_SECONDS]


def test_a_flush_does_not_wait_for_more(taker, queue, clock):
    taker.put("a")
    assert queue.flush(10)
    assert taker.taken == [("a", 0.0)]
    # And not for ever after.
    taker.put("b")
    clock.advance(GATHER_SECONDS)
    assert taker.until("a", "b")
    assert taker.taken[1] == ("b", GATHER_SECONDS)


def test_a_flush_has_nothing_to_wait_for_when_nobody_takes(queue):
    queue.put(lambda: None)
    assert queue.flush(0) is False
    queue.end()
    assert queue.flush(3600) is False


def test_stopping_leaves_nothing_behind(queue, clock):
    taker = Taker(queue, clock)
    taker.put("a")
    queue.stop()
    assert taker.ended()
    assert taker.taken == [("a", 0.0)]


def test_a_queue_that_fills_up_is_taken_from_at_once(taker):
    names = [str(number) for number in range(500)]
    assert all(taker.put(name) for name in names)
    assert taker.until(*names)
    assert {at for _, at in taker.taken} == {0.0}


def test_a_full_queue_takes_no_more(queue):
    for _ in range(1000):
        assert queue.put(lambda: None)
    assert queue.put(lambda: None) is False
    assert len(queue) == 1000
