"""Retries that end: how often, how long in between, and what ends them at once."""

import threading

import pytest
from quickclock import QuickClock

from asoreconcile.base.errors import RetryError, StoppedError
from asoreconcile.base.retry import Backoff, retry
from asoreconcile.kube.errors import ApiError, KubeCredentialError, TransportError
from asoreconcile.kube.retrying import is_passing
from asoreconcile.testing.clock import FakeClock

STEPS = Backoff(attempts=4, first_seconds=1.0, factor=3.0, max_seconds=5.0, jitter=0.2)


class Failing:
    """Raises what it is given, one after another; then returns how often it was
    called.
    """

    def __init__(self, *errors):
        self.errors, self.calls = list(errors), 0

    def __call__(self):
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return self.calls


def tried(call, clock, **more):
    more = {"uniform": lambda _low, _high: 1.0, **more}
    return retry(call, backoff=STEPS, when=is_passing, clock=clock, **more)


def lost():
    return TransportError("lost")


def test_pauses_grow_to_their_bound_and_the_answer_comes():
    clock = QuickClock()
    assert tried(Failing(lost(), lost(), lost()), clock) == 4
    assert clock.pauses == [1.0, 3.0, 5.0]


def test_the_last_error_is_raised_as_it_was():
    last = TransportError("the last")
    call = Failing(lost(), lost(), lost(), last, lost())
    with pytest.raises(TransportError) as raised:
        tried(call, QuickClock())
    assert raised.value is last
    assert call.calls == 4


def test_what_no_try_would_mend_is_raised_at_once():
    for error in (
        ApiError("no", status=403),
        ValueError("no"),
        KubeCredentialError("no"),
    ):
        clock, call = QuickClock(), Failing(error)
        with pytest.raises(type(error)):
            tried(call, clock)
        assert (call.calls, clock.pauses) == (1, [])


def test_also_after_one_that_was_worth_a_try():
    call = Failing(lost(), ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        tried(call, QuickClock())
    assert call.calls == 2


def test_a_stop_ends_a_pause_at_once():
    clock, stop, ended = FakeClock(), threading.Event(), []
    call = Failing(lost(), lost())

    def run():
        with pytest.raises(StoppedError):
            tried(call, clock, stop=stop)
        ended.append(True)

    thread = threading.Thread(target=run)
    thread.start()
    clock.until_waiting()
    stop.set()
    thread.join(10)
    assert ended == [True]
    assert call.calls == 1


def test_jitter_is_drawn_for_each_pause():
    asked = []

    def uniform(low, high):
        asked.append((low, high))
        return high

    clock = QuickClock()
    tried(Failing(lost(), lost()), clock, uniform=uniform)
    assert asked == [(0.8, 1.2)] * 2
    assert clock.pauses == [1.2, pytest.approx(3.6)]


def test_what_a_failure_asks_for_is_waited_for_within_the_bound():
    clock = QuickClock()
    passing = {"when": lambda _: True, "backoff": STEPS, "clock": clock}
    one = {"uniform": lambda _low, _high: 1.0}
    retry(Failing(RetryError("busy", after_seconds=4.0)), **passing, **one)
    assert clock.pauses == [4.0]
    with pytest.raises(RetryError):
        retry(Failing(RetryError("busy", after_seconds=5.5)), **passing, **one)
    assert clock.pauses == [4.0]


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (TransportError("lost"), True),
        (KubeCredentialError("no credential"), False),
        (ApiError("busy", status=429), True),
        (ApiError("starting", status=503), True),
        (ApiError("forbidden", status=403), False),
        (ApiError("conflict", status=409), False),
        (OSError("disk"), False),
    ],
)
def test_what_may_be_over_in_a_moment(error, passes):
    assert is_passing(error) is passes
