"""The webhook server: reviews by path, over TLS, answered by plain functions.

    server = WebhookServer(":9443", certificates=FileCertificates(folder), clock=clock)
    server.convert("/convert", convert)
    server.validate(webhook_path("validate", WIDGET), check_widget)

A service in the manager's group WEBHOOKS: it runs on every replica, leader or not.
Rules: WH-1 - WH-8.
"""

import os
import re
import socket
import ssl
import threading
import urllib.parse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import attrs

from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import (
    AsoreconcileError,
    check_choice,
    check_is,
    check_number,
)
from asoreconcile.base.objects import GroupVersionKind, JsonObject, ObjectKey
from asoreconcile.base.signatures import check_takes
from asoreconcile.serving.listener import Listener
from asoreconcile.serving.messages import ServerRequest, ServerResponse
from asoreconcile.webhooks.admission import KIND as REVIEW
from asoreconcile.webhooks.admission import (
    Decide,
    Mutate,
    Validate,
    mutating,
    validating,
)
from asoreconcile.webhooks.configurations import (
    AdmissionVerb,
    RegisteredWebhook,
    WebhookRules,
    configurations,
)
from asoreconcile.webhooks.conversion import Convert
from asoreconcile.webhooks.metrics import PathMetrics, WebhookMetrics
from asoreconcile.webhooks.review_work import ReviewWork
from asoreconcile.webhooks.routes import (
    Route,
    admission_route,
    conversion_route,
    reviewed,
)
from asoreconcile.webhooks.serving_certificates import (
    ClientAuthority,
    ServingCertificates,
)

# Connections over HTTP/1.1, of which one address may use 60.
_CONNECTIONS = 80
_TIMEOUT_SECONDS = 10.0  # the API server's own default
_MOST_TIMEOUT_SECONDS = 30.0  # and its limit
_DIAL_SECONDS = 1.0


class WebhookError(AsoreconcileError):
    """A webhook cannot be served as registered."""


@attrs.frozen(kw_only=True)
class WebhookLimits:
    """Limits of concurrency and size.

    max_conversions: concurrent conversions; None is the number of cores. Conversions
    are CPU-bound, and must not starve watches and the leader's lease (TH-7).
    max_admissions: concurrent admission reviews. Callers, told apart by their
    addresses, take turns, so that one that floods the port delays the others by one
    review each.
    max_admission_bytes, max_conversion_bytes: longest body of a request. All long
    bodies and their answers together take no more than two of the longest and an
    eighth.
    """

    max_conversions: int | None = None
    max_admissions: int = 16
    max_admission_bytes: int = 7 << 20
    max_conversion_bytes: int = 64 << 20

    def __attrs_post_init__(self) -> None:
        for name, value in attrs.asdict(self).items():
            if value is not None:
                check_number(name, value, least=1)

    @property
    def memory_bytes(self) -> int:
        """The limit for all long bodies and their answers."""
        longest = max(self.max_admission_bytes, self.max_conversion_bytes)
        return 2 * longest * 9 // 8


class WebhookServer:
    """A webhook server. Methods are safe from any thread; paths may be added while it
    runs.
    """

    name = "webhooks"

    def __init__(
        self,
        address: str,
        *,
        certificates: ServingCertificates,
        clock: Clock,
        metrics: WebhookMetrics | None = None,
        limits: WebhookLimits | None = None,
        client_authority: Path | None = None,
    ) -> None:
        """address: `:9443`, `127.0.0.1:0` (any free port); "0" and "" are off. Raises
        ListenError for any other form.
        limits: None uses the defaults. client_authority: a PEM file; admission reviews
        are answered only to clients with a certificate from it. API servers send no
        certificate with conversions, so those are answered without. Raises OSError for
        an unusable file.
        """
        self._clients = client_authority and ClientAuthority(client_authority)
        self._certificates = certificates
        limits = limits or WebhookLimits()
        self._clock = clock
        self._metrics = metrics
        self._routes: dict[str, Route] = {}
        self._registered: dict[str, RegisteredWebhook | None] = {}
        self._lock = threading.Lock()
        # Conversions are CPU-bound: with more at once each takes longer.
        conversions = limits.max_conversions or os.cpu_count() or 1
        self._work = ReviewWork(
            clock, conversions=conversions, admissions=limits.max_admissions
        )
        self._limits = limits
        self._listener = Listener(
            address,
            self.answer,
            methods=("POST",),
            tls=self._context,
            max_body_bytes=self._max_bytes,
            max_connections=_CONNECTIONS,
            memory_bytes=limits.memory_bytes,
            check_head=self._refusal,
        )

    def validate(
        self, path: str, *chain: Validate, on: WebhookRules | None = None
    ) -> None:
        """Register validating functions at a path, called in order. Rule: WH-5.

        on: the writes to validate, for `configurations`; None if you write the
        configurations yourself. Raises WebhookError if the path is taken or invalid;
        TypeError for a function that does not take one AdmissionRequest.
        """
        _check_chain(chain, "validating webhook")
        self._admit(path, validating(chain), "validate", on)

    def mutate(self, path: str, *chain: Mutate, on: WebhookRules | None = None) -> None:
        """Register mutating functions at a path, called in order. Rule: WH-5.

        on: the writes to mutate; see `validate`. Raises as `validate`.
        """
        _check_chain(chain, "mutating webhook")
        self._admit(path, mutating(chain), "mutate", on)

    def convert(self, path: str, convert: Convert) -> None:
        """Register a function that converts objects one by one. Rule: WH-6.

        Raises as `validate`.
        """
        check_takes(convert, "object", "api_version", what="conversion")
        route = conversion_route(
            convert,
            work=self._work,
            max_bytes=self._limits.max_conversion_bytes,
            metrics=self._path_metrics(path, converts=True),
        )
        self._add(path, route)

    def configurations(
        self,
        name: str,
        *,
        service: ObjectKey | None = None,
        port: int = 443,
        url: str = "",
        authorities: bytes = b"",
    ) -> list[JsonObject]:
        """Return the webhook configurations of the registered webhooks, ready to apply.
        Rule: WH-9.

        The arguments are those of `webhooks.configurations`. Raises WebhookError for
        registrations without `on`, or without registrations; ValueError unless exactly
        one of service and url is given.
        """
        with self._lock:
            registered = dict(self._registered)
        unsaid = [path for path, one in registered.items() if one is None]
        if unsaid:
            raise WebhookError(f"say `on` what is asked: {', '.join(sorted(unsaid))}")
        found = [one for one in registered.values() if one is not None]
        if not found:
            raise WebhookError("no webhook says what it is asked about")
        return configurations(
            name, found, service=service, port=port, url=url, authorities=authorities
        )

    @property
    def port(self) -> int:
        """The port it listens on; 0 if it does not listen."""
        return self._listener.port

    def start(self) -> None:
        """Listen, and serve on threads. Raises ListenError if it cannot."""
        self._listener.start()

    def drain(self) -> None:
        """Close each connection after its answer from now on: clients connect again."""
        self._listener.drain()

    def stop(self, timeout_seconds: float) -> list[str]:
        """Stop listening, and finish the responses in progress."""
        left = self._listener.stop(timeout_seconds)
        return [f"{self.name} ({left} reviews)"] if left else []

    def lost(self) -> str:
        """Return why it stopped listening without `stop`, or ""."""
        return self._listener.lost()

    def problem(self) -> str:
        """Return why it is unreachable, or ""; makes a TLS handshake with its own port.

        Blocks for at most 2 s. Rule: WH-8.
        """
        if self._listener.is_off:
            return ""
        try:
            _check_handshake(self._listener.reachable_at)
        except OSError as error:
            return f"{type(error).__name__}: {error}"
        return ""

    def answer(self, request: ServerRequest) -> ServerResponse:
        """Return the response to a request: a review, even for a malformed request.
        Rule: WH-3.
        """
        if (refusal := self._refusal(request)) is not None:
            return refusal
        path, _, query = request.target.partition("?")
        route = self._routes[path]
        deadline = self._clock.monotonic() + _timeout_seconds(query)
        with self._measured(route):
            pieces = reviewed(route, request, deadline=deadline)
            body = pieces[0] if len(pieces) == 1 else pieces
            return ServerResponse(200, body, "application/json")

    def _refusal(self, request: ServerRequest) -> ServerResponse | None:
        """Return the answer to a request that needs no look at its body."""
        route = self._routes.get(request.target.partition("?")[0])
        if route is None:
            return ServerResponse(404, b"no webhook at this path\n")
        if self._clients and route.kind == REVIEW and not request.is_certified:
            return ServerResponse(403, b"a client certificate is required here\n")
        return None

    def _context(self) -> ssl.SSLContext:
        """Return the context for the next handshake. Raises OSError while there is no
        certificate.
        """
        context = self._certificates.context()
        return self._clients.asked_by(context) if self._clients else context

    def _admit(
        self, path: str, decide: Decide, verb: AdmissionVerb, on: WebhookRules | None
    ) -> None:
        if on is not None:
            check_is("on", on, WebhookRules)
        route = admission_route(
            decide,
            work=self._work,
            max_bytes=self._limits.max_admission_bytes,
            metrics=self._path_metrics(path),
        )
        self._add(path, route)
        with self._lock:
            asked = None if on is None else RegisteredWebhook(verb, path, on)
            self._registered[path] = asked

    def _add(self, path: str, route: Route) -> None:
        if not isinstance(path, str):
            raise TypeError(
                f"{path!r:.80} is no path: give one, and the kinds by "
                "on=WebhookRules(...); or a class of @resource"
            )
        # A request's path has neither: such a route would never be called.
        if not path.startswith("/") or set(path) & {"?", "#"}:
            raise WebhookError(
                f"{path!r} is no path: it begins with /, without a query"
            )
        with self._lock:
            if path in self._routes:
                raise WebhookError(f"there is a webhook at {path} already")
            self._routes[path] = route

    def _path_metrics(self, path: str, *, converts: bool = False) -> PathMetrics | None:
        return self._metrics.path(path, converts=converts) if self._metrics else None

    def _max_bytes(self, target: str) -> int:
        route = self._routes.get(target.partition("?")[0])
        # The body is not read for an unknown path: anyone can reach the port.
        return route.max_bytes if route else 0

    @contextmanager
    def _measured(self, route: Route) -> Iterator[None]:
        metrics = route.metrics
        if metrics is None:
            yield
            return
        # Until the answer is there: an exception becomes a 500 in the listener.
        status, began = 500, self._clock.monotonic()
        try:
            with metrics.in_flight.track_inprogress():
                yield
            status = 200
        finally:
            metrics.answered(status, self._clock.monotonic() - began)


def _check_chain(chain: Sequence[Callable[..., object]], what: str) -> None:
    # Without functions every write would be allowed unchecked.
    if not chain:
        raise TypeError(f"a {what} needs a function to ask")
    for function in chain:
        check_takes(function, "request", what=what)


def webhook_path(verb: str, gvk: GroupVersionKind) -> str:
    """Return the webhook path of a kind, as in kubebuilder. Rule: WH-2.

    verb: `mutate` or `validate`. Raises ValueError for another one.
    """
    check_choice("verb", verb, "mutate", "validate")
    group = gvk.group.replace(".", "-")
    return f"/{verb}-{group}-{gvk.version}-{gvk.kind.lower()}"


@lru_cache(maxsize=16)
def _timeout_seconds(query: str) -> float:
    """Return the API server's timeout from the query: `timeout=10s`."""
    stated = urllib.parse.parse_qs(query).get("timeout", [""])[0]
    match = re.fullmatch(r"(\d{1,3})s", stated)
    seconds = float(match[1]) if match else _TIMEOUT_SECONDS
    return min(seconds, _MOST_TIMEOUT_SECONDS)


def _check_handshake(address: tuple[str, int]) -> None:
    """Check that a TLS handshake succeeds. Raises OSError (ssl.SSLError is one)."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    # Only the handshake is checked here; trust in the authority is checked elsewhere.
    context.verify_mode = ssl.CERT_NONE
    with (
        socket.create_connection(address, timeout=_DIAL_SECONDS) as plain,
        context.wrap_socket(plain),
    ):
        return
