"""Rate limiters: how long each waits, what they count, what they forget."""

from asoreconcile.base.backoff import (
    ItemExponential,
    TokenBucket,
    asked_delay,
)
from asoreconcile.base.errors import RetryError


def test_rl1_exponential_doubles_from_its_base_and_counts_each_key_alone(clock):
    limiter = ItemExponential(0.001, 1000.0, clock=clock)
    assert [limiter.delay("a") for _ in range(5)] == [
        0.001,
        0.002,
        0.004,
        0.008,
        0.016,
    ]
    assert limiter.delay("b") == 0.001
    assert (limiter.retries("a"), limiter.retries("b")) == (5, 1)


def test_rl1_exponential_forget_starts_over(clock):
    limiter = ItemExponential(1.0, 60.0, clock=clock)
    for _ in range(4):
        limiter.delay("a")
    limiter.forget("a")
    assert limiter.retries("a") == 0
    assert limiter.delay("a") == 1.0


def test_rl1_exponential_stays_at_its_cap_however_often_it_is_asked(clock):
    limiter = ItemExponential(0.005, 1000.0, clock=clock)
    delays = [limiter.delay("a") for _ in range(2000)]
    assert delays[17] < 1000.0
    assert delays[18:] == [1000.0] * 1982


def test_rl2_a_key_not_seen_for_its_time_to_live_is_forgotten(clock):
    limiter = ItemExponential(1.0, 60.0, clock=clock)
    limiter.delay("old")
    clock.advance(60)
    limiter.delay("young")
    clock.advance(3540)
    assert limiter.retries("old") == 0
    assert limiter.delay("another") == 1.0
    assert len(limiter) == 2, "the expired key must not stay in memory"
    assert limiter.delay("young") == 2.0


def test_rl2_a_key_is_remembered_for_an_hour_or_four_times_the_cap(clock):
    short = ItemExponential(1.0, 60.0, clock=clock)
    long = ItemExponential(1.0, 1000.0, clock=clock)
    for limiter in (short, long):
        limiter.delay("a")
    for seconds, remembered in (
        (3599, (1, 1)),
        (1, (0, 1)),
        (399, (0, 1)),
        (1, (0, 0)),
    ):
        clock.advance(seconds)
        assert (short.retries("a"), long.retries("a")) == remembered


def test_rl1_no_number_of_failures_overflows(clock):
    limiter = ItemExponential(1.0, 1e300, clock=clock)
    assert max(limiter.delay("a") for _ in range(3000)) == 2.0**64


def test_rl3_the_error_sets_a_lower_bound(clock):
    limiter = ItemExponential(1.0, 60.0, clock=clock)
    assert limiter.delay("a", RetryError("busy", after_seconds=17)) == 17
    assert limiter.delay("a", RetryError("busy", after_seconds=0.5)) == 2.0
    assert limiter.delay("a", ValueError()) == 4.0


def test_rl3_the_bound_may_exceed_every_cap(clock):
    error = RetryError("busy", after_seconds=500)
    limiters = (
        ItemExponential(1.0, 60.0, clock=clock),
        TokenBucket(10.0, 100, clock=clock),
    )
    assert [limiter.delay("a", error) for limiter in limiters] == [500.0] * 2


def test_rl3_the_bound_is_read_from_causes_and_from_api_errors():
    class ThrottledError(Exception):
        retry_after_seconds = 30.0

    error = RuntimeError("outer")
    error.__cause__ = ThrottledError()
    assert asked_delay(error) == 30.0
    ThrottledError.retry_after_seconds = None
    assert asked_delay(error) == 0.0
    assert asked_delay(None) == 0.0


def test_rl3_an_error_that_is_its_own_cause_is_read_once():
    error = RetryError("busy", after_seconds=3)
    error.__cause__ = ValueError()
    error.__cause__.__cause__ = error
    assert asked_delay(error) == 3


def test_token_bucket_lets_the_burst_pass_then_spaces_by_its_rate(clock):
    limiter = TokenBucket(2.0, 3, clock=clock)
    assert [limiter.delay(key) for key in "abcde"] == [0, 0, 0, 0.5, 1.0]
    clock.advance(2.5)
    assert [limiter.delay(key) for key in "fghi"] == [0, 0, 0, 0.5]
    limiter.forget("a")
    assert limiter.retries("a") == 0
