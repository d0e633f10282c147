"""Gates after a throttling, by subscription and kind of operation."""

import pytest

from asoreconcile.arm.answers import Answer
from asoreconcile.arm.budget import (
    Bucket,
    Budget,
    OperationClass,
    ThrottledError,
    operation_class,
    remaining_of,
)
from asoreconcile.arm.faults import parse_fault
from asoreconcile.testing.clock import FakeClock

WRITES = Bucket("s", OperationClass.WRITES)
READS = Bucket("s", OperationClass.READS)
OTHER = Bucket("t", OperationClass.WRITES)


def throttling(**headers):
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return parse_fault(Answer(429, names, b'{"error":{"code":"429","message":"m"}}'))


def budget(clock, **options):
    return Budget(clock, jitter=lambda: 0.0, **options)


def wait_of(gates, bucket):
    try:
        gates.admit(bucket)
    except ThrottledError as error:
        return error.after_seconds
    return 0.0


def test_t5_a_real_throttling_closes_its_own_bucket_only():
    gates = budget(FakeClock())
    gates.observe(WRITES, {}, throttling(retry_after="17"))
    assert wait_of(gates, WRITES) == 17
    assert wait_of(gates, Bucket("S", OperationClass.WRITES)) == 17
    assert wait_of(gates, READS) == wait_of(gates, OTHER) == 0


def test_t5_a_busy_object_closes_nothing():
    gates = budget(FakeClock())
    body = b'{"error":{"code":"RetryableError","message":"m"}}'
    gates.observe(WRITES, {}, parse_fault(Answer(429, {"retry-after": "11"}, body)))
    assert wait_of(gates, WRITES) == 0


def test_t7_the_gate_opens_at_the_refill_rate_not_at_once():
    clock = FakeClock()
    gates = budget(clock)
    gates.observe(WRITES, {}, throttling(retry_after="10"))
    clock.advance(10)
    sent = 0
    for _ in range(100):
        sent += wait_of(gates, WRITES) == 0
        clock.advance(0.01)
    assert sent == pytest.approx(8, abs=1)


def test_t7_a_request_before_its_time_does_not_move_the_gate():
    clock = FakeClock()
    gates = budget(clock)
    gates.observe(WRITES, {}, throttling(retry_after="10"))
    clock.advance(9)
    assert wait_of(gates, WRITES) == 1
    assert wait_of(gates, WRITES) == 1


def test_t7_a_late_answer_never_shortens_the_pause():
    gates = budget(FakeClock())
    gates.observe(WRITES, {}, throttling(retry_after="30"))
    gates.observe(WRITES, {}, throttling(retry_after="2"))
    assert wait_of(gates, WRITES) == 30


def test_t6_without_retry_after_pauses_double_to_a_minute():
    clock = FakeClock()
    gates = budget(clock)
    pauses = []
    for _ in range(6):
        gates.observe(WRITES, {}, throttling())
        pauses.append(wait_of(gates, WRITES))
        clock.advance(pauses[-1])
    assert pauses == [5, 10, 20, 40, 60, 60]


def test_t7_after_a_calm_minute_the_gate_is_forgotten():
    clock = FakeClock()
    gates = budget(clock)
    gates.observe(WRITES, {}, throttling(retry_after="10"))
    clock.advance(71)
    assert [wait_of(gates, WRITES) for _ in range(50)] == [0] * 50


def test_those_told_to_come_back_are_spread():
    gates = Budget(FakeClock(), jitter=lambda: 1.0)
    gates.observe(WRITES, {}, throttling(retry_after="10"))
    assert wait_of(gates, WRITES) == 12


def test_t3_rate_headers_reach_the_gauge():
    seen = []
    gates = budget(FakeClock(), gauge=lambda *reading: seen.append(reading))
    gates.observe(READS, {"x-ms-ratelimit-remaining-subscription-reads": "3749"})
    assert seen == [(READS, "subscription-reads", 3749)]


@pytest.mark.parametrize(
    ("headers", "found"),
    [
        pytest.param(
            {"x-ms-ratelimit-remaining-subscription-global-writes": "2999"},
            {"subscription-global-writes": 2999},
            id="T3-global",
        ),
        pytest.param(
            {"x-ms-ratelimit-remaining-resource": "Microsoft.Compute/Put3Min;239,X;7"},
            {"resource/Microsoft.Compute/Put3Min": 239, "resource/X": 7},
            id="T3-compute",
        ),
        pytest.param(
            {"x-ms-ratelimit-remaining-subscription-writes": "many"},
            {},
            id="T3-garbage",
        ),
        pytest.param({"content-type": "1"}, {}, id="T3-other"),
    ],
)
def test_t3_what_is_left_is_read_from_the_headers(headers, found):
    assert remaining_of(headers) == found


def test_t2_methods_fall_into_three_classes():
    classes = {m: operation_class(m).value for m in ("GET", "HEAD", "PUT", "DELETE")}
    assert classes == {
        "GET": "reads",
        "HEAD": "reads",
        "PUT": "writes",
        "DELETE": "deletes",
    }
    assert operation_class("POST") is operation_class("PATCH") is OperationClass.WRITES


def test_a_pause_of_days_is_cut_to_ten_minutes():
    gates = budget(FakeClock())
    gates.observe(WRITES, {}, throttling(retry_after="604800"))
    assert wait_of(gates, WRITES) == 600
