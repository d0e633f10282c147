"""Gates after a throttling, by subscription and kind of operation."""

from itertools import pairwise

import pytest

from asoreconcile.azure.arm.bucket_key import Bucket, OperationClass, operation_class
from asoreconcile.azure.arm.budget import Budget, ThrottledError, remaining_of
from asoreconcile.azure.arm.errors import parse_fault
from asoreconcile.azure.arm.response import ArmResponse
from asoreconcile.testing.clock import FakeClock

WRITES = Bucket("s", OperationClass.WRITES)
READS = Bucket("s", OperationClass.READS)
OTHER = Bucket("t", OperationClass.WRITES)


def throttling(**headers):
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return parse_fault(
        ArmResponse(429, names, b'{"error":{"code":"429","message":"m"}}')
    )


def budget(clock, **options):
    return Budget(clock, jitter=lambda: 0.0, **options)


@pytest.fixture
def gates(clock):
    return budget(clock)


def wait_of(gates, bucket):
    try:
        gates.admit(bucket)
    except ThrottledError as error:
        return error.after_seconds
    return 0.0


def test_t5_a_real_throttling_closes_its_own_bucket_only(gates):
    gates.observe(WRITES, {}, throttling(retry_after="17"))
    assert wait_of(gates, WRITES) == 17
    assert wait_of(gates, Bucket("S", OperationClass.WRITES)) > 17
    assert wait_of(gates, READS) == wait_of(gates, OTHER) == 0


def test_t5_a_busy_object_closes_nothing(gates):
    body = b'{"error":{"code":"RetryableError","message":"m"}}'
    gates.observe(
        WRITES, {}, parse_fault(ArmResponse(429, {"retry-after": "11"}, body))
    )
    assert wait_of(gates, WRITES) == 0


def test_t7_the_gate_opens_at_the_refill_rate_not_at_once(clock, gates):
    gates.observe(WRITES, {}, throttling(retry_after="10"))
    clock.advance(10)
    sent = 0
    for _ in range(100):
        sent += wait_of(gates, WRITES) == 0
        clock.advance(0.01)
    assert sent == pytest.approx(8, abs=1)


def test_t7_each_who_waits_gets_a_turn_of_its_own(clock, gates):
    gates.observe(WRITES, {}, throttling(retry_after="10"))
    clock.advance(9)
    assert [wait_of(gates, WRITES) for _ in range(3)] == [1, 1.125, 1.25]


def test_t7_all_who_come_back_at_their_turn_go(clock, gates):
    gates.observe(WRITES, {}, throttling(retry_after="10"))
    turns = [wait_of(gates, WRITES) for _ in range(400)]
    came = 0.0
    for turn in turns:
        clock.advance(turn - came)
        came = turn
        assert wait_of(gates, WRITES) == 0
    assert came == pytest.approx(10 + 399 / 8)


def test_t7_nobody_waits_for_more_than_ten_minutes_after_it_opens(gates):
    gates.observe(WRITES, {}, throttling(retry_after="10"))
    assert max(wait_of(gates, WRITES) for _ in range(6000)) == 610


def test_t7_a_late_answer_never_shortens_the_pause(gates):
    gates.observe(WRITES, {}, throttling(retry_after="30"))
    gates.observe(WRITES, {}, throttling(retry_after="2"))
    assert wait_of(gates, WRITES) == 30


def test_t6_without_retry_after_pauses_double_to_a_minute(clock, gates):
    pauses = []
    for _ in range(6):
        gates.observe(WRITES, {}, throttling())
        pauses.append(wait_of(gates, WRITES))
        clock.advance(pauses[-1])
    assert pauses == [5, 10, 20, 40, 60, 60]


def test_t7_after_a_calm_minute_the_gate_is_forgotten(clock, gates):
    gates.observe(WRITES, {}, throttling(retry_after="10"))
    clock.advance(71)
    assert [wait_of(gates, WRITES) for _ in range(50)] == [0] * 50


def test_those_told_to_come_back_are_spread():
    gates = Budget(FakeClock(), jitter=lambda: 1.0)
    gates.observe(WRITES, {}, throttling(retry_after="10"))
    assert wait_of(gates, WRITES) == pytest.approx(10.2)


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
        *(
            pytest.param(
                {
                    "x-ms-ratelimit-remaining-subscription-writes": odd,
                    "x-ms-ratelimit-remaining-resource": f"A;{odd},B;7",
                },
                {"resource/B": 7},
                id=f"T3-odd-{name}",
            )
            for name, odd in {
                "superscript": "\xb2",
                "negative": "-1",
                "nan": "nan",
                "huge": "9" * 400,
                "empty": "",
            }.items()
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


def test_t6_refusals_that_were_on_their_way_together_count_as_one(clock, gates):
    for _ in range(8):
        gates.observe(WRITES, {}, throttling())
    assert wait_of(gates, WRITES) == 5


SERVICE = {"x-ms-failure-cause": "service"}
STORAGE = Bucket("s", OperationClass.WRITES, "Microsoft.Storage")
NETWORK = Bucket("s", OperationClass.WRITES, "Microsoft.Network")


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param(SERVICE, id="T1-said"),
        pytest.param(
            {"x-ms-ratelimit-remaining-subscription-writes": "150"}, id="T1-plenty-left"
        ),
    ],
)
def test_t1_a_providers_throttling_closes_that_provider_only(headers, gates):
    gates.observe(NETWORK, headers, throttling(retry_after="17"))
    assert wait_of(gates, NETWORK) == 17
    assert wait_of(gates, STORAGE) == 0


def test_t1_a_throttling_by_arm_closes_all_its_providers(gates):
    headers = {"x-ms-ratelimit-remaining-subscription-writes": "0"}
    gates.observe(NETWORK, headers, throttling(retry_after="17"))
    assert wait_of(gates, STORAGE) == 17


def left(gates, number, limit="subscription-writes"):
    gates.observe(NETWORK, {f"x-ms-ratelimit-remaining-{limit}": str(number)})


@pytest.mark.parametrize(
    ("limit", "number"),
    [
        pytest.param("subscription-global-writes", 3000, id="T4-new"),
        pytest.param("subscription-global-writes", 12000, id="T4-undocumented"),
        pytest.param("subscription-resource-requests", 0, id="T4-providers-own"),
        pytest.param("subscription-reads", 0, id="T4-another-class"),
    ],
)
def test_t4_who_has_room_by_azures_own_count_is_not_held_back(limit, number, gates):
    left(gates, number, limit)
    assert [wait_of(gates, NETWORK) for _ in range(2999)] == [0] * 2999


def test_t4_without_a_reading_nobody_is_held_back(gates):
    assert [wait_of(gates, WRITES) for _ in range(2000)] == [0] * 2000


def test_t8_what_azure_has_left_is_used_and_then_its_refill_rate(clock, gates):
    left(gates, 20)
    waits = [wait_of(gates, NETWORK) for _ in range(40)]
    assert waits[:20] == [0] * 20
    steps = [later - sooner for sooner, later in pairwise(waits[20:])]
    assert steps == pytest.approx([1 / 9.5] * 19)


def test_t8_requests_on_their_way_are_not_in_the_reading(gates):
    for _ in range(5):
        gates.admit(NETWORK)
    gates.leave(NETWORK)
    left(gates, 6)
    assert [wait_of(gates, NETWORK) == 0 for _ in range(3)] == [True, True, False]


def test_t2_gates_are_forgotten_once_they_hold_nobody_back(clock, gates):
    for number in range(1000):
        bucket = Bucket(str(number), OperationClass.WRITES)
        gates.observe(bucket, {"x-ms-ratelimit-remaining-subscription-writes": "1"})
        clock.advance(60)
    assert len(gates._gates) < 300


def test_a_pause_of_days_is_cut_to_ten_minutes(gates):
    gates.observe(WRITES, {}, throttling(retry_after="604800"))
    assert wait_of(gates, WRITES) == 600
