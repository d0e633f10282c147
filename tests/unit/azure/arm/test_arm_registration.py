"""Registering a provider: once, and nobody waits."""

import threading

import orjson
import pytest

from asoreconcile.azure.arm.budget import ThrottledError
from asoreconcile.azure.arm.credentials import CredentialError
from asoreconcile.azure.arm.errors import ArmTransportError, parse_fault
from asoreconcile.azure.arm.registration import Registrations, needed
from asoreconcile.azure.arm.response import ArmResponse
from asoreconcile.base.errors import StoppedError
from asoreconcile.testing.clock import FakeClock

URL = (
    "https://management.azure.com/subscriptions/s/resourceGroups/g/providers"
    "/Microsoft.Own/things/n?api-version=1"
)
MESSAGE = "The subscription is not registered to use namespace 'Microsoft.Said'."


def refusal(status=409, code="MissingSubscriptionRegistration", url=URL, **error):
    body = {"error": {"code": code, "message": "m", **error}}
    return parse_fault(
        ArmResponse(status, {}, orjson.dumps(body)), method="PUT", url=url
    )


@pytest.mark.parametrize(
    ("error", "namespace"),
    [
        pytest.param(
            refusal(message=MESSAGE, details=[{"target": "Microsoft.Target"}]),
            "Microsoft.Target",
            id="PR2-target",
        ),
        pytest.param(refusal(message=MESSAGE), "Microsoft.Said", id="PR2-message"),
        pytest.param(refusal(details=[{"target": "no namespace"}]), "Microsoft.Own", id="PR2-url"),
        pytest.param(
            refusal(code="missingsubscriptionregistration"),
            "Microsoft.Own",
            id="PR1-case",
        ),
        pytest.param(refusal(code="SubscriptionNotRegistered"), "Microsoft.Own", id="PR1-relative"),
    ],
)  # fmt: skip
def test_pr2_the_namespace_is_found(error, namespace):
    assert needed(error) == ("s", namespace)


@pytest.mark.parametrize(
    "error",
    [
        refusal(code="Conflict"),
        refusal(status=404),
        refusal(url="https://management.azure.com/providers/A.B/c/d"),
    ],
)
def test_pr1_other_refusals_register_nothing(error):
    assert needed(error) is None


def test_pr3_pr4_r4_7_one_post_for_all_objects():
    posts = []
    registrations = Registrations(FakeClock())

    def request(*which):
        return registrations.request(lambda *call: posts.append(call), *which)

    made = [request("s", "Microsoft.A") for _ in range(5)]
    request("S", "microsoft.a")
    request("s", "Microsoft.B")
    assert made == [True, False, False, False, False]
    assert posts == [
        ("/subscriptions/s/providers/Microsoft.A/register", "2019-05-01"),
        ("/subscriptions/s/providers/Microsoft.B/register", "2019-05-01"),
    ]


def test_pr4_others_do_not_wait_for_the_one_that_posts():
    entered, leave = threading.Event(), threading.Event()

    def post(*_):
        entered.set()
        leave.wait(10)

    registrations = Registrations(FakeClock())
    worker = threading.Thread(target=registrations.request, args=(post, "s", "A.B"))
    worker.start()
    assert entered.wait(10)
    assert registrations.request(post, "s", "A.B") is False
    leave.set()
    worker.join()


def test_pr4_it_is_asked_again_after_ten_minutes():
    clock, posts = FakeClock(), []
    registrations = Registrations(clock)
    registrations.request(lambda *call: posts.append(call), "s", "A.B")
    clock.advance(601)
    assert registrations.request(lambda *call: posts.append(call), "s", "A.B")
    assert len(posts) == 2


@pytest.mark.parametrize(
    "error",
    [
        refusal(status=500, code="X"),
        ArmTransportError("reset", sent="maybe", method="POST", url="https://a/b"),
        ThrottledError("throttled", after_seconds=9.0),
        CredentialError("no token"),
    ],
)
def test_pr4_trouble_is_logged_and_tried_again_soon(error, caplog):
    clock, posts = FakeClock(), []

    def post(*call):
        posts.append(call)
        raise error

    registrations = Registrations(clock)
    registrations.request(post, "s", "A.B")
    assert "not registered" in caplog.text
    clock.advance(31)
    registrations.request(post, "s", "A.B")
    assert len(posts) == 2


def test_pr4_who_stops_unwinds_and_the_next_process_asks(clock):

    def post(*_):
        raise StoppedError("no leader any more")

    registrations = Registrations(clock)
    with pytest.raises(StoppedError):
        registrations.request(post, "s", "A.B")
    clock.advance(31)
    assert registrations.request(lambda *_: None, "s", "A.B")


def test_pr4_a_missing_permission_is_said_once(caplog, clock):

    def post(*_):
        raise refusal(status=403, code="AuthorizationFailed")

    registrations = Registrations(clock)
    for _ in range(3):
        registrations.request(post, "s", "A.B")
        clock.advance(601)
    assert caplog.text.count("*/register/action") == 1
