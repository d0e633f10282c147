"""Priorities, merging, fairness and ageing."""

import random
import sys

import pytest
from readyslots import ready_slots

from asoreconcile.queue.queue_item import State
from asoreconcile.queue.workqueue import LOW_PRIORITY, Item, WorkQueue


@pytest.fixture
def queue(clock):
    return WorkQueue("test", clock=clock)


def take(queue):
    keys = []
    while len(queue):
        item = queue.get()
        queue.done(item.key)
        keys.append(item.key)
    return keys


def test_pq1_higher_priority_comes_first_and_the_default_is_zero(queue):
    queue.add("low", priority=LOW_PRIORITY)
    queue.add("default")
    queue.add("high", priority=1)
    assert [queue.get() for _ in range(3)] == [
        Item("high", 1),
        Item("default", 0),
        Item("low", -100),
    ]


def test_pq2_merging_keeps_the_earlier_time_and_the_higher_priority(queue, clock):
    queue.add_after("a", 10, priority=1)
    queue.add_after("a", 5, priority=-1)
    queue.add_after("a", 20, priority=7)
    clock.advance(5)
    assert queue.get() == Item("a", 7)


def test_pq3_a_raised_key_goes_to_the_tail_of_its_new_priority(queue):
    queue.add("a")
    queue.add("b", priority=5)
    queue.add("a", priority=5)
    assert take(queue) == ["b", "a"]


def test_pq3_ready_by_time_goes_to_the_tail(queue, clock):
    queue.add_after("a", 1)
    queue.add("b")
    clock.advance(1)
    assert take(queue) == ["b", "a"]


def test_pq3_the_tail_that_done_gives_is_behind_what_waited_since(queue):
    queue.add("a")
    queue.get()
    queue.add("a")
    queue.add_after("b", 60)
    queue.done("a")
    queue.add("b")
    assert take(queue) == ["b", "a"]


@pytest.mark.parametrize("groups", [1, 3])
def test_pq3_waiting_keys_made_ready_in_any_order_keep_their_places(clock, groups):
    queue = WorkQueue("test", clock=clock, fairness=lambda key: key % groups)
    for key in range(30):
        queue.add_after(key, 60)
    for key in random.Random(1).sample(range(30), 30):
        queue.add(key)
    taken = take(queue)
    for group in range(groups):
        assert [key for key in taken if key % groups == group] == [*range(30)][
            group::groups
        ]


def test_pq3_waiting_keys_made_ready_in_any_order_cost_the_same_each(clock):
    """The last first, which once was a walk past all others, under the queue's lock."""

    def lines_run(count):
        queue = WorkQueue("test", clock=clock)
        for key in range(count):
            queue.add_after(key, 60)
        lines = 0

        def count_line(_frame, event, _arg):
            nonlocal lines
            lines += event == "line"
            return count_line

        traced = sys.gettrace()
        sys.settrace(count_line)
        try:
            for key in reversed(range(count)):
                queue.add(key)
            taken = [queue.get().key for _ in range(count)]
        finally:
            sys.settrace(traced)
        assert taken == [*range(count)]
        return lines

    assert lines_run(2_000) < 1.2 * 10 * lines_run(200)


def test_pq5_a_key_added_while_held_is_skipped_until_done(queue):
    queue.add("a", priority=9)
    queue.get()
    queue.add("a", priority=9)
    queue.add("b")
    assert queue.get() == Item("b", 0)
    queue.done("a")
    assert queue.get() == Item("a", 9)


def test_pq6_length_counts_ready_keys_that_are_held_but_none_that_wait(queue):
    queue.add("a")
    queue.get()
    queue.add("a")
    queue.add_after("b", 5)
    assert len(queue) == 1


def test_pq8_queued_keys_survive_a_shutdown_in_their_order(queue):
    queue.add("a")
    queue.add("b", priority=1)
    queue.shut_down()
    queue.shut_down()
    assert [queue.get().key, queue.get().key, queue.get()] == ["b", "a", None]


def test_pq9_an_add_is_seen_by_the_next_get(queue):
    for number in range(100):
        queue.add(number, priority=number)
        assert queue.get() == Item(number, number)


def test_pq10_a_steady_stream_of_urgent_keys_starves_nobody(clock):
    queue = WorkQueue("test", clock=clock, oldest_every=4)
    queue.add("patient", priority=LOW_PRIORITY)
    picks = []
    for number in range(6):
        queue.add(number)
        queue.add(number + 100)
        picks.append(queue.get().key)
    assert picks == [0, 100, 1, "patient", 101, 2]


def test_pq10_the_oldest_of_several_low_keys_goes_first(clock):
    queue = WorkQueue("test", clock=clock, oldest_every=2)
    for key in ("first", "second"):
        queue.add(key, priority=LOW_PRIORITY)
    for number in range(4):
        queue.add(number)
    assert take(queue) == [0, "first", 1, "second", 2, 3]


def test_pq10_the_oldest_is_not_a_key_that_was_put_off(clock):
    queue = WorkQueue("test", clock=clock, oldest_every=2)
    queue.add("put off", priority=LOW_PRIORITY)
    queue.add("older", priority=-50)
    queue.add("younger", priority=LOW_PRIORITY)
    queue.add_after("put off", 60, not_before=True)
    for number in range(3):
        queue.add(number)
    assert [queue.get().key for _ in range(4)] == [0, "older", 1, "younger"]


def test_pq10_by_default_every_16th_pick_is_the_oldest(clock):
    queue = WorkQueue("named", clock=clock)
    assert queue.name == "named"
    queue.add("low", priority=LOW_PRIORITY)
    for number in range(20):
        queue.add(number)
    assert take(queue).index("low") == 15


def test_pq10_only_picks_that_pass_over_a_lower_key_count(clock):
    queue = WorkQueue("test", clock=clock, oldest_every=3)
    for number in range(2):
        queue.add(number)
    assert take(queue) == [0, 1]
    queue.add("low", priority=LOW_PRIORITY)
    for number in range(4):
        queue.add(number)
    assert take(queue) == [0, 1, "low", 2, 3]


def test_pq10_can_be_switched_off(clock):
    queue = WorkQueue("test", clock=clock, oldest_every=0)
    queue.add("low", priority=LOW_PRIORITY)
    for number in range(100):
        queue.add(number)
    assert take(queue) == [*range(100), "low"]


def test_pq11_groups_of_one_priority_take_turns(clock):
    queue = WorkQueue("test", clock=clock, fairness=lambda key: key[0])
    for key in ("a1", "a2", "a3", "a4", "b1", "b2", "c1"):
        queue.add(key)
    assert take(queue) == ["a1", "b1", "c1", "a2", "b2", "a3", "a4"]


def test_pq11_priority_comes_before_fairness(clock):
    queue = WorkQueue("test", clock=clock, fairness=lambda key: key[0])
    for key in ("a1", "b1"):
        queue.add(key)
    for key in ("a2", "a3"):
        queue.add(key, priority=1)
    assert take(queue) == ["a2", "a3", "a1", "b1"]


def slots(queue):
    """Of every group, as the entries they hold."""
    return ready_slots(queue._ready)


def stale(queue):
    return sum(entry.state is State.GONE for entry in slots(queue))


def test_th1_stale_slots_are_swept_out_of_every_group(clock):
    queue = WorkQueue("test", clock=clock, fairness=lambda key: key % 3, oldest_every=0)
    for key in (-3, -6, -2):
        queue.add(key)
    for number in range(0, 3000, 3):
        for key in (number, number + 2):
            queue.add(key)
            queue.add(key, priority=1)
        for _ in range(2):
            queue.done(queue.get().key)
        assert stale(queue) < 100
    for key in (3, 4, 5):
        queue.add(key)
    assert take(queue) == [-3, -2, 5, -6, 4, 3]


def test_th1_groups_left_without_any_key_are_swept_with_their_slots(clock):
    queue = WorkQueue("test", clock=clock, fairness=lambda key: key, oldest_every=0)
    for key in range(200):
        queue.add(key)
    urgent = [*range(69, 199), *range(10)]
    for key in urgent:
        queue.add(key, priority=1)
    assert stale(queue) == 0
    assert take(queue) == [*urgent, *range(10, 69), 199]


def test_th1_a_priority_that_is_empty_begins_anew(clock):
    queue = WorkQueue("test", clock=clock, fairness=lambda key: key[0])
    queue.add("a1")
    queue.add_after("a1", 60, not_before=True)
    assert slots(queue) == []
    for key in ("b1", "a2", "b2"):
        queue.add(key)
    assert (len(slots(queue)), stale(queue)) == (3, 0)
    assert take(queue) == ["b1", "a2", "b2"]
