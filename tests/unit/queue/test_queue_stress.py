"""Many threads on one queue: nothing lost, nothing handed out twice, no deadlock."""

import random
import sys
import threading
import tracemalloc
from functools import partial

import pytest

from asoreconcile.base.clock import SystemClock
from asoreconcile.queue.workqueue import WorkQueue
from asoreconcile.testing.clock import FakeClock


@pytest.fixture
def impatient_interpreter():
    """Threads switch far more often than they would, to shake out races (TH-11)."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


class Workers:
    """Threads that take keys, and note any key two of them hold at once."""

    def __init__(self, queue, count):
        self.queue = queue
        self.lock = threading.Lock()
        self.held = set()
        self.twice = []
        self.seen = []
        self.threads = [threading.Thread(target=self.work) for _ in range(count)]
        for thread in self.threads:
            thread.start()

    def work(self):
        while (item := self.queue.get()) is not None:
            with self.lock:
                if item.key in self.held:
                    self.twice.append(item.key)
                self.held.add(item.key)
                self.seen.append(item)
            with self.lock:
                self.held.discard(item.key)
            self.queue.done(item.key)

    def join(self):
        for thread in self.threads:
            thread.join(30)
        assert not any(thread.is_alive() for thread in self.threads)


def run_all(targets):
    threads = [threading.Thread(target=target) for target in targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()


@pytest.mark.usefixtures("impatient_interpreter")
def test_wq1_th11_50_producers_and_10_workers():
    queue = WorkQueue("stress", clock=SystemClock())
    workers = Workers(queue, 10)

    def produce(number):
        for step in range(50):
            queue.add((number, step % 7))

    run_all([lambda number=number: produce(number) for number in range(50)])
    queue.shut_down()
    queue.add("after shutdown")
    workers.join()
    assert workers.twice == []
    wanted = {(number, step) for number in range(50) for step in range(7)}
    assert {item.key for item in workers.seen} == wanted


@pytest.mark.usefixtures("impatient_interpreter")
@pytest.mark.parametrize("seed", range(3))
def test_wq5_th11_mixed_adds_lose_nothing_and_never_share_a_key(seed):
    queue = WorkQueue("stress", clock=SystemClock(), fairness=lambda key: key % 3)
    workers = Workers(queue, 20)

    def produce(number):
        chance = random.Random(seed * 100 + number)
        for _ in range(300):
            key = chance.randrange(200)
            priority = chance.choice([-100, 0, 5])
            match chance.randrange(3):
                case 0:
                    queue.add(key, priority=priority)
                case 1:
                    queue.add_after(key, chance.random() * 0.01, priority=priority)
                case 2:
                    queue.add_rate_limited(key, priority=priority)
                    queue.forget(key)
            assert all(count >= 0 for count in queue.snapshot().depth.values())
        for key in range(number, 200, 10):
            queue.add(key)

    run_all([lambda number=number: produce(number) for number in range(10)])
    queue.shut_down()
    workers.join()
    assert workers.twice == []
    assert {item.key for item in workers.seen} == set(range(200))
    assert set(queue.snapshot().depth.values()) == {0}


def add_many(queue):
    for number in range(50):
        queue.add_after(number, 0.001)


@pytest.mark.usefixtures("impatient_interpreter")
def test_pq9_shutdown_amid_adds_does_not_deadlock():
    for _ in range(20):
        queue = WorkQueue("stress", clock=SystemClock())
        workers = Workers(queue, 5)
        adders = [partial(add_many, queue) for _ in range(3)]
        run_all([*adders, queue.shut_down, queue.shut_down])
        workers.join()
        assert workers.twice == []


@pytest.mark.parametrize(("delay_seconds", "bytes_a_key"), [(0, 260), (3600, 340)])
def test_th11_a_queued_key_costs_a_few_hundred_bytes(delay_seconds, bytes_a_key):
    keys = [f"key-{number}" for number in range(5000)]
    queue = WorkQueue("big", clock=FakeClock())
    tracemalloc.start()
    try:
        for key in keys:
            queue.add_after(key, delay_seconds)
        spent = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert spent / len(keys) < bytes_a_key
