"""Ready is who would be called with success."""

import pytest

from asoreconcile.runtime.health import CheckResult
from asoreconcile.runtime.webhook_readiness import WebhookReadiness
from asoreconcile.testing.clock import FakeClock


@pytest.fixture
def clock():
    return FakeClock()


def readiness(clock, untold, problem=""):
    return WebhookReadiness(lambda: problem, lambda: untold, clock=clock)


def test_wh8_who_cannot_be_greeted_is_not_ready(clock):
    verdict = readiness(clock, {}, "ConnectionRefusedError")()
    assert verdict == CheckResult(ok=False, details=("ConnectionRefusedError",))
    assert readiness(clock, {})() == CheckResult(ok=True)


def test_wh7_who_would_not_be_trusted_is_not_ready(clock):
    untold = {"b": "", "a": "it is forbidden"}
    check = readiness(clock, untold)
    assert check() == CheckResult(
        ok=False,
        details=(
            "a: waits for its caBundle: it is forbidden",
            "b: waits for its caBundle",
        ),
    )
    untold.clear()
    assert check() == CheckResult(ok=True)


def test_what_stays_untold_is_shown_and_holds_up_nobody(clock):
    untold = {"a": "it is forbidden"}
    check = readiness(clock, untold)
    assert not check().ok
    clock.advance(119)
    assert not check().ok
    clock.advance(1)
    verdict = check()
    assert verdict.ok
    assert "degraded" in verdict.details[0]
    untold["b"] = ""
    assert not check().ok  # its time has only begun
    clock.advance(120)
    assert check().ok


def test_hundreds_are_not_listed_one_by_one(clock):
    details = readiness(clock, {f"{n:03}": "" for n in range(290)})().details
    assert len(details) == 11
    assert details[-1] == "and 280 more"
