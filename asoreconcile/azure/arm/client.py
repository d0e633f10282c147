"""The ARM client: one request per call; returns an outcome or raises, and never sleeps.

`pipeline` sends the request; the pure modules (`lro_start`, `polling`, `errors`)
interpret the response. The bearer token goes to the endpoint's host only.

Rules: V1-V10, Q1, T9, D17.
"""

import builtins
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import attrs
from azure.core.credentials import TokenCredential
from azure.core.pipeline.transport import HttpTransport

from asoreconcile.azure.arm.bearer import TokenCache
from asoreconcile.azure.arm.budget import Budget, ThrottledError
from asoreconcile.azure.arm.correlation import CLIENT_REQUEST_ID
from asoreconcile.azure.arm.endpoint import Endpoint
from asoreconcile.azure.arm.errors import (
    ArmError,
    ArmTransportError,
    parse_fault,
    protocol_fault,
    stated_object,
)
from asoreconcile.azure.arm.ids import subscription_of
from asoreconcile.azure.arm.lro_start import parse_initial_response
from asoreconcile.azure.arm.metrics import ArmMetrics
from asoreconcile.azure.arm.outcomes import (
    NO_PROGRESS,
    ArmOutcome,
    Failed,
    Pending,
    Progress,
    ReadResource,
)
from asoreconcile.azure.arm.paging import Paging
from asoreconcile.azure.arm.pipeline import NO_HEADERS, ArmPipeline
from asoreconcile.azure.arm.polling import polled, unanswered
from asoreconcile.azure.arm.provisioning_state import infer_from_resource
from asoreconcile.azure.arm.registration import Registrations, needed
from asoreconcile.azure.arm.response import PERHAPS_A_PROXY, ArmResponse
from asoreconcile.azure.arm.tokens import DELETE, Token
from asoreconcile.base.clock import Clock
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import JsonObject
from asoreconcile.base.random_id import random_id

_log = Logger(__name__)


@attrs.frozen
class PollSchedule:
    """The poll delays of one client. Thread-safe; never blocks."""

    budget: Budget | None
    metrics: ArmMetrics | None

    def spread(self, outcome: ArmOutcome, url: str, operation_id: str) -> ArmOutcome:
        """Stretch the delay so that all operations of a subscription share its reads
        (T9).

        url: the URL of the request.
        operation_id: the client request id of the operation's first request.
        """
        if self.budget is None:
            return outcome
        subscription = subscription_of(urlsplit(url).path) or ""
        operations = self.budget.operations
        if not isinstance(outcome, Pending):
            operations.ended(subscription, operation_id)
            return outcome
        wait = operations.running(
            subscription,
            operation_id,
            outcome.delay_seconds,
            reads_left=self.budget.reads_left(subscription),
            reads_to_end=_reads_to_end(outcome),
            is_first=not outcome.progress.polls,
        )
        return attrs.evolve(outcome, delay_seconds=wait)

    def report(self, token: Token, outcome: Pending) -> None:
        """Log and count a status that could not be read (L15)."""
        _log.warning(
            "Operation status could not be read, keeping its token",
            error=str(outcome.read_error),
            badReads=outcome.progress.bad_reads,
            delaySeconds=outcome.delay_seconds,
        )
        if self.metrics is not None:
            self.metrics.troubled(urlsplit(token.url).path)


def _reads_to_end(running: Pending) -> int | None:
    """Return the number of reads until an operation ends; None if unknown.

    A deletion needs its poll. A PUT also needs a read of the resource; a PUT that
    outlived its first poll may need any number.
    """
    if running.token.type == DELETE:
        return 1
    return None if running.progress.polls else 2


class ArmClient:
    """Sends requests to one ARM endpoint as one identity. Thread-safe; share it.

    endpoint: `https://management.azure.com`, or an `Endpoint` with further hosts.
    credential: makes tokens for `scope`; one token is shared by all threads.
    user_agent: suffix, after the product and version (H2).
    transport: a transport of azure-core; by default `ArmTransport` with `connections`
    in its pool.
    budget: holds requests back after a throttling; None holds none back.
    register_providers: if true, request a provider's registration when ARM reports it
    missing (PR4).
    registrations: the registrations that were requested, shared by all clients of one
    principal.
    auxiliary_tenants: tenants whose tokens are sent with every request, for resources
    that refer to resources in those tenants (H5); the credential must be allowed there.

    Every method makes one request (`list`: one per page). A method blocks for at most
    100 s of silence and not beyond its reconcile's deadline (D9). It raises ArmError,
    ArmTransportError, ThrottledError (nothing sent) or CredentialError. Only one 401 is
    retried, with a new token (E8).
    """

    def __init__(
        self,
        endpoint: str | Endpoint,
        credential: TokenCredential,
        *,
        scope: str,
        clock: Clock,
        metrics: ArmMetrics | None = None,
        budget: Budget | None = None,
        user_agent: str = "",
        transport: HttpTransport[Any, Any] | None = None,
        connections: int = 32,
        register_providers: bool = True,
        registrations: Registrations | None = None,
        auxiliary_tenants: Sequence[str] = (),
    ) -> None:
        self.endpoint = (
            endpoint if isinstance(endpoint, Endpoint) else Endpoint(endpoint)
        )
        self._clock = clock
        self._credential = credential
        self._tokens: dict[str, TokenCache] = {}
        self._pace = PollSchedule(budget, metrics)
        self._exchanger = ArmPipeline(
            self.endpoint,
            credential,
            scope=scope,
            clock=clock,
            metrics=metrics,
            budget=budget,
            user_agent=user_agent,
            transport=transport,
            connections=connections,
            auxiliary_tenants=auxiliary_tenants,
        )
        self._registrations = (
            registrations or Registrations(clock) if register_providers else None
        )

    def token(self, scope: str) -> str:
        """Return a token of this identity for another audience than ARM's.

        scope: `https://graph.microsoft.com/.default`.

        The token is kept until it is about to expire. Blocking; safe from any thread.
        Raises the errors of `TokenCache.get`.
        """
        # Two threads may each make a cache; the first one is kept.
        made = TokenCache(self._credential, scope, clock=self._clock)
        return self._tokens.setdefault(scope, made).get().token

    def get(self, arm_id: str, api_version: str) -> JsonObject:
        """Return the resource as Azure has it; a 404 raises ArmError."""
        url = self.endpoint.address(arm_id, api_version)
        answer = self._exchanger.send("GET", url)
        self._expect_success(answer, "GET", url)
        return stated_object(answer, method="GET", url=url)

    def head(self, arm_id: str, api_version: str) -> bool:
        """Return whether the resource exists: true for 200 and 204, false for 404 (D17,
        V4).
        """
        url = self.endpoint.address(arm_id, api_version)
        answer = self._exchanger.send("HEAD", url)
        if answer.is_foreign:
            message = f"a page in place of an answer{PERHAPS_A_PROXY}"
            raise protocol_fault(answer, message, method="HEAD", url=url)
        if answer.status == 404:
            return False
        self._expect_success(answer, "HEAD", url)
        return True

    def put(
        self,
        arm_id: str,
        api_version: str,
        body: JsonObject,
        *,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> ArmOutcome:
        """Create or update. Raises ArmError if refused; returns Failed if the operation
        failed.
        """
        url = self.endpoint.address(arm_id, api_version)
        return self._begin("PUT", url, body=body, headers=headers)

    def delete(
        self,
        arm_id: str,
        api_version: str,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> ArmOutcome:
        """Delete; returns Done if the resource does not exist (V5). Adds no If-Match
        header.
        """
        url = self.endpoint.address(arm_id, api_version, query=query)
        return self._begin("DELETE", url, headers=headers)

    def post(
        self,
        arm_id_with_action: str,
        api_version: str,
        body: JsonObject | None = None,
    ) -> ArmOutcome:
        """Run an action (`{id}/listKeys`); its response is in `OperationDone.body`
        (V7).
        """
        url = self.endpoint.address(arm_id_with_action, api_version)
        return self._begin("POST", url, body=body)

    def poll(self, token: Token, progress: Progress = NO_PROGRESS) -> ArmOutcome:
        """Read an operation's status once.

        progress: the value in the last Pending; NO_PROGRESS after a restart.

        If the read fails, the token is kept (D3). A monitor on a foreign host is not
        read (L21).
        """
        progress = _identified(progress)
        request_id = progress.client_request_id
        # The URL comes from an annotation, and the request would carry the bearer
        # token.
        if not self.endpoint.serves(token.url):
            deleting = token.verb == "DELETE"
            return ReadResource("monitor on a foreign host", deleting=deleting)
        try:
            answer = self._exchanger.send(
                "GET", token.url, client_request_id=request_id
            )
            now = self._clock.now()
            outcome = polled(
                token, answer, endpoint=self.endpoint, progress=progress, now=now
            )
        except ThrottledError as closed:
            return Pending(token, closed.after_seconds, progress)
        except ArmTransportError as error:
            # Not an exception: a failed poll says nothing about the operation (D3).
            outcome = unanswered(token, error, progress=progress)
        if isinstance(outcome, Pending) and outcome.read_error is not None:
            self._pace.report(token, outcome)
        return self._pace.spread(outcome, token.url, request_id)

    def judge(
        self,
        arm_id: str,
        api_version: str,
        *,
        deleting: bool,
        progress: Progress = NO_PROGRESS,
    ) -> ArmOutcome:
        """Read the resource of an operation that lost its monitor (L9, L16).

        progress: the progress of the operation's earlier polls.

        A 404 is an outcome here: Done for a DELETE, Restart for a PUT. Raises ArmError
        if the read itself is refused, or its response is not usable.
        """
        progress = _identified(progress)
        request_id = progress.client_request_id
        url = self.endpoint.address(arm_id, api_version)
        answer = self._exchanger.send("GET", url, client_request_id=request_id)
        now = self._clock.now()
        outcome = infer_from_resource(
            answer, url=url, deleting=deleting, progress=progress, now=now
        )
        if isinstance(outcome, Failed) and not outcome.error.understood:
            raise outcome.error
        outcome = _unless_refused(outcome, answer)
        return self._pace.spread(outcome, url, request_id)

    def list(
        self,
        path: str,
        api_version: str,
        *,
        query: Mapping[str, str] | None = None,
    ) -> Iterator[JsonObject]:
        """Yield the entries of a list; pages are read as they are consumed (Q1).

        Raises the errors of `pages`.
        """
        for page in self.pages(path, api_version, query=query):
            yield from page

    def pages(
        self,
        path: str,
        api_version: str,
        *,
        query: Mapping[str, str] | None = None,
    ) -> "Iterator[builtins.list[JsonObject]]":
        """Yield the pages of a list, one request each, as they are consumed (Q1).

        Raises ForeignHostError for a next page on another host, and ArmError for pages
        that form a circle, never end or are invalid: see `Paging`.
        """
        url = self.endpoint.address(path, api_version, query=query)
        paging = Paging(self.endpoint, url)
        # One id for all pages, so that Azure's support finds the whole listing by it
        # (H1).
        request_id = random_id()
        while paging.url:
            answer = self._exchanger.send(
                "GET", paging.url, client_request_id=request_id
            )
            self._expect_success(answer, "GET", paging.url)
            yield paging.turn(answer)

    def close(self) -> None:
        """Close all connections; the client cannot be used afterwards."""
        self._exchanger.close()

    def _begin(
        self,
        method: str,
        url: str,
        *,
        body: JsonObject | None = None,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> ArmOutcome:
        request_id, headers = _named(headers)
        answer = self._exchanger.send(
            method, url, body=body, headers=headers, client_request_id=request_id
        )
        outcome = parse_initial_response(
            answer,
            method=method,
            url=url,
            endpoint=self.endpoint,
            client_request_id=request_id,
            now=self._clock.now(),
        )
        if isinstance(outcome, Failed):
            self._register_if_needed(outcome.error)
        return _unless_refused(self._pace.spread(outcome, url, request_id), answer)

    def _register_if_needed(self, error: ArmError) -> None:
        if self._registrations is not None:
            missing = needed(error)
            if missing is not None:
                self._registrations.request(self.post, *missing)

    def _expect_success(self, answer: ArmResponse, method: str, url: str) -> None:
        if answer.status >= 300:
            now = self._clock.now()
            fault = parse_fault(answer, method=method, url=url, now=now)
            # Some kinds are read before they are written, so reads register the
            # provider, too (PR1).
            self._register_if_needed(fault)
            raise fault


def _identified(progress: Progress) -> Progress:
    """Add an id for the polls if the id of the first request is unknown (H1)."""
    if progress.client_request_id:
        return progress
    return attrs.evolve(progress, client_request_id=random_id())


def _named(headers: Mapping[str, str]) -> tuple[str, Mapping[str, str]]:
    """Return a request's id, which the caller may set in a header, and its other
    headers.
    """
    own = ""
    others = {}
    for name, value in headers.items():
        if name.lower() == CLIENT_REQUEST_ID:
            own = value
        else:
            others[name] = value
    return own or random_id(), others


def _unless_refused(outcome: ArmOutcome, answer: ArmResponse) -> ArmOutcome:
    """Raise the error of a refused request or of a foreign response.

    An accepted request that failed later stays an outcome.
    """
    if isinstance(outcome, Failed) and (answer.status >= 300 or answer.is_foreign):
        raise outcome.error
    return outcome
