"""Reads without a lock in the runtime: vacancies, gates, tenures, lists of handlers."""

import random
import threading
from collections import deque
from functools import partial
from unittest import mock

import pytest
from interleaving import Interleaving, seeds

from asoreconcile.cache.entry import Entry
from asoreconcile.cache.events import Added
from asoreconcile.cache.indexer import Indexer
from asoreconcile.cache.scope import watch_scopes
from asoreconcile.kube.resources import CONFIG_MAPS
from asoreconcile.queue.workqueue import WorkQueue
from asoreconcile.runtime.health import CachesSynced
from asoreconcile.runtime.leaderelection.fence import LeaseFence, NotLeadingError
from asoreconcile.runtime.process_endpoints import InformerRegistry
from asoreconcile.runtime.sources import CacheSync
from asoreconcile.runtime.worker_pool import WorkerPool, start_daemon
from asoreconcile.testing.clock import FakeClock

(PART,) = watch_scopes(CONFIG_MAPS)


def entry(version):
    meta = {"namespace": "n", "name": "a", "uid": "u", "resourceVersion": str(version)}
    return Entry({"metadata": meta})


class Shown:
    """A double of an informer for the registry, and of the metrics that show
    informers.
    """

    resource = CONFIG_MAPS
    last_error = "never listed"
    unreadable = ()

    def __init__(self):
        self.labels = {}

    def has_synced(self):
        return False

    def seconds_since_activity(self):
        return None

    def informer(self, label, *, has_synced, **_):
        self.labels[label] = has_synced

    def forget(self, label):
        self.labels.pop(label, None)


class LateClock(FakeClock):
    """A clock whose timers fire far too late: a caller sees that one is due only by
    reading the clock.
    """

    def call_at(self, deadline, call):
        return super().call_at(deadline + 1e6, call)


def test_in7_a_handler_that_comes_or_goes_meanwhile_misses_nothing_in_between():
    for seed in seeds(25):
        interleaving = Interleaving(seed, every=4)
        with interleaving.locks():
            indexer = Indexer(FakeClock(), synced=lambda: True)
        seen, dice = {"first": [], "second": []}, random.Random(seed)

        indexer.apply("ADDED", entry(1), PART)

        def come_and_go(name, indexer=indexer, seen=seen, dice=dice):
            removed = False

            def handler(event):
                assert not removed
                seen = event.entry if isinstance(event, Added) else event.new
                version = int(seen.resource_version)
                seen[name].append(version)

            for _ in range(dice.randrange(20)):
                indexer.entry(entry(1).key)
            registration = indexer.add_handler(handler)
            for _ in range(20):
                indexer.entry(entry(1).key)
            registration.remove()
            registration.remove()

        def watch(indexer=indexer):
            for version in range(2, 13):
                indexer.apply("MODIFIED", entry(version), PART)

        interleaving.run(watch, *(partial(come_and_go, name) for name in seen))
        for versions in seen.values():
            if versions:
                wanted = [*range(versions[0], versions[-1] + 1)]
                assert versions == wanted, f"seed {seed}"


def test_in7_an_informer_is_shown_until_it_is_released_whoever_comes_after_it():
    for seed in seeds(25, kept=(5, 6, 7)):
        interleaving = Interleaving(seed, every=30)
        metrics = Shown()
        with interleaving.locks():
            ready = CachesSynced(FakeClock())
            registry = InformerRegistry(synced=ready, metrics=metrics)

        def come_and_go(registry=registry, metrics=metrics, ready=ready):
            for _ in range(6):
                informer = Shown()
                registry.add(informer)
                # An informer that has not synced keeps the process from being ready.
                assert not ready().ok
                assert informer.has_synced in metrics.labels.values()
                registry.remove(informer)
                assert informer.has_synced not in metrics.labels.values()

        interleaving.run(come_and_go, come_and_go, come_and_go)
        assert metrics.labels == registry.by_label() == {}
        assert ready().ok


def test_le5_a_fence_that_was_seen_over_is_over_and_no_earlier():
    for seed in seeds(25):
        interleaving = Interleaving(seed)
        dice = random.Random(seed)
        with interleaving.locks():
            clock = LateClock()
            tenure = LeaseFence(clock, lambda: None)
        assert tenure.extend(clock.monotonic() + 1)
        until = [clock.monotonic() + 1]

        def renew(clock=clock, tenure=tenure, until=until, dice=dice):
            for _ in range(6):
                clock.advance(dice.choice([0.2, 0.5, 1.2]))
                wanted = clock.monotonic() + 1
                if tenure.extend(wanted):
                    until.append(wanted)

        def write(clock=clock, tenure=tenure, until=until):
            over = False
            for _ in range(8):
                known = until[-1]
                try:
                    tenure.check()
                except NotLeadingError:
                    over = True
                    assert clock.monotonic() >= known
                else:
                    assert not over
                assert not (over and tenure.holds)

        interleaving.run(renew, write, write)


def test_ct1_a_gate_that_opens_as_all_ends_hires_nobody_after_the_end():
    for seed in seeds(25):
        interleaving = Interleaving(seed)
        hired = []
        with interleaving.locks():
            clock = FakeClock()
            queue = WorkQueue("race", clock=clock)
            pool = WorkerPool(
                queue,
                lambda _: None,
                clock=clock,
                most=2,
                idle_seconds=30,
            )
            pool._start_thread = lambda name, _, hired=hired: hired.append(name)
            gate = CacheSync(
                clock, lambda _, pool=pool: pool.open(), timeout_seconds=60
            )
        queue.add("a")

        def stop(gate=gate, pool=pool):
            gate.close()
            pool.close()

        interleaving.run(partial(gate.start, []), stop)
        # A worker that was counted before the end has been started; none is started
        # later.
        pool.scale_up()
        clock.advance(120)
        assert len(hired) == pool.workers <= 1, f"seed {seed}"
        assert not pool._has_room()


class Crew:
    """A queue and its workers, on threads that the machine gives or refuses."""

    def __init__(self, interleaving, seed):
        self.switch, self.dice = interleaving.switch, random.Random(seed)
        self.most = self.dice.choice((1, 2))
        self.hired, self.done, self.added = deque(), [], []
        self.is_all_added = self.is_over = False
        self.most_at_once = 0
        with interleaving.locks():
            self.clock = FakeClock()
            self.queue = WorkQueue("race", clock=self.clock, on_ready=self.on_ready)
            self.pool = WorkerPool(
                self.queue,
                self.work,
                clock=self.clock,
                most=self.most,
                idle_seconds=0.5,
            )
            self.pool._start_thread = self.start

    def on_ready(self):
        self.pool.scale_up()

    def start(self, name, target):
        if self.dice.random() < 0.2:
            raise RuntimeError("can't start new thread")
        self.hired.append(target)

    def work(self, item):
        self.most_at_once = max(self.most_at_once, self.pool.workers)
        self.done.append(item.key)

    def add(self):
        for number in range(10):
            self.added.append(number)
            self.queue.add(number, priority=self.dice.choice((0, 1)))
            if number == 2:
                self.pool.open()
            if number > 2:
                self.rest(self.dice.randrange(120))
        self.is_all_added = True

    def rest(self, turns):
        """Add nothing until all is done and workers are idle, or leave."""
        for _ in range(20_000):
            if len(self.done) == len(self.added):
                turns -= 1
            if turns < 0:
                return
            self.switch()
        raise AssertionError(f"not done: {set(self.added) - set(self.done)}")

    def be_hired(self):
        while not self.is_over:
            if self.hired:
                self.hired.popleft()()
            self.switch()

    def pass_time(self):
        for _ in range(20_000):
            self.clock.advance(0.25)
            if self.is_all_added and len(self.done) == len(self.added):
                break
        self.pool.close()
        self.queue.shut_down()
        for _ in range(20_000):
            self.clock.advance(0.25)
            if not self.pool.workers:
                break
        self.is_over = True


def test_th8_every_key_finds_a_worker_whoever_comes_or_leaves_meanwhile():
    for seed in seeds(25):
        interleaving = Interleaving(seed)
        crew = Crew(interleaving, seed)
        with mock.patch("asoreconcile.runtime.worker_pool._log"):
            interleaving.run(crew.add, crew.be_hired, crew.be_hired, crew.pass_time)
        assert sorted(crew.done) == crew.added, f"seed {seed}"
        assert crew.most_at_once <= crew.most, f"seed {seed}"
        assert crew.pool.workers == 0, f"seed {seed}"


@pytest.mark.usefixtures("impatient_interpreter")
def test_th8_every_key_finds_a_worker_on_a_machine_that_refuses_most_threads():
    (seed,) = seeds(1)
    dice, clock = random.Random(seed), FakeClock()
    lock, done, most_at_once = threading.Lock(), set(), [0]

    def start(name, target):
        if dice.random() < 0.7:
            raise RuntimeError("can't start new thread")
        start_daemon(name, target)

    def work(item):
        with lock:
            done.add(item.key)
            most_at_once[0] = max(most_at_once[0], pool.workers)

    def scale_up():
        pool.scale_up()

    queue = WorkQueue("race", clock=clock, on_ready=scale_up)
    pool = WorkerPool(queue, work, clock=clock, most=4, idle_seconds=0.5)
    pool._start_thread = start
    pool.open()

    def add(number):
        for key in range(300):
            queue.add((number, key))

    adders = [threading.Thread(target=add, args=(number,)) for number in range(4)]
    for thread in adders:
        thread.start()
    pause = threading.Event()
    for _ in range(10_000):
        if len(done) == 4 * 300 and not any(map(threading.Thread.is_alive, adders)):
            break
        clock.advance(0.3)
        pause.wait(0.001)
    assert len(done) == 4 * 300, f"seed {seed}"
    assert most_at_once[0] <= 4
    pool.close()
    queue.shut_down()
    for _ in range(10_000):
        if pool.wait_until_left(0):
            break
        pause.wait(0.001)
    assert pool.workers == 0
