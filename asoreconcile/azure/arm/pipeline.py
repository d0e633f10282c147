"""Send one request to ARM and return its response: identity, headers, budget, metrics.

azure-core's pipeline sends it, without azure-core's retries, redirects, logging and
pollers. This module does not interpret responses. Rules: V8, V10, H1, H2, H4, H5, T3,
T7, T10, D9.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from azure.core.credentials import TokenCredential
from azure.core.exceptions import AzureError
from azure.core.pipeline import Pipeline
from azure.core.pipeline.policies import UserAgentPolicy
from azure.core.pipeline.transport import HttpRequest, HttpResponse, HttpTransport

from asoreconcile.azure.arm import correlation
from asoreconcile.azure.arm.bearer import BearerPolicy, TokenCache
from asoreconcile.azure.arm.bucket_key import Bucket, OperationClass, operation_class
from asoreconcile.azure.arm.budget import Budget
from asoreconcile.azure.arm.correlation import CLIENT_REQUEST_ID, CORRELATION_ID
from asoreconcile.azure.arm.endpoint import Endpoint
from asoreconcile.azure.arm.errors import ArmTransportError, parse_fault
from asoreconcile.azure.arm.ids import subscription_of
from asoreconcile.azure.arm.metrics import ArmMetrics, resource_type
from asoreconcile.azure.arm.request_headers import check_headers
from asoreconcile.azure.arm.response import ArmResponse
from asoreconcile.azure.arm.transport import (
    ArmHttpResponse,
    ArmTransport,
    advice,
    cause,
    limited_call,
    sent,
)
from asoreconcile.base import jsontext, reconcile_context
from asoreconcile.base.call_limit import Call
from asoreconcile.base.clock import Clock
from asoreconcile.base.fencing import READS
from asoreconcile.base.log import Logger
from asoreconcile.base.lru import lru_cached
from asoreconcile.base.objects import JsonObject
from asoreconcile.base.random_id import random_id
from asoreconcile.base.reconcile_context import DeadlineError
from asoreconcile.base.version import __version__

NO_HEADERS: Mapping[str, str] = {}

_log = Logger(__name__)


class ArmPipeline:
    """Sends requests as one identity. Thread-safe. Options: see `ArmClient`."""

    def __init__(
        self,
        endpoint: Endpoint,
        credential: TokenCredential,
        *,
        scope: str,
        clock: Clock,
        metrics: ArmMetrics | None,
        budget: Budget | None,
        user_agent: str,
        transport: HttpTransport[Any, Any] | None,
        connections: int,
        auxiliary_tenants: Sequence[str],
    ) -> None:
        self._clock = clock
        self._metrics = metrics
        self._budget = budget
        self._user_agent = _user_agent(user_agent)
        bearer = BearerPolicy(
            TokenCache(credential, scope, clock=clock),
            endpoint,
            auxiliary=[
                TokenCache(credential, scope, clock=clock, tenant_id=tenant)
                for tenant in auxiliary_tenants
            ],
        )
        self._pipeline: Pipeline[HttpRequest, HttpResponse] = Pipeline(
            transport
            or ArmTransport(url=endpoint.url, connections=connections, clock=clock),
            policies=[bearer],
        )

    def send(
        self,
        method: str,
        url: str,
        *,
        body: JsonObject | None = None,
        headers: Mapping[str, str] = NO_HEADERS,
        client_request_id: str = "",
    ) -> ArmResponse:
        """Return the response, whatever its status.

        Blocks for 210 s at most, and no longer than its reconcile may take.
        Raises ArmTransportError if there is no response; ThrottledError,
        ForeignHostError, CredentialError or HeaderError if nothing was sent;
        StoppedError if a stop interrupted the call.
        """
        path = urlsplit(url).path
        request = self._request(method, url, body, headers, client_request_id)
        if self._budget is None:
            return self._measured(request, path)
        bucket = _bucket(method, path)
        self._budget.admit(bucket, background=reconcile_context.priority() < 0)
        try:
            answer = self._measured(request, path)
        finally:
            self._budget.leave(bucket)
        # Only a 429 is interpreted here; the caller interprets any other answer.
        fault = parse_fault(answer) if answer.status == 429 else None
        self._budget.observe(bucket, answer.headers, fault)
        return answer

    def close(self) -> None:
        """Close all connections."""
        self._pipeline.__exit__()

    def _measured(self, request: HttpRequest, path: str) -> ArmResponse:
        method, started = request.method, self._clock.monotonic()
        try:
            answer = self._exchange(request)
        except ArmTransportError:
            if self._metrics is not None:
                seconds = self._clock.monotonic() - started
                self._metrics.unanswered(method, path, seconds)
            raise
        seconds = self._clock.monotonic() - started
        _log.debug(
            "Azure request",
            method=method,
            path=path,
            code=answer.status,
            seconds=seconds,
        )
        if self._metrics is not None:
            self._metrics.answered(method, path, answer.status, seconds)
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
            CLIENT_REQUEST_ID: client_request_id or random_id(),
            **headers,
        }
        check_headers(members)
        correlation_id = correlation.current()
        if correlation_id:
            members[CORRELATION_ID] = correlation_id
        data = None
        if body is not None:
            members["Content-Type"] = "application/json"
            data = jsontext.dumps(body)
        request = HttpRequest(method, url, data=data)
        # azure-core's mapping folds the case of each name at each lookup; here all
        # names have one spelling.
        request.headers = members
        return request

    def _exchange(self, request: HttpRequest) -> ArmResponse:
        try:
            with limited_call(is_read=request.method in READS) as call:
                response, content = self._run(request, call)
        except DeadlineError:
            # Before the connection: during the sign-in, or the name lookup.
            raise _out_of_time(request) from None
        if isinstance(response, ArmHttpResponse):
            headers = dict(response.headers)  # lower-case already
        else:
            headers = {name.lower(): text for name, text in response.headers.items()}
        for name in (CORRELATION_ID, CLIENT_REQUEST_ID):
            # A front door's error page repeats neither id, but support asks for them.
            headers.setdefault(name, request.headers.get(name, ""))
        return ArmResponse(response.status_code, headers, content)

    def _run(self, request: HttpRequest, call: Call) -> tuple[HttpResponse, bytes]:
        """Run the pipeline. Raises StoppedError if a stop interrupted it. Rule: D9."""
        try:
            response = self._pipeline.run(request).http_response
        except AzureError as error:
            raise _transport_error(request, error, call) from None
        return response, response.body()


def _out_of_time(request: HttpRequest) -> ArmTransportError:
    return ArmTransportError(
        "not sent: the reconcile has used up its time",
        sent="no",
        method=request.method,
        url=request.url,
    )


def _transport_error(
    request: HttpRequest, error: AzureError, call: Call
) -> ArmTransportError:
    # Not chained: azure-core's exceptions contain the request's headers.
    why = cause(error)
    reason = call.explain() or f"{why}{advice(why)}"
    return ArmTransportError(
        f"no answer from {urlsplit(request.url).netloc}: {reason}",
        sent=sent(error),
        method=request.method,
        url=request.url,
        correlation_id=request.headers.get(CORRELATION_ID, ""),
        client_request_id=request.headers.get(CLIENT_REQUEST_ID, ""),
    )


def _bucket(method: str, path: str) -> Bucket:
    return _BUCKETS[operation_class(method)](path)


def _bucket_of(operations: OperationClass, path: str) -> Bucket:
    provider = resource_type(path).partition("/")[0]
    return Bucket(subscription_of(path) or "", operations, provider, path)


_BUCKETS = {
    operations: lru_cached(partial(_bucket_of, operations))
    for operations in OperationClass
}


def _user_agent(suffix: str) -> str:
    core = UserAgentPolicy().user_agent
    return f"{core} asoreconcile/{__version__} {suffix}".rstrip()
