"""Workers started for the keys that wait, one key each, and no more."""

import pytest

from asoreconcile.base.objects import ObjectKey
from asoreconcile.base.threads import Threads
from asoreconcile.queue.workqueue import Item
from asoreconcile.runtime.worker_pool import WorkerPool
from asoreconcile.testing.clock import FakeClock

KEY = ObjectKey("ns", "a")


class Line:
    """A queue whose waiting keys, and what a worker finds, the test says."""

    name = "line"

    def __init__(self):
        self.waiting = 0
        self.found = []
        self.done_keys = []

    def unclaimed(self):
        return self.waiting

    def get(self):
        step = self.found.pop(0)
        return step() if callable(step) else step

    def done(self, key):
        self.done_keys.append(key)

    def release_idle(self):
        """Nobody idles here."""


@pytest.fixture
def line():
    return Line()


@pytest.fixture
def threads():
    """What was to be run on threads, for the test to run."""
    return []


@pytest.fixture
def pool(line, threads):
    made = WorkerPool(
        line, lambda item: None, clock=FakeClock(), most=2, idle_seconds=30
    )
    made._start_thread = lambda _name, target: threads.append(target)
    return made


def test_th8_a_key_has_one_worker_hired_though_it_has_not_begun(line, pool, threads):
    pool.open()
    line.waiting = 1
    pool.scale_up()
    pool.scale_up()
    assert len(threads) == 1
    line.waiting = 2
    pool.scale_up()
    assert len(threads) == 2
    line.waiting = 9
    pool.scale_up()
    assert len(threads) == 2


def test_th8_a_key_that_comes_as_a_worker_leaves_gets_another(line, pool, threads):
    """`get` has let it go, but it still counts: none is started for the key yet."""
    pool._most = 1
    pool.open()

    def dismissed():
        line.waiting = 1
        pool.scale_up()
        return

    line.waiting = 1
    line.found = [Item(KEY, 0), dismissed]
    pool.scale_up()
    line.waiting = 0
    threads.pop()()
    assert line.done_keys == [KEY]
    assert len(threads) == 1


@pytest.fixture
def exhausted(line, threads):
    """Workers of a machine that starts so many threads, and refuses the rest."""
    left = []

    def start(_name, target):
        if not left:
            raise RuntimeError("can't start new thread")
        threads.append(left.pop() and target)

    clock = FakeClock()
    made = WorkerPool(
        line,
        lambda item: None,
        clock=clock,
        most=3,
        idle_seconds=30,
    )
    made._start_thread = start
    made.clock, made.left = clock, left  # type: ignore[attr-defined]
    return made


def test_th8_a_worker_that_cannot_be_started_is_not_counted(line, exhausted, threads):
    exhausted.left += [True]
    line.waiting = 3
    exhausted.open()
    assert exhausted.workers == len(threads) == 1
    exhausted.left += [True, True]
    exhausted.clock.advance(1)
    assert exhausted.workers == len(threads) == 3


def test_th8_workers_come_when_the_machine_has_threads_again(
    line, exhausted, threads, caplog
):
    line.waiting = 1
    exhausted.open()
    exhausted.clock.advance(70)
    assert exhausted.workers == 0
    assert exhausted.wait_until_left(0)
    assert exhausted.refused_seconds() == 70
    assert len([one for one in caplog.records if "cannot be started" in one.msg]) == 1
    exhausted.left += [True]
    exhausted.clock.advance(1)
    line.waiting, line.found = 0, [Item(KEY, 0), None]
    threads.pop()()
    assert line.done_keys == [KEY]
    assert exhausted.refused_seconds() == 0


def test_th8_a_machine_without_threads_is_not_asked_for_ever(line, exhausted, threads):
    line.waiting = 1
    exhausted.open()
    exhausted.close()
    exhausted.left += [True]
    exhausted.clock.advance(10)
    assert threads == []


def test_ct1_nobody_is_hired_by_a_gate_that_opens_as_all_ends(line, pool, threads):
    line.waiting = 1
    pool.close()
    pool.open()
    assert threads == []


def test_a_key_that_nothing_can_be_done_with_ends_no_worker_and_comes_again(
    line, threads
):
    """What breaks beside the reconciler: a limiter, a metric."""
    kept = Threads()
    again, worked = [], []

    def work(item):
        worked.append(item.key)
        if item.key == KEY:
            raise SystemExit(1)

    line.add_after = lambda key, seconds, priority: again.append((key, seconds))
    pool = WorkerPool(
        line,
        work,
        clock=FakeClock(),
        most=1,
        idle_seconds=30,
        threads=kept,
    )
    pool._start_thread = lambda _name, target: threads.append(target)
    other = ObjectKey("ns", "b")
    pool.open()
    line.waiting, line.found = 1, [Item(KEY, 0), Item(other, 0), None]
    pool.scale_up()
    line.waiting = 0
    threads.pop()()
    assert worked == line.done_keys == [KEY, other]
    assert again == [(KEY, 30.0)]
    assert kept.crashes()["line-worker"].count == 1
    assert pool.workers == 0
