"""The process's HTTP endpoints: `/metrics`, `/healthz` and `/readyz`.

Plain HTTP for probes and scrapers, by default. Rules: MG-7, MG-8.
"""

import ssl
import urllib.parse
from collections.abc import Callable, Iterable
from typing import Protocol

import attrs
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from asoreconcile.runtime.debug import DebugPages
from asoreconcile.runtime.health import CheckResult, HealthChecks, HealthReport
from asoreconcile.serving.connection_handler import READ_SECONDS
from asoreconcile.serving.listener import OFF, Listener, ListenError
from asoreconcile.serving.messages import ServerRequest, ServerResponse


@attrs.frozen
class Access:
    """TLS and authorization of an endpoint.

    tls: argument of `listener.Listener`. guard: function called before each response;
    if it returns a response, that one is sent instead
    (`runtime.metrics_authorization`).
    """

    tls: Callable[[], ssl.SSLContext] = attrs.field(repr=False)
    guard: Callable[[ServerRequest], ServerResponse | None] = attrs.field(repr=False)


class Endpoints:
    """A service that serves HTTP on one address. Rule: MG-8."""

    def __init__(
        self,
        address: str,
        *,
        registry: CollectorRegistry | None = None,
        checks: tuple[HealthChecks, ...] = (),
        access: Access | None = None,
        debug: DebugPages | None = None,
        read_seconds: float = READ_SECONDS,
    ) -> None:
        """address: `:8081`, `127.0.0.1:0` (any free port), `[::1]:8081`; "0" and "" are
        off. Raises ListenError for any other form.
        registry: metrics served as /metrics. checks: health checks, each served under
        its own name. access: None for plain HTTP without authorization. debug: the
        pages of `/debug`, served only with `access`.
        """
        self._debug = debug if access else None
        self.name = f"endpoints {address}"
        self._registry = registry
        self._checks = {item.name: item for item in checks}
        self._guard = access.guard if access else None
        self._listener = Listener(
            address,
            self.answer,
            tls=access.tls if access else None,
            read_seconds=read_seconds,
            is_urgent=self._is_probe,
        )

    @property
    def port(self) -> int:
        """The port of the listening socket; 0 if the service does not listen."""
        return self._listener.port

    def start(self) -> None:
        """Listen, and serve on threads. Raises ListenError if it cannot."""
        self._listener.start()

    def lost(self) -> str:
        """Return why the listener failed, or "" while it works."""
        return self._listener.lost()

    def stop(self, timeout_seconds: float) -> list[str]:
        """Stop listening, and finish the responses in progress."""
        if self._debug is not None:
            self._debug.stop()
        left = self._listener.stop(timeout_seconds)
        return [f"{self.name} ({left} answers)"] if left else []

    def answer(self, request: ServerRequest) -> ServerResponse:
        """Return the response to a request, such as `/readyz?verbose`."""
        if self._guard is not None and (refusal := self._guard(request)) is not None:
            return refusal
        url = urllib.parse.urlsplit(request.target)
        # `?verbose` has no value, and would be dropped by default.
        query = urllib.parse.parse_qs(url.query, keep_blank_values=True)
        path = url.path.rstrip("/") or "/"
        if path == "/metrics" and self._registry is not None:
            encode, content_type = choose_encoder(request.headers.get("accept", ""))
            return ServerResponse(200, encode(self._registry), content_type)
        if self._debug is not None and (page := self._debug.answer(path, query)):
            return page
        report = self._report(path.removeprefix("/"), query)
        if report is None:
            return ServerResponse(404, b"not found\n")
        return ServerResponse(report.status, report.text.encode())

    def _is_probe(self, target: str) -> bool:
        """Return whether a request is a probe. Probes are served even if all other
        connections are slow, so that the pod is not restarted.
        """
        path = target.partition("?")[0]
        return path.strip("/").partition("/")[0] in self._checks

    def _report(self, path: str, query: dict[str, list[str]]) -> HealthReport | None:
        name, _, check = path.partition("/")
        checks = self._checks.get(name)
        if checks is None:
            return None
        if check:
            return checks.report_one(check)
        return checks.report(
            verbose="verbose" in query, exclude=frozenset(query.get("exclude", ()))
        )


class Listening(Protocol):
    """A listening server (`Endpoints`, `webhooks.server.WebhookServer`)."""

    name: str

    def lost(self) -> str:
        """Return why the server no longer listens; "" while it listens, and before it
        starts.
        """


class ListenersAlive:
    """Liveness: no server has lost its listening socket for good."""

    def __init__(self, listening: Iterable[Listening] = ()) -> None:
        self._listening = list(listening)

    def watch(self, listening: Listening) -> None:
        """Include one more listener in the check from now on."""
        self._listening.append(listening)

    def __call__(self) -> CheckResult:
        lost = [(one.name, one.lost()) for one in self._listening]
        details = tuple(f"{name}: {reason}" for name, reason in lost if reason)
        return CheckResult(ok=not details, details=details)


def endpoints_at(
    metrics: str,
    health: str,
    *,
    registry: CollectorRegistry,
    checks: tuple[HealthChecks, ...],
    access: Access | None = None,
    debug: DebugPages | None = None,
) -> dict[str, Endpoints]:
    """Return the endpoints of a process by address; metrics and probes may share one.

    access: authorization of requests for metrics and for the pages of `debug`. Raises
    ListenError for an invalid address, and if probes, which cannot authenticate, would
    have to.
    """
    if access is not None and metrics == health and metrics not in OFF:
        raise ListenError("probes cannot log in: give them an address of their own")
    return {
        address: Endpoints(
            address,
            registry=registry if address == metrics else None,
            checks=checks if address == health else (),
            access=access if address == metrics else None,
            debug=debug if address == metrics else None,
        )
        for address in (metrics, health)
        if address not in OFF
    }
