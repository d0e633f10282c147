"""Keys and events on their way from many threads to those that work on them."""

import random
from functools import partial

from interleaving import Interleaving, seeds

from asoreconcile.kube.event_queue import EventQueue
from asoreconcile.queue.workqueue import WorkQueue
from asoreconcile.testing.clock import FakeClock

KEYS = ("a", "b", "c")


class Work:
    """The requested and the done work by key: all is done, by one worker at a time."""

    def __init__(self, interleaving, seed):
        self.interleaving, self.dice = interleaving, random.Random(seed)
        with interleaving.locks():
            self.clock = FakeClock()
            self.queue = WorkQueue("race", clock=self.clock)
        self.wanted = dict.fromkeys(KEYS, 0)
        self.seen = dict.fromkeys(KEYS, 0)
        self.held = set()
        self.adding = 2

    def add(self):
        for _ in range(8):
            key, chance = self.dice.choice(KEYS), self.dice.random()
            self.wanted[key] += 1
            if chance < 0.4:
                self.queue.add(key, priority=self.dice.choice((-100, 0, 10)))
            elif chance < 0.7:
                wait, hold = self.dice.choice((0, 1, 3)), self.dice.random() < 0.5
                self.queue.add_after(key, wait, not_before=hold)
            else:
                self.queue.add_rate_limited(key, hold_seconds=self.dice.choice((0, 2)))
        self.adding -= 1

    def work(self):
        while (item := self.queue.get()) is not None:
            assert item.key not in self.held, "one key, two workers"
            self.held.add(item.key)
            self.seen[item.key] = self.wanted[item.key]
            self.interleaving.switch()
            self.held.remove(item.key)
            self.queue.done(item.key)

    def go_on(self):
        for _ in range(10_000):
            self.clock.advance(0.5)
            if not self.adding and self.seen == self.wanted:
                break
            self.interleaving.switch()
        self.queue.shut_down()


def test_wq5_each_key_that_is_added_is_worked_on_after_that_by_one_at_a_time():
    for seed in seeds(25):
        interleaving = Interleaving(seed)
        work = Work(interleaving, seed)
        interleaving.run(work.add, work.add, work.work, work.work, work.go_on)
        assert work.seen == work.wanted, f"seed {seed}"
        assert len(work.queue) == 0
        assert work.queue._state.entries == {}, f"seed {seed}"


def test_each_event_is_written_once_and_a_flush_waits_for_those_before_it():
    for seed in seeds(25):
        interleaving, dice = Interleaving(seed), random.Random(seed)
        with interleaving.locks():
            clock = FakeClock()
            events = EventQueue(clock)
        written, ended = [], []

        def record(name, events=events, clock=clock, dice=dice, written=written):
            for number in range(5):
                assert events.put(partial(written.append, (name, number)))
                if dice.random() < 0.3:
                    clock.advance(0.1)
                if dice.random() < 0.3:
                    assert events.flush(1e9)
                    mine = [n for who, n in written if who == name]
                    assert mine == list(range(number + 1))

        def write(events=events, interleaving=interleaving):
            while (task := events.next()) is not None:
                interleaving.switch()
                task()

        def last(record=record, events=events, ended=ended):
            record("last")
            ended.append(True)

        def end(events=events, ended=ended, clock=clock, interleaving=interleaving):
            while len(ended) < 2:
                clock.advance(0.05)
                interleaving.switch()
            events.stop()

        def first(record=record, ended=ended):
            record("first")
            ended.append(True)

        interleaving.run(first, last, write, end)
        assert sorted(written) == [(w, n) for w in ("first", "last") for n in range(5)]
