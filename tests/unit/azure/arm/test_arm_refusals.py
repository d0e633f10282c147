"""How far a throttling reaches: what it names, and wider when several say so."""

import pytest

from asoreconcile.azure.arm.bucket_key import Bucket, OperationClass
from asoreconcile.azure.arm.budget import Budget, ThrottledError
from asoreconcile.azure.arm.errors import parse_fault
from asoreconcile.azure.arm.response import ArmResponse
from asoreconcile.testing.clock import FakeClock

SERVICE = {"x-ms-failure-cause": "service"}
GATEWAY = {"x-ms-failure-cause": "gateway"}
PLENTY = {"x-ms-ratelimit-remaining-subscription-writes": "150"}
NONE_LEFT = {"x-ms-ratelimit-remaining-subscription-writes": "0"}


def write(name, provider="Microsoft.Network"):
    path = f"/subscriptions/s/resourceGroups/g/providers/{provider}/things/{name}"
    return Bucket("s", OperationClass.WRITES, provider, path)


BAD, OTHER = write("bad"), write("other")
STORAGE = write("account", "Microsoft.Storage")


class Subscription:
    """A budget, and Azure's answers to it."""

    def __init__(self):
        self.clock = FakeClock()
        self.budget = Budget(self.clock, jitter=lambda: 0.0)

    def refuse(self, *buckets, headers=None, code="TooManyRequests", seconds=17):
        headers = {"retry-after": str(seconds), **(headers or {})}
        body = f'{{"error":{{"code":"{code}","message":"m"}}}}'.encode()
        for bucket in buckets:
            fault = parse_fault(ArmResponse(429, headers, body))
            self.budget.observe(bucket, headers, fault)

    def take(self, *buckets, headers=None):
        for bucket in buckets:
            self.budget.observe(bucket, headers or {})

    def wait(self, bucket):
        try:
            self.budget.admit(bucket)
        except ThrottledError as throttled:
            return throttled.after_seconds
        self.budget.leave(bucket)
        return 0.0


@pytest.fixture
def azure():
    return Subscription()


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="T5-nothing-said"),
        pytest.param(SERVICE, id="T5-service"),
        pytest.param(GATEWAY, id="T5-gateway"),
        pytest.param(PLENTY, id="T5-plenty-left"),
    ],
)
def test_one_throttled_resource_holds_back_only_itself(azure, headers):
    azure.refuse(BAD, headers=headers)
    assert azure.wait(BAD) == 17
    assert azure.wait(OTHER) == azure.wait(STORAGE) == 0


def test_t5_a_resource_refused_over_and_over_is_still_one(azure):
    for _ in range(20):
        azure.refuse(BAD)
        azure.clock.advance(azure.wait(BAD))
    azure.refuse(BAD)
    assert azure.wait(OTHER) == 0


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        pytest.param(NONE_LEFT, "429", id="T1-none-left"),
        pytest.param({}, "SubscriptionRequestsThrottled", id="T1-code"),
        pytest.param({}, "TenantRequestsThrottled", id="T1-tenant"),
    ],
)
def test_what_azure_names_is_closed_at_once(azure, headers, code):
    azure.refuse(BAD, headers=headers, code=code)
    assert azure.wait(STORAGE) == 17


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="T1-nothing-said"),
        pytest.param(SERVICE, id="T1-service"),
        pytest.param(PLENTY, id="T1-plenty-left"),
    ],
)
def test_several_of_one_provider_close_that_provider(azure, headers):
    azure.refuse(BAD, write("b"), headers=headers)
    assert azure.wait(OTHER) == 0
    azure.refuse(write("c"), headers=headers)
    assert azure.wait(OTHER) == 17
    assert azure.wait(STORAGE) == 0


def test_t1_several_of_several_providers_close_arm(azure):
    azure.refuse(BAD, write("b"), STORAGE)
    assert azure.wait(write("vault", "Microsoft.KeyVault")) == 17


def test_t1_several_that_arm_refused_itself_close_arm(azure):
    azure.refuse(BAD, write("b"), write("c"), headers=GATEWAY)
    assert azure.wait(STORAGE) == 17


def test_t1_several_providers_own_refusals_never_close_arm(azure):
    azure.refuse(
        BAD, write("b"), STORAGE, write("t", "Microsoft.Storage"), headers=SERVICE
    )
    assert azure.wait(write("vault", "Microsoft.KeyVault")) == 0


def test_t5_who_is_let_through_in_between_shows_that_its_provider_is_open(azure):
    for name in "abcdefgh":
        azure.refuse(write(name))
        azure.take(OTHER)
    assert azure.wait(OTHER) == 0


def test_t5_anybody_let_through_shows_that_arm_is_open(azure):
    azure.refuse(BAD, write("b"))
    azure.take(STORAGE)
    azure.refuse(write("key", "Microsoft.KeyVault"))
    assert azure.wait(STORAGE) == 0


def test_t5_refusals_far_apart_say_nothing_together(azure):
    for name in "abcdefgh":
        azure.refuse(write(name), seconds=5)
        azure.clock.advance(31.0)
    assert azure.wait(OTHER) == 0


def test_t6_a_resource_that_is_let_through_begins_with_the_shortest_pause(azure):
    for expected in (17, 17):
        azure.refuse(BAD)
        assert azure.wait(BAD) == expected
        azure.clock.advance(17.0)
        azure.take(BAD)
        assert [azure.wait(BAD) for _ in range(5)] == [0] * 5


def test_gates_of_resources_are_forgotten_once_they_hold_nobody_back(azure):
    for number in range(1000):
        azure.refuse(write(str(number)))
        azure.take(OTHER)
        azure.clock.advance(60)
    assert len(azure.budget._gates) < 300
