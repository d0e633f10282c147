"""FairSlots go to one caller after the other, and end with their block."""

import threading
from contextlib import ExitStack

import pytest
from applications import until

from asoreconcile.webhooks.review_work import FairSlots, NoSlotError


class Waiting:
    """Threads that wait for a turn each, and note whose turn came."""

    def __init__(self, slots):
        self.slots = slots
        self.order = []
        self.threads = []

    def start(self, *callers):
        for caller in callers:
            thread = threading.Thread(target=self._work, args=(caller,))
            self.threads.append(thread)
            thread.start()
            until(lambda: self._waiting() == len(self.threads))

    def _waiting(self):
        return sum(map(len, self.slots._waiting.values()))

    def _work(self, caller):
        with self.slots.slot(caller, 10):
            self.order.append(caller)

    def finish(self):
        for thread in self.threads:
            thread.join(10)
        return self.order


def test_th7_callers_take_turns_whatever_each_waits_for():
    slots = FairSlots(1)
    waiting = Waiting(slots)
    with slots.slot("flood", 0):
        waiting.start("flood", "flood", "flood", "flood", "b", "c", "b")
    assert waiting.finish() == ["flood", "b", "c", "flood", "b", "flood", "flood"]
    with slots.slot("d", 0):
        pass


def test_th7_a_turn_that_comes_too_late_is_given_up():
    slots = FairSlots(2)
    with ExitStack() as held:
        held.enter_context(slots.slot("a", 0))
        held.enter_context(slots.slot("a", 0))
        with pytest.raises(NoSlotError, match="in time"), slots.slot("b", 0.001):
            pytest.fail("there are two")
    assert slots._waiting == {}
    with slots.slot("b", 0), slots.slot("b", 0):
        pass


def test_th7_one_caller_waits_for_so_many_turns_and_no_more():
    slots = FairSlots(1, most_waiting=2)
    waiting = Waiting(slots)
    with slots.slot("a", 0):
        waiting.start("a", "a")
        with pytest.raises(NoSlotError, match="too many"), slots.slot("a", 10):
            pytest.fail("two wait")
        waiting.start("b")
    assert waiting.finish() == ["a", "b", "a"]


def test_th7_a_turn_ends_with_an_error_too():
    slots = FairSlots(1)
    for _ in range(3):
        with pytest.raises(KeyError), slots.slot("a", 0):
            raise KeyError("broken")
