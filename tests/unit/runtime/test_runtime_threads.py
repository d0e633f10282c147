"""Which threads there are, what they wait for, and where time comes from."""

import ast
import threading
from pathlib import Path

import pytest
from recordedthreads import RecordedThreads

import asoreconcile
from asoreconcile.base.clock import SystemClock
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.events import Added
from asoreconcile.queue.workqueue import WorkQueue
from asoreconcile.runtime.controller import Controller
from asoreconcile.runtime.options import ControllerOptions
from asoreconcile.runtime.reconciler import Request, Result
from asoreconcile.runtime.runnable import RunnableFunc
from asoreconcile.runtime.sources import Watch
from asoreconcile.testing.clock import FakeClock

ROOT = Path(asoreconcile.__file__).parent
ROOMS = [path for room in ("queue", "runtime") for path in (ROOT / room).rglob("*.py")]
# Who may make a thread, and who may read the real time: a connection's own deadline
# is the socket's business.
MAKES_THREADS = {"worker_pool.py", "signals.py"}
# The watchdog and the CPU time of reconciles measure this process, not a wait.
READS_TIME = {"endpoints.py", "watchdog.py", "worker.py"}


class Source:
    """Delivers one event to whoever comes; never syncs unless told."""

    def __init__(self, *, synced):
        self.synced = synced

    def add_handler(self, handler, *, resync_seconds=0.0):
        meta = {"namespace": "ns", "name": "a", "resourceVersion": "1"}
        handler(Added(Entry({"metadata": meta})))
        return self

    def has_synced(self):
        return self.synced

    def remove(self):
        pass


class Noting:
    def __init__(self):
        self.reconciled = threading.Event()

    def reconcile(self, request):
        self.reconciled.set()
        return Result()


def calls(path):
    return {
        ast.unparse(node.func)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
    }


def test_th2_queues_of_a_process_share_one_timer_thread():
    threads = RecordedThreads()
    clock = SystemClock(start_thread=threads.start)
    queues = [WorkQueue(str(number), clock=clock) for number in range(5)]
    for queue in queues:
        queue.add_after("key", 3600.0)
    (timers,) = threads.started
    assert timers.name == "timers"
    assert timers.daemon
    for queue in queues:
        queue.shut_down()


def test_th3_predicates_and_handlers_run_where_the_event_is_delivered():
    seen = []

    def predicate(event):
        seen.append(threading.current_thread())
        return True

    def handler(event):
        seen.append(threading.current_thread())
        return [Request(event.key)]

    controller = Controller("test", Noting(), clock=FakeClock())
    controller.watch(Watch(Source(synced=True), handler=handler, when=predicate))
    deliverer = threading.Thread(target=controller._sources.open)
    deliverer.start()
    deliverer.join()
    assert seen == [deliverer, deliverer]
    assert controller.stop(0) == []


def test_th9_a_stop_wakes_an_idle_worker():
    noting = Noting()
    controller = Controller(
        "test", noting, ControllerOptions(idle_seconds=3600.0), clock=SystemClock()
    )
    controller.watch(Watch(Source(synced=True)))
    controller.start()
    assert noting.reconciled.wait(20)
    assert controller.stop(60) == []
    assert controller.workers == 0


def test_th9_a_stop_ends_the_wait_for_sources():
    noting = Noting()
    controller = Controller("test", noting, clock=SystemClock())
    controller.watch(Watch(Source(synced=False)))
    controller.start()
    assert controller.stop(60) == []
    assert not noting.reconciled.is_set()


def test_th9_a_stop_wakes_a_task_that_waits_for_it():
    task = RunnableFunc("test", lambda stop: stop.wait(3600), clock=SystemClock())
    task.start()
    assert task.stop(60) == []


@pytest.mark.parametrize(
    "path", ROOMS, ids=lambda path: f"{path.parent.name}-{path.name}"
)
def test_th10_time_chance_and_threads_come_from_outside(path):
    made = calls(path)
    if path.name not in MAKES_THREADS:
        assert not made & {"Thread", "Timer", "threading.Thread", "threading.Timer"}
    if path.name not in READS_TIME:
        made -= {"datetime.fromisoformat"}  # what a text says is no clock's time
        assert not {name for name in made if name.startswith(("time.", "datetime."))}
    assert not {name for name in made if name.startswith("random.")}
