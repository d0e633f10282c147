"""One call for many threads: its answer, its failure, and who waits no longer."""

import sys
import threading

import pytest

from asoreconcile.base.errors import AsoreconcileError, StoppedError
from asoreconcile.base.reconcile_context import Context, DeadlineError, running
from asoreconcile.base.single_flight import PatienceError, SingleFlight
from asoreconcile.base.stop_signal import StopSignal

MANY = 12


class Held:
    """A call that is over when the test says so."""

    def __init__(self, *outcomes):
        self.calls = 0
        self.started = threading.Semaphore(0)
        self.go_on = threading.Semaphore(0)
        self._outcomes = list(outcomes)

    def __call__(self):
        self.calls += 1
        outcome = self._outcomes.pop(0)
        self.started.release()
        assert self.go_on.acquire(timeout=10)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome


class Crowd:
    """Threads that want the same thing at once."""

    def __init__(self, flights, call, clock):
        self.flights, self.call, self.clock = flights, call, clock
        self.outcomes, self._threads = [], []

    def join_in(self, count=1, *, context=None, **options):
        def run():
            try:
                with running(context):
                    self.outcomes.append(self.flights.do("key", self.call, **options))
            except (AsoreconcileError, RuntimeError, PatienceError) as error:
                self.outcomes.append(error)

        threads = [threading.Thread(target=run) for _ in range(count)]
        self._threads += threads
        for thread in threads:
            thread.start()

    def wait(self):
        for thread in self._threads:
            thread.join(10)
            assert not thread.is_alive()
        return self.outcomes


@pytest.fixture(params=[False, True], ids=["first", "own-thread"])
def flights(request):
    return SingleFlight(own_thread=request.param)


@pytest.mark.parametrize(
    "outcome", ["answer", AsoreconcileError("no")], ids=["answer", "error"]
)
def test_th9_one_call_frees_all_who_wait(flights, clock, outcome):
    call = Held(outcome)
    crowd = Crowd(flights, call, clock)
    crowd.join_in()
    assert call.started.acquire(timeout=10)
    crowd.join_in(MANY, context=Context(clock))
    clock.until_waiting(MANY)
    call.go_on.release()
    assert crowd.wait() == [outcome] * (MANY + 1)
    assert call.calls == 1


def test_nothing_is_kept_of_a_call_that_is_over(flights):
    assert flights.do("key", lambda: 1) == 1
    assert flights.do("key", lambda: 2) == 2


def test_other_keys_do_not_wait(flights, clock):
    call = Held(1)
    crowd = Crowd(flights, call, clock)
    crowd.join_in()
    assert call.started.acquire(timeout=10)
    assert flights.do("other", lambda: 2) == 2
    call.go_on.release()
    assert crowd.wait() == [1]


@pytest.mark.parametrize(
    ("reason", "raised"), [("deadline", DeadlineError), ("stop", StoppedError)]
)
def test_th9_nobody_waits_longer_than_the_own_time(flights, clock, reason, raised):
    call, stop = Held(1), StopSignal()
    crowd = Crowd(flights, call, clock)
    crowd.join_in()
    assert call.started.acquire(timeout=10)
    hasty = Crowd(flights, call, clock)
    hasty.join_in(context=Context(clock, deadline=5.0, stop=stop))
    clock.until_waiting()
    stop.stop() if reason == "stop" else clock.advance(5)
    assert [type(error) for error in hasty.wait()] == [raised]
    call.go_on.release()
    assert crowd.wait() == [1]


def test_who_waits_may_have_less_patience_than_time(flights, clock):
    call = Held(1)
    crowd = Crowd(flights, call, clock)
    crowd.join_in()
    assert call.started.acquire(timeout=10)
    hasty = Crowd(flights, call, clock)
    hasty.join_in(context=Context(clock, deadline=60.0), at_most_seconds=1.0)
    clock.until_waiting()
    clock.advance(1)
    assert [type(error) for error in hasty.wait()] == [PatienceError]
    call.go_on.release()
    assert crowd.wait() == [1]


def test_a_call_on_its_own_thread_lets_its_maker_go(clock):
    flights, call = SingleFlight(own_thread=True), Held(1)
    crowd = Crowd(flights, call, clock)
    crowd.join_in(context=Context(clock, deadline=5.0))
    assert call.started.acquire(timeout=10)
    clock.until_waiting()
    clock.advance(5)
    assert [type(error) for error in crowd.wait()] == [DeadlineError]
    patient = Crowd(flights, call, clock)
    patient.join_in(context=Context(clock, deadline=60.0))
    clock.until_waiting()
    call.go_on.release()
    assert patient.wait() == [1]
    assert call.calls == 1


def test_a_failure_for_want_of_the_makers_time_is_nobody_elses(clock):
    flights, call = SingleFlight(), Held(AsoreconcileError("timed out"), 2)
    hasty = Crowd(flights, call, clock)
    hasty.join_in(context=Context(clock, deadline=5.0))
    assert call.started.acquire(timeout=10)
    patient = Crowd(flights, call, clock)
    patient.join_in(context=Context(clock, deadline=60.0))
    clock.until_waiting()
    clock.advance(5)
    call.go_on.release()
    assert call.started.acquire(timeout=10)
    call.go_on.release()
    assert [str(error) for error in hasty.wait()] == ["timed out"]
    assert patient.wait() == [2]


def test_without_a_thread_to_be_had_all_are_told(monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    flights = SingleFlight(own_thread=True)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="new thread"):
            flights.do("key", lambda: 1)
    assert flights.do("key", lambda: 1) == 1


def test_threads_at_every_switch_get_an_answer_of_a_call_that_was_made(flights):
    made, got = [], []

    def call():
        made.append(object())
        return made[-1]

    def run():
        got.extend(flights.do("key", call) for _ in range(50))

    threads = [threading.Thread(target=run) for _ in range(8)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    finally:
        sys.setswitchinterval(interval)
    assert len(got) == 400
    assert set(got) == set(made)
