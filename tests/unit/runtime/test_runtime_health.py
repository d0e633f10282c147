"""Health checks: reports, readiness of caches, liveness of timers."""

import pytest

from asoreconcile.runtime.health import (
    CachesSynced,
    CheckResult,
    HealthChecks,
    TimersAlive,
    WebhookReadiness,
)
from asoreconcile.testing.clock import FakeClock


@pytest.fixture
def checks():
    checks = HealthChecks("readyz")
    checks.add("good", lambda: CheckResult(ok=True, details=("fine",)))
    return checks


def failing():
    return CheckResult(ok=False, details=("disk on fire",))


def test_mg7_without_checks_there_is_ping():
    report = HealthChecks("healthz").report(verbose=True)
    assert (report.status, report.text) == (200, "[+]ping ok\nhealthz check passed\n")


def test_mg7_success_is_a_plain_ok(checks):
    assert checks.report().text == "ok"
    assert checks.report().status == 200


def test_mg7_a_notice_is_shown_without_a_request_for_details(checks):
    checks.add("lease", lambda: CheckResult(ok=True, notice="nobody\nrenews"))
    assert checks.report().text == "ok\nnobody\\nrenews"
    assert checks.report().status == 200


def test_mg7_a_failure_lists_all_and_withholds_reasons(checks):
    checks.add("bad", failing)
    report = checks.report()
    assert report.status == 500
    assert report.text == (
        "[+]good ok\n[-]bad failed: reason withheld\nreadyz check failed\n"
    )


def test_mg7_verbose_shows_details(checks):
    checks.add("bad", failing)
    text = checks.report(verbose=True).text
    assert "    fine\n" in text
    assert "[-]bad failed\n    disk on fire\n" in text


def test_mg7_a_reason_is_one_line(checks):
    forged = "refused\n[+]all ok\x1b[2J"
    checks.add("bad", lambda: CheckResult(ok=False, details=(forged,)))
    text = checks.report(verbose=True, exclude=["x\n[+]more ok"]).text
    assert "    refused\\n[+]all ok\\x1b[2J\n" in text
    assert [line for line in text.split("\n") if line.startswith("[+]")] == [
        "[+]good ok"
    ]


def test_mg7_excluded_checks_are_not_run(checks):
    checks.add("bad", failing)
    assert checks.report(exclude=["bad"]).status == 200
    text = checks.report(verbose=True, exclude=["bad", "typo"]).text
    assert 'no check is named "typo"' in text


def test_mg7_one_check_alone(checks):
    checks.add("bad", failing)
    assert checks.report_one("good").text == "ok"
    assert checks.report_one("bad").status == 500
    assert checks.report_one("unknown") is None


def test_a_check_that_raises_fails(checks, caplog):
    def broken():
        raise ValueError("secret")

    checks.add("broken", broken)
    report = checks.report(verbose=True)
    assert report.status == 500
    assert "ValueError" in report.text
    assert "secret" not in report.text


def test_a_check_that_means_to_end_the_program_fails(checks, caplog):
    """Whoever probed got no answer, and nothing was logged."""

    def leave():
        raise SystemExit(1)

    checks.add("leaving", leave)
    assert checks.report().status == 500
    assert "Health check raised" in caplog.text


@pytest.mark.parametrize("answer", [True, None, "ok"])
def test_a_check_that_answers_something_else_fails_and_says_so(checks, caplog, answer):
    checks.add("odd", lambda: answer)
    assert "[-]odd failed\n    TypeError" in checks.report(verbose=True).text
    assert f"the answer of a check is {answer!r}: give CheckResult" in caplog.text


def test_what_cannot_be_asked_is_no_check(checks):
    with pytest.raises(TypeError, match="is no check: it cannot be called"):
        checks.add("odd", True)


def test_names_are_unique_and_can_be_removed(checks):
    with pytest.raises(ValueError, match="good"):
        checks.add("good", failing)
    checks.remove("good")
    checks.add("good", failing)
    assert checks.report().status == 500


def test_readiness_waits_for_caches_but_not_for_ever(clock):
    synced = {"VNet": False, "Subnet": True}
    check = CachesSynced(clock)
    check.watch("VNet", lambda: synced["VNet"], lambda: "forbidden")
    check.watch("Subnet", lambda: synced["Subnet"])
    assert check() == CheckResult(
        ok=False, details=("Subnet: synced", "VNet: not synced: forbidden")
    )
    clock.advance(120)
    verdict = check()
    assert verdict.ok
    assert "VNet: degraded, not synced: forbidden" in verdict.details
    synced["VNet"] = True
    assert "VNet: synced" in check().details
    check.forget("VNet")
    assert check().details == ("Subnet: synced",)


def test_a_list_that_waits_for_a_conversion_does_not_fail_readiness():
    """This process may be the one that converts, and is called once it is ready."""
    check = CachesSynced(FakeClock())
    why = "conversion webhook for a/v1, Kind=V failed: connection refused"
    check.watch("VNet", lambda: False, lambda: why)
    assert (check().ok, check.readiness().ok) == (False, True)
    check.watch("Subnet", lambda: False, lambda: "forbidden")
    assert not check.readiness().ok


def test_timers_that_stand_still_fail_liveness(clock):
    check = TimersAlive(clock)
    check.start()
    clock.advance(1000)
    assert check().ok
    assert check.stop(0) == []
    clock.advance(100)
    assert not check().ok


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
