"""Whether the API server's calls to our webhooks would succeed: a readiness check.

That a client is greeted is not enough: until a CRD or webhook configuration carries the
authority of the certificate that is shown, each call through it fails with `x509`.
Rules: WH-7, WH-8.
"""

import threading
from collections.abc import Callable, Mapping

from asoreconcile.clock import Clock
from asoreconcile.runtime.health import DEGRADED_AFTER_SECONDS, CheckResult

_SHOWN = 10


class WebhookReadiness:
    """A readiness check (`runtime.health.Check`). Safe from any thread.

    A target that stays without our caBundle for `degraded_after_seconds` is shown, and
    stops failing readiness: one missing permission must not take the webhooks of all
    others down.
    """

    def __init__(
        self,
        problem: Callable[[], str],
        untold: Callable[[], Mapping[str, str]] = dict,
        *,
        clock: Clock,
        degraded_after_seconds: float = DEGRADED_AFTER_SECONDS,
    ) -> None:
        """problem: why a client would not be greeted, or "" (`WebhookServer.problem`).
        untold: what would not trust the server yet, and why
        (`ManagedCertificates.untold`).
        """
        self._problem = problem
        self._untold = untold
        self._clock = clock
        self._degraded_after_seconds = degraded_after_seconds
        self._lock = threading.Lock()
        self._since: dict[str, float] = {}

    def __call__(self) -> CheckResult:
        problem = self._problem()
        if problem:
            return CheckResult(ok=False, details=(problem,))
        untold = self._untold()
        now = self._clock.monotonic()
        with self._lock:
            self._since = {name: self._since.get(name, now) for name in untold}
            since = dict(self._since)
        ok = True
        details = []
        for name, reason in sorted(untold.items()):
            degraded = now - since[name] >= self._degraded_after_seconds
            ok = ok and degraded
            state = "degraded, waits" if degraded else "waits"
            said = f"{name}: {state} for its caBundle"
            details.append(f"{said}: {reason}" if reason else said)
        more = len(details) - _SHOWN
        if more > 0:
            details[_SHOWN:] = [f"and {more} more"]
        return CheckResult(ok, tuple(details))
