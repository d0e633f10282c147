"""Watches on shared threads: woken, paused, dead and stopped, between any two steps."""

import random
import threading
from unittest import mock

from interleaving import Interleaving, seeds

from asoreconcile.base.threads import Threads
from asoreconcile.cache.watch_workers import WatchWorkers
from asoreconcile.testing.clock import FakeClock


class Pool(Threads):
    """Its threads are those of the schedule, which run from the start."""

    def start(self, name, target, **_):
        pass


class Watch:
    """Takes what comes, waits, pauses or dies as the dice say, and notes what is wrong."""

    def __init__(self, dice, switch):
        self.dice, self.switch = dice, switch
        self.stopping = threading.Event()
        self.came, self.taken = [], []
        self.wake = lambda: None
        self.is_running = self.is_over = False
        self.generators = []
        self.wrong = []

    def make(self, wake):
        self.wake = wake
        made = self.steps()
        self.generators.append(made)
        return made

    def steps(self):
        while not self.stopping.is_set():
            if self.is_running or self.is_over:
                self.wrong.append("run twice" if self.is_running else "run after all")
            self.is_running = True
            self.switch()
            self.taken += self.came[len(self.taken) :]
            self.switch()
            self.is_running = False
            chance = self.dice.random()
            if chance < 0.15:
                raise ValueError("dead")
            if len(self.taken) < len(self.came):
                continue
            yield 1.0 if chance < 0.3 else None


def test_th9_a_watch_takes_all_that_comes_and_its_end_leaves_nothing():
    for seed in seeds(60):
        interleaving, dice = Interleaving(seed), random.Random(seed)
        with interleaving.locks():
            clock = FakeClock()
            threads = Pool(clock)
            workers = WatchWorkers(clock=clock, threads=threads)
            watches = [Watch(dice, interleaving.switch) for _ in range(2)]
            for watch in watches:
                watch.task = workers.start("watch", watch.make, stopping=watch.stopping)  # type: ignore[attr-defined]

        def until(done, clock=clock, interleaving=interleaving):
            for _ in range(10_000):
                if done():
                    return
                clock.advance(1.0)
                interleaving.switch()
            raise AssertionError("it never is")

        def live(watch, dice=dice, until=until, clock=clock):
            for number in range(dice.randrange(6)):
                watch.came.append(number)
                watch.wake()
                if dice.random() < 0.5:
                    clock.advance(0.5)
            if dice.random() < 0.5:
                until(lambda: watch.taken == watch.came)
            watch.stopping.set()
            watch.task.wake()
            until(lambda: watch.task.join(0))
            watch.is_over = True

        def lives(watches=watches, live=live, workers=workers):
            live(watches[0])
            live(watches[1])
            workers.stop()

        with (
            interleaving.locks(),
            mock.patch("asoreconcile.base.threads._log"),
        ):
            interleaving.run(lives, workers._work, workers._work)
        told = f"seed {seed}"
        assert [watch.wrong for watch in watches] == [[], []], told
        assert threads.down() == [], told
        for watch in watches:
            assert all(one.gi_frame is None for one in watch.generators), told
        assert not workers._due, told
