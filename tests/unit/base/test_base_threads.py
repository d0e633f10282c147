"""Threads that die are started again, and it shows."""

import json
import logging
import threading
from queue import Queue

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from asoreconcile.base.clock import SystemClock
from asoreconcile.base.errors import StoppedError
from asoreconcile.base.log import JsonFormatter
from asoreconcile.base.threads import Threads
from asoreconcile.observability.metrics import RuntimeMetrics
from asoreconcile.runtime.health import ThreadsAlive

PATIENCE = 30.0


@pytest.fixture
def threads(clock):
    return Threads(clock)


class Scripted:
    """A thread's function: each call does the next step, an exception or a call."""

    def __init__(self, *steps):
        self.steps = list(steps)
        self.begun = Queue()

    def __call__(self):
        step = self.steps.pop(0)
        self.begun.put(threading.current_thread())
        if isinstance(step, BaseException):
            raise step
        step()


def nothing():
    pass


def died(clock):
    """Block until the thread is in its pause."""
    clock.until_waiting()


@pytest.mark.parametrize(
    "crash", [ValueError("x"), SystemExit(1), KeyboardInterrupt(), MemoryError()]
)
def test_a_thread_that_dies_is_started_again(clock, threads, crash, caplog):
    target = Scripted(crash, nothing)
    thread = threads.start("watcher", target)
    died(clock)
    assert threads.down() == ["watcher"]
    assert threads.crashes()["watcher"].count == 1
    assert "Thread died" in caplog.text
    clock.advance(1.0)
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert target.begun.qsize() == 2
    assert threads.down() == []


def test_what_ends_is_not_started_again(clock, threads):
    for target in (Scripted(nothing), Scripted(StoppedError("stopping"))):
        stopping = threading.Event()
        stopping.set()
        thread = threads.start("watcher", target, stopping=stopping)
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert threads.crashes() == {}


def test_the_pauses_double_to_half_a_minute_and_begin_anew_after_a_sound_minute(
    clock, threads
):
    def sound():
        clock.advance(60)
        raise ValueError("late")

    crashes = [ValueError("x")] * 7
    target = Scripted(*crashes, sound, nothing)
    thread = threads.start("watcher", target)
    for pause in (1, 2, 4, 8, 16, 30, 30, 1):
        died(clock)
        clock.advance(pause - 0.5)
        assert threads.down() == ["watcher"]
        before = target.begun.qsize()
        clock.advance(0.5)
        if pause == 1 and before > 1:
            break
        while target.begun.qsize() == before:
            pass
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert threads.crashes()["watcher"].count == 8


def test_nothing_is_started_again_once_stopped(clock, threads):
    stopping = threading.Event()
    target = Scripted(ValueError("x"))
    thread = threads.start("watcher", target, stopping=stopping)
    died(clock)
    stopping.set()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert threads.down() == []


def test_health_fails_while_a_thread_is_dead_and_tells_of_it_after(clock, threads):
    check = ThreadsAlive(threads)
    assert check().ok
    thread = threads.start("watcher", Scripted(ValueError("canary"), nothing))
    died(clock)
    verdict = check()
    assert not verdict.ok
    assert verdict.details == (
        "watcher: dead, starts again soon, died 1 times, last of ValueError",
    )
    clock.advance(1)
    thread.join(PATIENCE)
    verdict = check()
    assert verdict.ok
    assert "runs again" in verdict.details[0]
    assert "canary" not in str(verdict)


def test_deaths_are_counted_in_metrics(clock, threads):
    registry = CollectorRegistry()
    RuntimeMetrics(registry).threads(threads)
    threads.start("watcher", Scripted(ValueError("x")))
    died(clock)
    text = generate_latest(registry).decode()
    assert 'asoreconcile_thread_deaths_total{thread="watcher"} 1.0' in text
    assert "asoreconcile_threads_down 1.0" in text


def test_a_death_that_its_owner_makes_good_is_counted_and_nothing_is_down(
    threads, caplog
):
    try:
        raise ValueError("x")
    except ValueError as error:
        threads.record_crash("events", error)
    assert threads.crashes()["events"].count == 1
    assert threads.down() == []
    assert caplog.records[0].levelno == logging.ERROR


@pytest.mark.parametrize("seconds", [1e10, 1e300, float("inf")])
def test_a_timer_far_away_ends_no_timers(seconds):
    clock = SystemClock()
    far, near = threading.Event(), threading.Event()
    clock.call_at(clock.monotonic() + seconds, far.set)
    while not clock._timers._changed._waiters:  # type: ignore[attr-defined]  # until its thread waits for it
        pass
    clock.call_at(clock.monotonic(), near.set)
    assert near.wait(PATIENCE)
    assert not far.is_set()


def test_a_wait_far_away_ends_with_its_event():
    clock, event = SystemClock(), threading.Event()
    event.set()
    assert clock.wait(event, 1e300)


def test_a_timer_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match="not a number"):
        SystemClock().call_at(float("nan"), nothing)


def test_a_call_that_means_to_end_the_program_ends_no_timers():
    clock, rung = SystemClock(), threading.Event()

    def leave():
        raise SystemExit(1)

    clock.call_at(clock.monotonic(), leave)
    clock.call_at(clock.monotonic(), rung.set)
    assert rung.wait(PATIENCE)


def test_the_timers_thread_is_one_that_is_looked_after():
    started = []
    clock = SystemClock(start_thread=lambda name, target: started.append(name))
    clock.call_at(0.0, nothing)
    assert started == ["timers"]


def test_a_log_line_that_holds_half_a_character_is_written():
    """It says what killed a thread; to lose it would be to lose the reason."""
    record = logging.LogRecord("n", logging.ERROR, "", 0, "said \ud800", None, None)
    line = JsonFormatter().format(record)
    assert json.loads(line)["message"] == "said \ud800"
