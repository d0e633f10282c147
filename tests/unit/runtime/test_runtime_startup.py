"""Steps before a process runs: in order, patient with an API server that starts too."""

import threading

import pytest
from quickclock import QuickClock

from asoreconcile.base import reconcile_context
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.kube.errors import ForbiddenError, TransportError
from asoreconcile.runtime.application import Application
from asoreconcile.runtime.startup import StartUp
from asoreconcile.testing.clock import FakeClock

NOWHERE = ClusterConfig("http://127.0.0.1:1", None, authorization=lambda: "")


def test_a_step_waits_for_the_api_server_and_the_next_one_for_it():
    clock, done = QuickClock(), []
    startup = StartUp(clock, threading.Event())
    errors = [TransportError("not there yet"), TransportError("not there yet")]

    def discover():
        if errors:
            raise errors.pop()
        done.append("discover")

    startup.add("install", lambda: done.append("install"))
    startup.add("discover", discover)
    startup.run()
    assert done == ["install", "discover"]
    assert len(clock.pauses) == 2


def test_what_no_wait_mends_is_raised_and_nothing_comes_after_it():
    done = []
    startup = StartUp(QuickClock(), threading.Event())

    def refuse():
        raise ForbiddenError("not for you", status=403)

    startup.add("refuse", refuse)
    startup.add("never", lambda: done.append("never"))
    with pytest.raises(ForbiddenError):
        startup.run()
    assert done == []


def test_who_is_to_stop_does_no_further_step():
    done, stopping = [], threading.Event()
    startup = StartUp(QuickClock(), stopping)

    def unreachable():
        stopping.set()
        raise TransportError("not there yet")

    startup.add("unreachable", unreachable)
    startup.add("never", lambda: done.append("never"))
    startup.run()
    assert done == []


def test_an_application_runs_its_steps_first_and_closes_what_it_was_given_last():
    order = []
    app = Application("tests", cluster=NOWHERE)
    app.on_close(lambda: order.append("first"))
    app.on_close(lambda: order.append("second"))
    app.before_start("stop", lambda: order.append(app.manager.started.is_set()))
    app.before_start("stop", app.stop)
    assert app.run(signals=False) == 0
    assert order == [False, "second", "first"], "the last that was made goes first"
    app.close()
    assert len(order) == 3, "closed once"


def test_a_step_that_fails_ends_the_run_and_all_is_closed():
    closed = []
    app = Application("tests", cluster=NOWHERE)
    app.on_close(lambda: closed.append("mine"))

    def refuse():
        raise ForbiddenError("not for you", status=403)

    app.before_start("refuse", refuse)
    with pytest.raises(ForbiddenError):
        app.run(signals=False)
    assert closed == ["mine"]


def test_what_fails_to_close_leaves_nothing_open():
    closed = []
    app = Application("tests", cluster=NOWHERE)

    def fail():
        raise OSError("gone already")

    app.on_close(lambda: closed.append("mine"))
    app.on_close(fail)
    with pytest.raises(OSError, match="gone already"):
        app.close()
    assert closed == ["mine"]


def test_th9_a_stop_cuts_short_what_a_step_asks():
    reached = []
    app = Application("tests", cluster=NOWHERE)

    def step():
        app.stop()
        reconcile_context.check()  # as each call of a client does
        reached.append("asked on")

    app.before_start("ask", step)
    app.before_start("never", lambda: reached.append("another step"))
    assert app.run(signals=False) == 0
    assert reached == []


def test_a_step_that_blocks_is_left_behind_after_the_grace(caplog):
    clock, release, begun = FakeClock(), threading.Event(), threading.Event()
    stopping = threading.Event()
    startup = StartUp(clock, stopping)

    def block():
        begun.set()
        release.wait(30)

    startup.add("block", block)
    running = threading.Thread(target=startup.run)
    running.start()
    assert begun.wait(10)
    stopping.set()
    startup.stop(7.0)
    running.join(0.05)
    assert running.is_alive(), "it has its grace"
    clock.advance(7.0)
    running.join(10)
    assert not running.is_alive()
    assert "Step does not end" in caplog.text
    release.set()
