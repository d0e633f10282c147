"""What waits for its time: the heap of moments, the alarm over it, the numbers."""

import random

import pytest

from asoreconcile.queue.deadline_timer import DeadlineTimer
from asoreconcile.queue.entry_heap import EntryHeap
from asoreconcile.queue.priority_queue import MAX_LABELS
from asoreconcile.queue.queue_item import QueueItem, State
from asoreconcile.queue.queue_state import NEVER, QueueState, snapshot_of
from asoreconcile.testing.clock import FakeClock


def pushed(heap, key, at):
    entry = QueueItem(key, 0, 0.0)
    entry.order = 0
    heap.push(at, entry)
    return entry


def stale(heap):
    return sum(slot[2].state is State.GONE for slot in heap._slots)


def test_what_is_due_at_one_moment_comes_in_the_order_it_was_put_there():
    heap = EntryHeap()
    for key in "cab":
        pushed(heap, key, 5.0)
    assert [heap.pop().key for _ in range(3)] == ["c", "a", "b"]


def test_th1_slots_of_entries_that_are_gone_are_swept_out_and_the_order_stays():
    heap = EntryHeap()
    entries = {number: pushed(heap, number, float(number)) for number in range(200)}
    numbers = random.Random(7)
    moments = {number: float(number) for number in entries}
    for _ in range(2_000):
        number, at = numbers.randrange(200), numbers.randrange(1_000) + 0.5
        successor = heap.remove(entries[number])
        heap.push(at, successor)
        entries[number], moments[number] = successor, at
        assert len(heap._slots) - heap.live == stale(heap)
        assert len(heap._slots) <= 2 * len(entries) + 65
        assert heap.first() == min(moments.values())
    due = [moments[heap.pop().key] for _ in entries]
    assert due == sorted(moments.values())
    assert (heap.live, heap.first()) == (0, None)


class LateClock(FakeClock):
    """Its timers may ring though they were cancelled: they had begun."""

    def __init__(self):
        super().__init__()
        self.set = []

    def call_at(self, deadline, call):
        self.set.append((deadline, call))
        return super().call_at(deadline, call)


def test_dq4_a_ring_that_was_overtaken_leaves_the_alarm_set():
    clock, rung = LateClock(), []
    alarm = DeadlineTimer(clock, lambda: rung.append(clock.monotonic()))
    start = clock.monotonic()
    alarm.set(start + 10.0)
    alarm.set(start + 5.0)
    clock.set[0][1]()
    alarm.set(start + 7.0)
    assert [deadline - start for deadline, _ in clock.set] == [10.0, 5.0]
    clock.advance(20.0)
    assert rung == [start, start + 5.0]


def test_an_alarm_that_was_cancelled_can_be_set_to_a_later_moment():
    clock, rung = FakeClock(), []
    alarm = DeadlineTimer(clock, lambda: rung.append(1))
    alarm.set(clock.monotonic() + 5.0)
    alarm.cancel()
    alarm.set(clock.monotonic() + 7.0)
    clock.advance(6.0)
    assert rung == []
    clock.advance(1.0)
    assert rung == [1]


def test_a_key_taken_after_the_scrape_read_the_time_has_no_negative_age():
    agenda = QueueState(None, 0)
    agenda.admit("a", 0, 5.0, 5.0, NEVER)
    agenda.ready.pop().taken_at = 6.0
    numbers = snapshot_of(agenda, now=5.5, retries=0)
    assert (numbers.unfinished_seconds, numbers.longest_seconds) == (0.0, 0.0)


@pytest.mark.parametrize("more", [0, 2])
def test_the_label_of_the_others_is_there_once_all_labels_are_taken(more):
    """A series that comes and goes is a gap in every graph."""
    agenda = QueueState(None, 0)
    for priority in range(MAX_LABELS - 1):
        agenda.admit(priority, priority, 0.0, 0.0, NEVER)
    assert len(snapshot_of(agenda, now=0.0, retries=0).depth) == MAX_LABELS - 1
    for priority in range(100, 101 + more):
        agenda.admit(priority, priority, 0.0, 0.0, NEVER)
    depth = snapshot_of(agenda, now=0.0, retries=0).depth
    assert depth["exceeded_cardinality_limit"] == more
    assert sum(depth.values()) == MAX_LABELS + more
