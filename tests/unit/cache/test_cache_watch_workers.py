"""A few threads that run all watches: in order, one at a time each, none forgotten."""

import threading

import pytest
from recordedthreads import RecordedThreads

from asoreconcile.base.clock import SystemClock
from asoreconcile.base.errors import StoppedError
from asoreconcile.base.threads import Threads
from asoreconcile.cache.watch_workers import WORKERS, WatchWorkers
from asoreconcile.testing.clock import FakeClock

WAIT_SECONDS = 20


class Watch:
    """Steps that note each time they are resumed, and wait as they are told."""

    def __init__(self, *pauses, meanwhile=None):
        self.pauses = list(pauses)
        self.meanwhile = meanwhile or (lambda: None)
        self.stopping = threading.Event()
        self.runs = threading.Semaphore(0)
        self.count = 0
        self.at_once = self.most_at_once = 0
        self.wake = None
        self.task = None

    def steps(self, wake):
        self.wake = wake
        while not self.stopping.is_set():
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            self.count += 1
            self.meanwhile()
            self.at_once -= 1
            pause = self.pauses.pop(0) if self.pauses else None
            self.runs.release()
            if isinstance(pause, BaseException):
                raise pause
            yield pause

    def ran(self):
        assert self.runs.acquire(timeout=WAIT_SECONDS)

    def pauses_now(self):
        """Its pause has begun: the clock can be moved."""
        for _ in range(2000):
            if self.task._timer is not None:
                return
            threading.Event().wait(0.005)
        pytest.fail("it does not pause")

    def rests(self):
        """Nothing has resumed it that has not been waited for."""
        return not self.runs.acquire(blocking=False)

    def stop(self):
        self.stopping.set()
        self.task.wake()


class Scene:
    def __init__(self):
        self.clock = FakeClock()
        self.threads = RecordedThreads(self.clock)
        self.workers = WatchWorkers(clock=self.clock, threads=self.threads)
        self.watches = []

    def run(self, watch, name="watch things"):
        self.watches.append(watch)
        watch.task = self.workers.start(name, watch.steps, stopping=watch.stopping)
        return watch

    def end(self):
        for watch in self.watches:
            watch.stop()
        for watch in self.watches:
            assert watch.task.join(WAIT_SECONDS)
        self.workers.stop()


@pytest.fixture
def scene():
    scene = Scene()
    yield scene
    scene.end()


def test_a_watch_runs_when_it_is_woken_and_waits_otherwise(scene):
    watch = scene.run(Watch())
    watch.ran()
    assert watch.rests()
    watch.wake()
    watch.ran()
    assert watch.count == 2


def test_three_hundred_watches_need_four_threads(scene):
    watches = [scene.run(Watch()) for _ in range(300)]
    for _ in range(3):
        for watch in watches:
            watch.ran()
            watch.wake()
    assert len(scene.threads.started) <= WORKERS


def test_a_wake_that_comes_while_it_runs_is_not_lost(scene):
    watch = Watch()
    again = [True]

    def meanwhile():
        if again:
            again.pop()
            watch.wake()

    watch.meanwhile = meanwhile
    scene.run(watch)
    watch.ran()
    watch.ran()


def test_a_watch_is_never_run_by_two_threads(scene, monkeypatch):
    watch = scene.run(Watch())
    woken = [threading.Thread(target=lambda: [watch.task.wake() for _ in range(500)])]
    woken += [threading.Thread(target=woken[0]._target) for _ in range(3)]  # type: ignore[attr-defined]
    for thread in woken:
        thread.start()
    for thread in woken:
        thread.join(WAIT_SECONDS)
    watch.task.wake()
    watch.ran()
    assert watch.most_at_once == 1


def test_watches_that_wake_themselves_starve_no_other(scene):
    busy = [Watch() for _ in range(2 * WORKERS)]
    for watch in busy:
        watch.meanwhile = lambda watch=watch: watch.wake()
        scene.run(watch)
    other = scene.run(Watch())
    for _ in range(5):
        other.ran()
        other.wake()
    for watch in busy:
        watch.ran()
        assert watch.most_at_once == 1


def test_a_pause_lasts_whoever_wakes_it(scene):
    watch = scene.run(Watch(5.0))
    watch.ran()
    watch.pauses_now()
    watch.wake()
    scene.clock.advance(4.9)
    assert watch.rests()
    scene.clock.advance(0.1)
    watch.ran()


def test_th9_a_stop_ends_a_pause(scene):
    watch = scene.run(Watch(3600.0))
    watch.ran()
    watch.stop()
    assert watch.task.join(WAIT_SECONDS)


def test_handlers_that_hold_their_watches_hold_up_no_other(scene):
    """More of them than there are threads: others run after a second or two."""
    begun, release = threading.Semaphore(0), threading.Event()

    def hold():
        begun.release()
        release.wait(WAIT_SECONDS)

    held = [scene.run(Watch(meanwhile=hold), f"watch {n}") for n in range(2 * WORKERS)]
    other = scene.run(Watch(), "watch others")
    for _ in range(WORKERS):
        assert begun.acquire(timeout=WAIT_SECONDS)
    try:
        for _ in range(8):
            scene.clock.advance(1.0)
            if other.runs.acquire(timeout=0.05):
                break
        else:
            pytest.fail("it was never run")
        assert set(scene.workers.held_up()) >= {"watch 0", "watch 1"}
        assert "watch others" not in scene.workers.held_up()
    finally:
        release.set()
    for watch in held:
        watch.ran()
        watch.wake()
        watch.ran()
    assert scene.workers.held_up() == {}


def test_threads_that_were_needed_for_a_while_end(scene):
    release = threading.Event()
    held = [
        scene.run(Watch(meanwhile=lambda: release.wait(WAIT_SECONDS)))
        for _ in range(2 * WORKERS)
    ]
    for _ in range(4):
        scene.clock.advance(1.0)
    assert len(scene.threads.alive()) > WORKERS
    release.set()
    for watch in held:
        watch.ran()
    for _ in range(2000):
        if len(scene.threads.alive()) <= WORKERS:
            break
        threading.Event().wait(0.005)
    assert len(scene.threads.alive()) <= WORKERS


def test_th10_a_watch_that_dies_is_shown_and_made_again(scene):
    watch = scene.run(Watch(SystemExit("dead")), "watch deads")
    other = scene.run(Watch())
    watch.ran()
    other.ran()
    watch.pauses_now()
    assert scene.threads.down() == ["watch deads"]
    assert scene.threads.crashes()["watch deads"].error == "SystemExit"
    other.wake()
    other.ran()  # on threads that have not died
    watch.wake()
    assert watch.rests()
    scene.clock.advance(1.0)
    watch.ran()
    assert scene.threads.down() == []


def test_a_watch_that_dies_again_and_again_pauses_longer(scene):
    watch = scene.run(Watch(*(ValueError("dead") for _ in range(3))))
    for pause in (1.0, 2.0, 4.0):
        watch.ran()
        watch.pauses_now()
        scene.clock.advance(pause - 0.1)
        assert watch.rests()
        scene.clock.advance(0.1)
    watch.ran()


def test_th9_a_dead_watch_is_stopped_at_once(scene):
    """No thread is free for it."""
    watch = scene.run(Watch(ValueError("dead")))
    watch.ran()
    watch.pauses_now()
    begun, release = threading.Semaphore(0), threading.Event()

    def hold():
        begun.release()
        release.wait(WAIT_SECONDS)

    held = [scene.run(Watch(meanwhile=hold)) for _ in range(WORKERS)]
    try:
        for _ in held:
            assert begun.acquire(timeout=WAIT_SECONDS)
        assert scene.threads.down() == ["watch things"]
        watch.stop()
        assert watch.task.join(0)
        assert scene.threads.down() == []
    finally:
        release.set()


def test_a_stopped_watch_has_no_crash(scene):
    watch = Watch(StoppedError("the client is closed"))
    watch.stopping.set()
    scene.run(watch)
    assert watch.task.join(WAIT_SECONDS)
    assert scene.threads.crashes() == {}


def test_a_watch_that_another_client_ends_begins_again(scene):
    watch = scene.run(Watch(StoppedError("the client is closed")))
    watch.ran()
    watch.pauses_now()
    assert scene.threads.crashes()
    assert scene.threads.down() == ["watch things"]
    watch.stop()


def test_no_thread_to_be_had_is_no_watch_lost(scene, monkeypatch):
    refused = []
    start = scene.threads.start

    def scarce(name, target, **options):
        if len(refused) < 3:
            refused.append(name)
            raise RuntimeError("can't start new thread")
        return start(name, target, **options)

    monkeypatch.setattr(scene.threads, "start", scarce)
    watch = scene.run(Watch())
    assert watch.rests()
    for _ in range(4):
        scene.clock.advance(1.0)
    watch.ran()
    assert len(refused) == 3


def test_mg4_a_watch_that_got_no_thread_is_stopped_at_once(scene, monkeypatch):
    def none(name, target, **options):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(scene.threads, "start", none)
    watch = scene.run(Watch())
    assert not watch.task.join(0)
    watch.stop()
    assert watch.task.join(0)
    assert watch.count == 0
    # A thread that is there later finds nothing to begin.
    monkeypatch.undo()
    scene.run(Watch()).ran()
    assert watch.count == 0


def test_no_thread_for_the_pauses_is_said_before_anything_begins():
    refused = []

    def scarce(name, target):
        if not refused:
            refused.append(name)
            raise RuntimeError("can't start new thread")
        threading.Thread(target=target, name=name, daemon=True).start()

    clock = SystemClock(start_thread=scarce)
    workers = WatchWorkers(clock=clock, threads=Threads())
    watch = Watch(0.0, 0.0)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        workers.start("watch things", watch.steps, stopping=watch.stopping)
    assert watch.count == 0
    watch.task = workers.start("watch things", watch.steps, stopping=watch.stopping)
    for _ in range(3):
        watch.ran()
    watch.stop()
    assert watch.task.join(WAIT_SECONDS)
    workers.stop()
