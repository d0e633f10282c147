"""Health checks of a process: whether it works (`/healthz`), and whether it can serve
(`/readyz`). Rule: MG-7.

A check is a function that reads known state and calls no server. The most it does is a
TLS handshake with a port of its own process, for a second or two (WH-8).
"""

import threading
from collections.abc import Callable, Collection, Mapping

import attrs

from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import check_is, check_text
from asoreconcile.base.log import Logger
from asoreconcile.base.printable import printable
from asoreconcile.base.signatures import check_takes
from asoreconcile.base.threads import Threads
from asoreconcile.cache.server_probe import ServerProbe
from asoreconcile.queue.deadline_timer import DeadlineTimer

_log = Logger(__name__)
DEGRADED_AFTER_SECONDS = 120.0
_BEAT_SECONDS = 10.0
# A minute: with little CPU timers fire late, and a restart would not help.
_MISSED_BEATS = 6
# With every kind installed there are hundreds of targets.
_SHOWN = 10
# The API server's words about a webhook that it could not call, or that failed.
_CONVERSION = "conversion webhook for"


@attrs.frozen
class CheckResult:
    """A check's result. details: lines for people, shown on request. notice: a line
    that is also shown to probes if all checks pass; it names no object and no process.
    """

    ok: bool
    details: tuple[str, ...] = ()
    notice: str = ""


Checker = Callable[[], CheckResult]


@attrs.frozen
class HealthReport:
    """The response of one endpoint: an HTTP status and a plain text body."""

    status: int
    text: str


class HealthChecks:
    """The named checks of one endpoint. Safe from any thread, at any time."""

    def __init__(self, name: str) -> None:
        """name: `healthz` or `readyz`. If no check is added, there is one named
        `ping`.
        """
        self.name = name
        self._lock = threading.Lock()
        self._checks: dict[str, Checker] = {}
        self.have_passed = False
        """Whether all checks have passed once, at the same time."""

    def add(self, name: str, check: Checker) -> None:
        """Add a check. Raises ValueError if the name is taken, TypeError if the check
        cannot be called without arguments.
        """
        check_text("name", name)
        check_takes(check, what="check")
        with self._lock:
            if name in self._checks:
                raise ValueError(f"check {name} of {self.name} exists already")
            self._checks[name] = check

    def remove(self, name: str) -> None:
        """Remove a check; does nothing if there is none of that name."""
        with self._lock:
            self._checks.pop(name, None)

    def report(
        self, *, verbose: bool = False, exclude: Collection[str] = ()
    ) -> HealthReport:
        """Run all checks but the excluded; 200 if they pass, else 500.

        Reasons are shown only on request, as the endpoint needs no authentication.
        """
        with self._lock:
            # A copy: checks run without the lock, and kinds may come and go meanwhile.
            checks = dict(self._checks) or {"ping": _ping}
        # Without the lock: a check may take a second, and another request must not wait
        # for it.
        results = {
            name: _run(name, check)
            for name, check in checks.items()
            if name not in exclude
        }
        ok = all(result.ok for result in results.values())
        self.have_passed = self.have_passed or (ok and not exclude)
        if ok and not verbose:
            notices = (one.notice for one in results.values() if one.notice)
            return HealthReport(200, "\n".join(("ok", *map(printable, notices))))
        lines = []
        for name, result in results.items():
            mark = "[+]" if result.ok else "[-]"
            failed = "failed" if verbose else "failed: reason withheld"
            lines.append(f"{mark}{name} {'ok' if result.ok else failed}")
            if verbose:
                # The API server quotes others' text in its errors.
                lines.extend(f"    {printable(detail)}" for detail in result.details)
        lines.extend(
            f'warn: no check is named "{printable(name)}": it cannot be excluded'
            for name in sorted(set(exclude) - set(checks))
        )
        lines.append(f"{self.name} check {'passed' if ok else 'failed'}")
        return HealthReport(200 if ok else 500, "\n".join(lines) + "\n")

    def report_one(self, name: str) -> HealthReport | None:
        """Return the report of one check; None if there is no such check."""
        with self._lock:
            checks = dict(self._checks) or {"ping": _ping}
        check = checks.get(name)
        if check is None:
            return None
        if _run(name, check).ok:
            return HealthReport(200, "ok")
        return HealthReport(500, f"[-]{name} failed: reason withheld\n")


class CachesSynced:
    """A readiness check that the caches have synced.

    A kind that has not synced for `DEGRADED_AFTER_SECONDS` is reported but no longer
    fails readiness: one missing permission must not take down the webhooks of all other
    kinds.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._sources: dict[
            str, tuple[Callable[[], bool], Callable[[], str], float]
        ] = {}

    def watch(
        self,
        kind: str,
        has_synced: Callable[[], bool],
        last_error: Callable[[], str] = lambda: "",
    ) -> None:
        """Include a kind from now on. last_error: why it has not synced, or ""."""
        with self._lock:
            since = self._clock.monotonic()
            self._sources[kind] = (has_synced, last_error, since)

    def forget(self, kind: str) -> None:
        """Drop a kind whose informer is gone."""
        with self._lock:
            self._sources.pop(kind, None)

    def __call__(self) -> CheckResult:
        return self._result(waits_for_conversion=True)

    def readiness(self) -> CheckResult:
        """Return the result of the check, in which a kind whose list waits for a
        conversion webhook does not fail.

        This process may be the webhook, and is called only once it is ready.
        """
        return self._result(waits_for_conversion=False)

    def _result(self, *, waits_for_conversion: bool) -> CheckResult:
        now = self._clock.monotonic()
        with self._lock:
            sources = dict(self._sources)
        ok = True
        details = []
        for kind, (has_synced, last_error, since) in sorted(sources.items()):
            if has_synced():
                details.append(f"{kind}: synced")
                continue
            # Ready anyway: the other kinds are served meanwhile.
            degraded = now - since >= DEGRADED_AFTER_SECONDS
            reason = last_error()
            converts = not waits_for_conversion and _CONVERSION in reason
            ok = ok and (degraded or converts)
            state = "degraded, not synced" if degraded else "not synced"
            details.append(f"{kind}: {state}{': ' + reason if reason else ''}")
        return CheckResult(ok, tuple(details))


class TimersAlive:
    """A liveness check that the clock's timers fire. All delays of all queues depend on
    them.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = clock.monotonic()
        self._stopped = False
        self._timer = DeadlineTimer(clock, self._beat)

    def start(self) -> None:
        """Set the first timer; each one sets the next."""
        self._beat()

    def stop(self, timeout_seconds: float = 0.0) -> list[str]:  # noqa: ARG002 - a service's stop
        """Set no further timers. Never blocks, and always succeeds."""
        self._stopped = True
        self._timer.cancel()
        return []

    def __call__(self) -> CheckResult:
        late = self._clock.monotonic() - self._last
        ok = late < _BEAT_SECONDS * _MISSED_BEATS
        return CheckResult(ok, (f"last timer fired {late:.0f} s ago",))

    def _beat(self) -> None:
        self._last = self._clock.monotonic()
        if not self._stopped:
            self._timer.set(self._last + _BEAT_SECONDS)


class ThreadsAlive:
    """A liveness check that each long-lived thread of the process runs.

    Fails while one is dead. A dead thread is restarted within 30 seconds, so a probe
    ends the process only if threads keep dying beyond its failure threshold.
    """

    def __init__(self, threads: Threads) -> None:
        self._threads = threads

    def __call__(self) -> CheckResult:
        down = self._threads.down()
        details = [
            f"{name}: {'dead, starts again soon' if name in down else 'runs again'}, "
            f"died {crash.count} times, last of {crash.error}"
            for name, crash in sorted(self._threads.crashes().items())
        ]
        return CheckResult(ok=not down, details=tuple(details))


def _ping() -> CheckResult:
    return CheckResult(ok=True)


def _run(name: str, check: Checker) -> CheckResult:
    try:
        result = check()
        check_is("the answer of a check", result, CheckResult)
    except BaseException as error:  # noqa: BLE001 - a check that breaks is one that fails
        _log.exception("Health check raised", check=name)
        return CheckResult(ok=False, details=(f"{type(error).__name__}",))
    return result


@attrs.frozen(eq=False)
class ApiServerAnswers:
    """A readiness check that never fails, as webhooks work without the
    API server. It reports when the server last answered, how many watches were reopened
    after a silence, and which watches wait for a handler.

    held_up: returns the watches that wait for a handler, with the seconds
    (`Informers.held_up`).
    """

    _probe: ServerProbe
    _held_up: Callable[[], Mapping[str, float]] = dict

    def __call__(self) -> CheckResult:
        probe = self._probe
        answered = f"last answered {probe.seconds_since_answer:.0f} s ago"
        if probe.last_error:
            answered = f"{answered}, and does not now: {probe.last_error}"
        renewed = f"watches opened anew after silence: {probe.renewed}"
        waiting = [
            f"{watch}: a handler has not returned for {seconds:.0f} s"
            for watch, seconds in sorted(self._held_up().items())
        ]
        return CheckResult(ok=True, details=(answered, renewed, *waiting[:_SHOWN]))


@attrs.define(eq=False)
class WebhookReadiness:
    """A readiness check that the API server's calls to this process's webhooks would
    succeed.

    A successful TLS handshake is not enough: until a CRD or webhook configuration has
    the CA of the serving certificate, each call through it fails with `x509`. Rules:
    WH-7, WH-8. Safe from any thread.

    A target that lacks the right caBundle for `DEGRADED_AFTER_SECONDS` is reported but
    no longer fails readiness: one missing permission must not take down all other
    webhooks.

    problem: returns why a TLS handshake would fail, or "" (`WebhookServer.problem`).
    pending_injections: returns the targets that do not trust the server yet, with the
    reasons (`ManagedCertificates.pending_injections`).
    """

    _problem: Callable[[], str]
    _pending_injections: Callable[[], Mapping[str, str]] = dict
    _clock: Clock = attrs.field(kw_only=True)
    _lock: threading.Lock = attrs.field(init=False, factory=threading.Lock)
    _since: dict[str, float] = attrs.field(init=False, factory=dict)

    def __call__(self) -> CheckResult:
        # Our own port first: if it does not answer, trust does not matter.
        problem = self._problem()
        if problem:
            return CheckResult(ok=False, details=(problem,))
        pending_injections = self._pending_injections()
        now = self._clock.monotonic()
        with self._lock:
            # Only targets that wait now: a target that waits again gets its full time
            # again.
            self._since = {
                name: self._since.get(name, now) for name in pending_injections
            }
            since = dict(self._since)
        ok = True
        details = []
        for name, reason in sorted(pending_injections.items()):
            degraded = now - since[name] >= DEGRADED_AFTER_SECONDS
            ok = ok and degraded
            state = "degraded, waits" if degraded else "waits"
            said = f"{name}: {state} for its caBundle"
            details.append(f"{said}: {reason}" if reason else said)
        more = len(details) - _SHOWN
        if more > 0:
            details[_SHOWN:] = [f"and {more} more"]
        return CheckResult(ok, tuple(details))
