"""A reconcile that holds the process is found, blamed and taken last."""

import re
import threading
import time
from typing import Any

import pytest

from asoreconcile.base import reconcile_context
from asoreconcile.base.clock import SystemClock
from asoreconcile.base.objects import ObjectKey
from asoreconcile.queue.workqueue import Item
from asoreconcile.runtime.controller import Controller
from asoreconcile.runtime.options import ControllerOptions
from asoreconcile.runtime.reconciler import Result
from asoreconcile.runtime.taken_last import FORGOTTEN_SECONDS
from asoreconcile.runtime.watchdog import HELD_SECONDS, Watchdog
from asoreconcile.runtime.worker import InFlightReconciles
from asoreconcile.testing.clock import FakeClock

KEY, OTHER = ObjectKey("a", "holds"), ObjectKey("b", "other")


class Controlled:
    """A controller whose reconciles have the CPU time that a test says."""

    name = "kind"
    dog: Any
    held: list[Any]

    def __init__(self):
        self.in_flight_reconciles = InFlightReconciles("kind", FakeClock(), 300.0)
        self.blamed = []

    def begin(self, key):
        one = self.in_flight_reconciles.begin(key, key.name)
        one.cpu_at_begin = 0.0
        return one

    def take_last(self, key, held_seconds):
        self.blamed.append((key, round(held_seconds, 2)))


class Cpu:
    def __init__(self, monkeypatch):
        self.of = {}
        monkeypatch.setattr(
            "asoreconcile.runtime.worker.InFlightReconcile.cpu_seconds",
            lambda one: self.of.get(one.key, 0.0),
        )


@pytest.fixture
def cpu(monkeypatch):
    return Cpu(monkeypatch).of


@pytest.fixture
def watched():
    controlled, held = Controlled(), []
    dog = Watchdog(lambda: [controlled], lambda *one: held.append(one))
    controlled.dog, controlled.held = dog, held
    return controlled


def on_a_thread(call):
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()


@pytest.mark.parametrize("has_ended", [False, True])
@pytest.mark.parametrize("was_seen", [False, True])
def test_the_worker_that_used_the_time_is_blamed(watched, cpu, has_ended, was_seen):
    made = []
    on_a_thread(lambda: watched.begin(OTHER))
    if was_seen:
        on_a_thread(lambda: made.append(watched.begin(KEY)))
    cpu[KEY] = 1.0 if was_seen else 0.0
    watched.dog.look(10.0, 100.0)
    if not was_seen:
        on_a_thread(lambda: made.append(watched.begin(KEY)))
    cpu[KEY] += 4.0
    cpu[OTHER] = 0.1
    if has_ended:
        watched.in_flight_reconciles.end(made[0])
    watched.dog.look(15.25, 104.2)
    assert watched.blamed == [(KEY, 5.0)]
    assert watched.held == [("kind", 5.0)]
    watched.dog.look(15.5, 104.3)
    assert len(watched.blamed) == 1


@pytest.mark.parametrize(
    ("gap", "own", "process"),
    [
        pytest.param(HELD_SECONDS - 0.1, 1.9, 1.9, id="too short"),
        pytest.param(60.0, 0.2, 0.3, id="the process was stopped, or got no CPU"),
        pytest.param(5.0, 4.0, 9.0, id="other threads ran too"),
    ],
)
def test_nobody_is_blamed(watched, cpu, gap, own, process):
    watched.begin(KEY)
    watched.dog.look(10.0, 100.0)
    cpu[KEY] = own
    watched.dog.look(10.25 + gap, 100.0 + process)
    assert watched.blamed == watched.held == []


class Noting:
    """Notes the reconciled objects and the messages about them."""

    def __init__(self):
        self.seen = []

    def reconcile(self, request):
        context = reconcile_context.current()
        self.seen.append((request.key.name, context.why_taken_last()))
        return Result()


def test_an_object_that_held_the_process_rests_and_is_then_taken_last():
    clock, noting = FakeClock(), Noting()
    controller = Controller("kind", noting, clock=clock)
    queue, work = controller._queue, controller._worker.work

    def step():
        item = queue.get()
        work(item)
        queue.done(item.key)

    controller.take_last(KEY, 5.0)
    queue.add(KEY)
    assert len(queue) == 0  # its author cannot hurry it
    clock.advance(50.0)
    for number in range(3):
        queue.add(ObjectKey("b", f"{number}"), priority=-200)
    while len(queue):
        step()
    assert [name for name, _ in noting.seen] == ["0", "1", "2"]
    clock.advance(2.0)
    step()
    assert noting.seen[-1][0] == "holds"
    assert "kept all others from running for 5 s" in noting.seen[-1][1]
    clock.advance(FORGOTTEN_SECONDS)
    queue.add(KEY)
    step()
    assert noting.seen[-1] == ("holds", "")


@pytest.mark.long
def test_a_pattern_that_backtracks_is_blamed_with_its_stack(caplog):
    """With real threads, the real clock, and a call that holds the lock."""
    controller, held = None, threading.Event()

    def backtracks(request):
        if request.key == KEY:
            length, began = 20, time.thread_time()
            while time.thread_time() - began < HELD_SECONDS + 0.5:
                length += 1
                began = time.thread_time()
                re.match(r"(a+)+$", "a" * length + "b")
        return Result()

    controller = Controller(
        "kind",
        backtracks,
        ControllerOptions(max_concurrent_reconciles=2),
        clock=SystemClock(),
    )
    dog = Watchdog(lambda: [controller], lambda *_: held.set())
    dog.start()
    worker = threading.Thread(target=controller._worker.work, args=(Item(KEY, 0),))
    worker.start()
    try:
        assert held.wait(60)
    finally:
        worker.join()
        assert dog.stop(10) == []
    assert "kept all others" in controller._worker.taken_last.why(KEY)
    (record,) = [one for one in caplog.records if "held the process" in one.message]
    assert record.name == "asoreconcile.runtime.watchdog"
