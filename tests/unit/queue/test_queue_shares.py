"""A busy namespace leaves a worker to the others: whole runs in virtual time."""

import heapq
import itertools
import random

import pytest

from asoreconcile.queue.worker_shares import SHARE_SECONDS, WorkerShares
from asoreconcile.queue.workqueue import LOW_PRIORITY, WorkQueue
from asoreconcile.testing.clock import FakeClock


class Kind:
    """A queue with its workers, each of which is busy until a time of the fake clock.

    steps: the steps that each key needs: how long its worker works, and after how long
    it is to be looked at again. A busy namespace's key needs work for ever.
    """

    def __init__(self, clock, shares, workers):
        self.clock, self.workers, self.busy = clock, workers, []
        self.queue = WorkQueue(
            "kind",
            clock=clock,
            fairness=lambda key: key[0],
            shares=shares,
            workers=workers,
        )
        self.order = itertools.count()
        self.steps, self.finished_at, self.running = {}, {}, {}

    def apply(self, key, steps, **options):
        self.steps[key] = list(steps)
        self.queue.add(key, **options)

    def assign(self):
        """Give keys to idle workers, as `get` does for threads."""
        while len(self.busy) < self.workers:
            now = self.clock.monotonic()
            with self.queue._lock:
                entry = self.queue._take(now)
                if entry is None:
                    return
                entry.taken_at = now
                key = entry.key
            seconds, again = self.steps[key][0]
            self.running[key[0]] = self.running.get(key[0], 0) + 1
            heapq.heappush(self.busy, (now + seconds, next(self.order), key, again))

    def run_until(self, end, key=None):
        """Run until a time, or until a key is done."""
        while self.clock.monotonic() < end and key not in self.finished_at:
            self.assign()
            next_done = self.busy[0][0] if self.busy else end
            step = min(next_done - self.clock.monotonic(), 0.25)
            self.clock.advance(max(step, 0.0) if self.busy else 0.25)
            while self.busy and self.busy[0][0] <= self.clock.monotonic():
                self.end(*heapq.heappop(self.busy)[2:])

    def end(self, key, again):
        self.running[key[0]] -= 1
        steps = self.steps[key]
        if len(steps) > 1 or again is None:
            steps.pop(0)
        if steps:
            self.queue.add_after(key, again)
        else:
            self.finished_at[key] = self.clock.monotonic()
        self.queue.done(key)


def busy(kind, namespace, count, longest, seed, **options):
    chance = random.Random(seed)
    for number in range(count):
        seconds = longest * chance.uniform(0.5, 1.0)
        # For ever: failing, slow, and back after a moment.
        kind.apply((namespace, number), [(seconds, 0.1)], **options)


STEPS = [(0.2, 0.0), (0.3, 2.0), (0.3, 5.0), (0.3, 5.0), (0.2, None)]
ALONE = sum(seconds + (again or 0) for seconds, again in STEPS)


@pytest.mark.parametrize("longest", [0.5, 10.0, 57.0])
@pytest.mark.parametrize("attackers", [1, 3])
@pytest.mark.parametrize("seed", range(3))
def test_pq12_one_object_is_ready_after_its_own_time_and_one_longest_call(
    longest, attackers, seed
):
    clock = FakeClock()
    kind = Kind(clock, WorkerShares(clock), workers=4)
    for number in range(attackers):
        busy(kind, f"busy-{number}", 500 // attackers, longest, seed, priority=1)
    kind.run_until(3 * longest)
    began = clock.monotonic()
    # Less urgent than all of the others: a resync after a start.
    kind.apply(("small", 0), STEPS, priority=LOW_PRIORITY)
    kind.run_until(began + 100 * longest + 1000, ("small", 0))
    took = kind.finished_at["small", 0] - began
    # A quarter of a second is the grain of this run, for each step.
    assert took <= ALONE + longest + 0.25 * len(STEPS), took


def test_pq12_without_others_a_busy_namespace_has_all_workers():
    clock = FakeClock()
    kind = Kind(clock, WorkerShares(clock), workers=4)
    busy(kind, "busy", 20, 5.0, seed=1)
    kind.run_until(60.0)
    kind.assign()
    assert kind.running["busy"] == 4
    kind.apply(("small", 0), [(0.1, None)])
    kind.run_until(clock.monotonic() + 20.0)
    kind.assign()
    assert kind.running["busy"] == 3  # for a while, one is kept free
    kind.run_until(clock.monotonic() + 90.0)
    kind.assign()
    assert kind.running["busy"] == 4


def test_pq12_use_counts_over_all_queues_and_is_forgotten():
    clock = FakeClock()
    shares = WorkerShares(clock)
    kinds = [Kind(clock, shares, workers=2) for _ in range(2)]
    kinds[0].apply(("busy", 0), [(SHARE_SECONDS + 1, None)])
    kinds[0].run_until(10.0)
    assert list(shares.above()) == ["busy"]
    other = kinds[1]
    other.apply(("small", 0), [(0.1, None)])
    other.run_until(clock.monotonic() + 1)
    for number in range(3):
        other.apply(("busy", number), [(100.0, None)])
    other.assign()
    assert other.running["busy"] == 1
    other.run_until(clock.monotonic() + 2000.0)
    assert len(other.finished_at) == 4
    assert not shares.above()


def test_pq12_with_one_worker_a_busy_namespace_waits_while_others_have_work():
    clock = FakeClock()
    kind = Kind(clock, WorkerShares(clock), workers=1)
    busy(kind, "busy", 10, 3.0, seed=2, priority=5)
    kind.run_until(20.0)
    for number in range(5):
        kind.apply((f"small-{number}", 0), [(0.1, None)])
    began = clock.monotonic()
    kind.run_until(began + 3.0 + 5 * 0.4)
    assert len(kind.finished_at) == 5


def test_pq12_with_one_worker_many_small_namespaces_do_not_starve_a_busy_one():
    clock = FakeClock()
    kind = Kind(clock, WorkerShares(clock), workers=1)
    busy(kind, "busy", 1, 5.0, seed=3)
    kind.run_until(10.0)
    for number in range(200):
        kind.apply((f"small-{number}", 0), [(0.25, 0.0)])
    served = 0
    for _ in range(100):
        kind.run_until(clock.monotonic() + 0.25)
        served += kind.running.get("busy", 0)
    assert served


@pytest.mark.parametrize("seed", range(5))
def test_pq12_no_ready_key_waits_for_ever(seed):
    chance = random.Random(seed)
    clock = FakeClock()
    shares = WorkerShares(clock)
    kinds = [Kind(clock, shares, workers=chance.randint(1, 5)) for _ in range(2)]
    for kind in kinds:
        for number in range(100):
            key = (f"n{chance.randrange(6)}", number)
            steps = [
                (chance.expovariate(0.3), chance.choice([0, 1, 30]))
                for _ in range(chance.randint(1, 4))
            ]
            steps[-1] = (steps[-1][0], None)
            kind.apply(key, steps, priority=chance.randint(-2, 2))
    for _ in range(20_000):
        for kind in kinds:
            kind.run_until(clock.monotonic() + 0.25)
        if all(len(kind.finished_at) == len(kind.steps) for kind in kinds):
            break
    assert [len(kind.finished_at) for kind in kinds] == [
        len(kind.steps) for kind in kinds
    ]
