"""The ARM client: one request a call, an outcome or an exception, never a wait.

azure-core's pipeline carries the request (identity, transport) without its retries,
redirects, logging and pollers; what the answer means is decided by the pure half
(`beginning`, `polling`, `faults`). The bearer token goes to the endpoint's host only.
Rules: V1-V10, H1-H4, Q1, D17.
"""

import uuid
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import orjson
from azure.core.credentials import TokenCredential
from azure.core.exceptions import AzureError
from azure.core.pipeline import Pipeline
from azure.core.pipeline.policies import UserAgentPolicy
from azure.core.pipeline.transport import HttpRequest, HttpResponse, HttpTransport
from urllib3.exceptions import HTTPError

from asoreconcile.arm import correlation
from asoreconcile.arm.answers import Answer, BrokenBodyError
from asoreconcile.arm.bearer import BearerPolicy, ForeignHostError, TokenCache
from asoreconcile.arm.beginning import begun
from asoreconcile.arm.budget import Bucket, Budget, ThrottledError, operation_class
from asoreconcile.arm.endpoint import Endpoint
from asoreconcile.arm.faults import (
    ArmError,
    ArmTransportError,
    Sent,
    parse_fault,
    protocol_fault,
)
from asoreconcile.arm.ids import subscription_of
from asoreconcile.arm.metrics import ArmMetrics
from asoreconcile.arm.outcomes import (
    NO_PROGRESS,
    Failed,
    Outcome,
    Pending,
    Progress,
    ReadResource,
)
from asoreconcile.arm.polling import judged, polled, unanswered
from asoreconcile.arm.registration import Registrations, needed
from asoreconcile.arm.tokens import Token
from asoreconcile.arm.transport import (
    CONNECT_TIMEOUT_SECONDS,
    READ_TIMEOUT_SECONDS,
    ArmTransport,
    BodyLimitError,
    read_body,
    sent,
)
from asoreconcile.clock import Clock
from asoreconcile.log import Logger
from asoreconcile.objects import JsonObject
from asoreconcile.runtime import current
from asoreconcile.version import __version__

MAX_PAGES = 1000
_NO_HEADERS: Mapping[str, str] = {}

_log = Logger(__name__)


class ArmClient:
    """Requests to one ARM endpoint as one identity. Thread-safe; share it.

    endpoint: `https://management.azure.com`, or an `Endpoint` with further hosts.
    credential: makes tokens for `scope`; one is shared by all threads.
    user_agent: suffix, after the product and version (H2).
    transport: of azure-core; by default `ArmTransport` with `connections` in its pool.
    budget: gates requests after a throttling; without one none is held back.
    register_providers: ask for a provider's registration when ARM misses it (PR4).

    Every method makes one request (`list`: one a page), blocks for it at most
    100 s of silence and not beyond its reconcile's deadline (D9), and raises ArmError,
    ArmTransportError, ThrottledError (nothing sent) or CredentialError. Nothing is
    retried but one 401, with a new token (E8).
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
    ) -> None:
        self.endpoint = (
            endpoint if isinstance(endpoint, Endpoint) else Endpoint(endpoint)
        )
        self._clock = clock
        self._metrics = metrics
        self._budget = budget
        self._user_agent = _user_agent(user_agent)
        self._pipeline: Pipeline[HttpRequest, HttpResponse] = Pipeline(
            transport or ArmTransport(url=self.endpoint.url, connections=connections),
            policies=[BearerPolicy(TokenCache(credential, scope), self.endpoint)],
        )
        self._registrations = (
            Registrations(self.post, clock=clock) if register_providers else None
        )

    def get(self, arm_id: str, api_version: str) -> JsonObject:
        """The resource as Azure has it; 404 is an ArmError."""
        url = self.endpoint.address(arm_id, api_version)
        return self._document("GET", url)

    def head(self, arm_id: str, api_version: str) -> bool:
        """Whether the resource exists: 200 and 204 say yes, 404 no (D17, V4)."""
        url = self.endpoint.address(arm_id, api_version)
        answer = self._send("HEAD", url)
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
        headers: Mapping[str, str] = _NO_HEADERS,
    ) -> Outcome:
        """Create or update; ArmError when refused, Failed when it ended badly."""
        url = self.endpoint.address(arm_id, api_version)
        return self._begin("PUT", url, body=body, headers=headers)

    def delete(
        self,
        arm_id: str,
        api_version: str,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] = _NO_HEADERS,
    ) -> Outcome:
        """Delete; a resource that is not there is Done (V5). No If-Match by itself."""
        url = self.endpoint.address(arm_id, api_version, query=query)
        return self._begin("DELETE", url, headers=headers)

    def post(
        self,
        arm_id_with_action: str,
        api_version: str,
        body: JsonObject | None = None,
    ) -> Outcome:
        """Run an action (`{id}/listKeys`); its answer is `Done.body` (V7)."""
        url = self.endpoint.address(arm_id_with_action, api_version)
        return self._begin("POST", url, body=body)

    def poll(self, token: Token, progress: Progress = NO_PROGRESS) -> Outcome:
        """Read an operation's status once.

        progress: as the last Pending gave it, or none after a restart. Trouble while
        reading keeps the token (D3); a monitor on a foreign host is not asked (L21).
        """
        if not self.endpoint.serves(token.url):
            deleting = token.verb == "DELETE"
            return ReadResource("monitor on a foreign host", deleting=deleting)
        try:
            outcome = self._polled(token, progress)
        except ThrottledError as closed:
            return Pending(token, closed.after_seconds, progress)
        except ArmTransportError as error:
            outcome = unanswered(token, error, progress=progress)
        if isinstance(outcome, Pending) and outcome.trouble is not None:
            self._report(token, outcome)
        return outcome

    def judge(
        self, arm_id: str, api_version: str, *, deleting: bool, polls: int = 0
    ) -> Outcome:
        """Read the resource of an operation that lost its monitor (L9, L16).

        404 is an outcome here: Done for a DELETE, Restart for a PUT. Raises ArmError
        when the read itself is refused.
        """
        url = self.endpoint.address(arm_id, api_version)
        answer = self._send("GET", url)
        now = self._clock.now()
        outcome = judged(answer, url=url, deleting=deleting, polls=polls, now=now)
        return _unless_refused(outcome, answer)

    def list(
        self,
        path: str,
        api_version: str,
        *,
        query: Mapping[str, str] | None = None,
    ) -> Iterator[JsonObject]:
        """The entries of a list, page by page as they are consumed (Q1).

        Raises ForeignHostError for a next page on another host, and ArmError for pages
        that lead in a circle or never end.
        """
        url = self.endpoint.address(path, api_version, query=query)
        seen = {url}
        while True:
            page = self._document("GET", url)
            entries = page.get("value")
            for entry in entries if isinstance(entries, list) else ():
                if isinstance(entry, dict):
                    yield entry
            following = page.get("nextLink")
            if not following or not isinstance(following, str):
                return
            if following in seen or len(seen) == MAX_PAGES:
                message = f"the list does not end after {len(seen)} pages"
                raise protocol_fault(Answer(200), message, method="GET", url=url)
            if not self.endpoint.serves(following):
                raise ForeignHostError("the list's next page is on a foreign host")
            seen.add(following)
            url = following

    def close(self) -> None:
        """Close all connections; the client cannot be used after it."""
        self._pipeline.__exit__()

    def _begin(
        self,
        method: str,
        url: str,
        *,
        body: JsonObject | None = None,
        headers: Mapping[str, str] = _NO_HEADERS,
    ) -> Outcome:
        request_id = str(uuid.uuid4())
        answer = self._send(
            method, url, body=body, headers=headers, client_request_id=request_id
        )
        outcome = begun(
            answer,
            method=method,
            url=url,
            endpoint=self.endpoint,
            client_request_id=request_id,
            now=self._clock.now(),
        )
        if isinstance(outcome, Failed):
            self._register_if_needed(outcome.error)
        return _unless_refused(outcome, answer)

    def _polled(self, token: Token, progress: Progress) -> Outcome:
        request_id = progress.client_request_id
        answer = self._send("GET", token.url, client_request_id=request_id)
        return polled(
            token,
            answer,
            endpoint=self.endpoint,
            progress=progress,
            now=self._clock.now(),
        )

    def _report(self, token: Token, outcome: Pending) -> None:
        _log.warning(
            "Operation status could not be read, keeping its token",
            error=str(outcome.trouble),
            badReads=outcome.progress.bad_reads,
            delaySeconds=outcome.delay_seconds,
        )
        if self._metrics is not None:
            self._metrics.troubled(urlsplit(token.url).path)

    def _register_if_needed(self, error: ArmError) -> None:
        if self._registrations is not None:
            missing = needed(error)
            if missing is not None:
                self._registrations.request(*missing)

    def _document(self, method: str, url: str) -> JsonObject:
        answer = self._send(method, url)
        self._expect_success(answer, method, url)
        try:
            document = answer.json_object
        except BrokenBodyError as broken:
            raise protocol_fault(
                answer, str(broken), method=method, url=url
            ) from broken
        if document is None:
            message = "the answer is no JSON object"
            raise protocol_fault(answer, message, method=method, url=url)
        return document

    def _expect_success(self, answer: Answer, method: str, url: str) -> None:
        if answer.status >= 300:
            now = self._clock.now()
            raise parse_fault(answer, method=method, url=url, now=now)

    def _send(
        self,
        method: str,
        url: str,
        *,
        body: JsonObject | None = None,
        headers: Mapping[str, str] = _NO_HEADERS,
        client_request_id: str = "",
    ) -> Answer:
        """One request out, one answer in, whatever its status."""
        parts = urlsplit(url)
        bucket = Bucket(subscription_of(parts.path) or "", operation_class(method))
        if self._budget is not None:
            self._budget.admit(bucket)
        request = self._request(method, url, body, headers, client_request_id)
        started = self._clock.monotonic()
        try:
            answer = self._exchange(request)
        except ArmTransportError:
            if self._metrics is not None:
                seconds = self._clock.monotonic() - started
                self._metrics.unanswered(method, parts.path, seconds)
            raise
        if self._metrics is not None:
            seconds = self._clock.monotonic() - started
            self._metrics.answered(method, parts.path, answer.status, seconds)
        if self._budget is not None:
            fault = parse_fault(answer) if answer.status == 429 else None
            self._budget.observe(bucket, answer.headers, fault)
        return answer

    def _request(
        self,
        method: str,
        url: str,
        body: JsonObject | None,
        headers: Mapping[str, str],
        client_request_id: str,
    ) -> HttpRequest:
        members = {
            "Accept": "application/json",
            "User-Agent": self._user_agent,
            "x-ms-client-request-id": client_request_id or str(uuid.uuid4()),
            **headers,
        }
        correlation_id = correlation.current()
        if correlation_id:
            members["x-ms-correlation-request-id"] = correlation_id
        data = None
        if body is not None:
            members["Content-Type"] = "application/json"
            data = orjson.dumps(body)
        return HttpRequest(method, url, headers=members, data=data)

    def _exchange(self, request: HttpRequest) -> Answer:
        try:
            run = self._pipeline.run(request, stream=True, **self._time_outs(request))
            response = run.http_response
            content = read_body(response.internal_response.raw, self._clock)
        except AzureError as error:
            raise _transport_error(request, error, sent(error)) from None
        except (HTTPError, OSError, BodyLimitError) as error:
            raise _transport_error(request, error, "maybe") from None
        headers = {name.lower(): text for name, text in response.headers.items()}
        return Answer(response.status_code, headers, content)

    def _time_outs(self, request: HttpRequest) -> dict[str, float]:
        """What is left of the pass, if it has an end. Rule: D9."""
        deadline = current.deadline()
        if deadline is None:
            return {}
        left = deadline - self._clock.monotonic()
        if left <= 0:
            raise ArmTransportError(
                "not sent: the pass has used up its time",
                sent="no",
                method=request.method,
                url=request.url,
            )
        return {
            "connection_timeout": min(CONNECT_TIMEOUT_SECONDS, left),
            "read_timeout": min(READ_TIMEOUT_SECONDS, left),
        }


def _unless_refused(outcome: Outcome, answer: Answer) -> Outcome:
    """A refusal is an exception; an accepted request that failed is an outcome."""
    if isinstance(outcome, Failed) and answer.status >= 300:
        raise outcome.error
    return outcome


def _transport_error(
    request: HttpRequest, error: Exception, state: Sent
) -> ArmTransportError:
    # Not chained: azure-core's and requests' exceptions hold the request's headers.
    return ArmTransportError(
        f"no answer: {type(error).__name__}: {error}",
        sent=state,
        method=request.method,
        url=request.url,
    )


def _user_agent(suffix: str) -> str:
    core = UserAgentPolicy().user_agent
    return f"{core} asoreconcile/{__version__} {suffix}".rstrip()
