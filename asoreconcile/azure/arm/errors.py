"""The exceptions for ARM's failures: the message, its origin, and the request.

    AsoreconcileError
    ├── ArmError            ARM (or what is in front of it) answered with a failure
    └── ArmTransportError   no answer; the request may have been executed or not

`arm.classification` decides about retries. Rules: E1-E3, E6, L15, L24, T5, V8.
"""

import re
from datetime import datetime
from typing import Literal

import attrs

from asoreconcile.azure.arm import error_body
from asoreconcile.azure.arm.correlation import CLIENT_REQUEST_ID, CORRELATION_ID
from asoreconcile.azure.arm.delays import retry_after_seconds
from asoreconcile.azure.arm.error_body import UNKNOWN_CODE, ErrorBody
from asoreconcile.azure.arm.response import (
    PERHAPS_A_PROXY,
    ArmResponse,
    BrokenBodyError,
)
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import JsonObject
from asoreconcile.redaction import redact

Sent = Literal["no", "maybe"]

NO_RESOURCE = f"the answer shows no resource{PERHAPS_A_PROXY}"
_MARKS = frozenset({"id", "name", "properties"})

# Codes that mean that one resource is busy, even in a 429 (E6, T5).
_BUSY = frozenset(
    {
        "AnotherOperationInProgress",
        "Conflict",
        "ReferencedResourceNotProvisioned",
        "RetryableError",
        "RetryableErrorDueToAnotherOperation",
        "ServerIsBusy",
    }
)
# 408 is of a gateway that gave up waiting: Azure itself has not answered.
_TRANSIENT = frozenset({408, 429})
# A transport's error quotes the URL, and a monitor's query gives access to it.
_SIGNATURE = re.compile(r"([?&](?:c|s|h|sig|t)=)[^&\s\"']+")


class ArmError(AsoreconcileError):
    """A failure that ARM reported, for a request or at an operation's end.

    status: HTTP status of the answer; 200 for an operation that failed.
    code, message: for the condition, as Azure wrote them; never empty.
    codes: every code in the answer, the most specific last.
    target: what the error is about, or "".
    body: the answer's text, for the log: up to 128 Ki characters.
    retry_after_seconds: what the server asked for, or None.
    request_id: Azure's own, "" without one. correlation_id, client_request_id: as the
    answer repeats them, else as they were sent (H1).
    method, url: of the request; the URL without its query, which may be signed.
    understood: the body was JSON. is_foreign: the answer is not from Azure
    (`ArmResponse`).
    """

    def __init__(
        self,
        envelope: ErrorBody,
        *,
        status: int,
        body: str = "",
        retry_after_seconds: float | None = None,
        request_id: str = "",
        correlation_id: str = "",
        client_request_id: str = "",
        method: str = "",
        url: str = "",
        is_foreign: bool = False,
    ) -> None:
        self.is_foreign = is_foreign
        # Proxies quote requests, including the bearer token.
        self.code = redact(envelope.code)
        self.message = redact(envelope.message)
        self.codes = tuple(redact(code) for code in envelope.codes)
        self.target = redact(envelope.target)
        self.detail_targets = tuple(redact(t) for t in envelope.detail_targets)
        self.policies = tuple(redact(policy) for policy in envelope.policies)
        self.understood = envelope.understood
        self.status = status
        self.body = redact(body)
        self.retry_after_seconds = retry_after_seconds
        self.request_id = request_id
        self.correlation_id = correlation_id
        self.client_request_id = client_request_id
        self.method = method
        self.url = without_query(url)
        super().__init__(f"{method} {self.url}: {status} {self.code}: {self.message}")

    @property
    def is_not_found(self) -> bool:
        """Azure says that the resource does not exist (404); a proxy's page does not
        count.
        """
        return self.status == 404 and not self.is_foreign

    @property
    def specific_code(self) -> str:
        """The innermost code that Azure gave (E3)."""
        return self.codes[-1] if self.codes else self.code

    @property
    def is_busy_object(self) -> bool:
        """Only this one resource is busy (E6, T5)."""
        return not _BUSY.isdisjoint((self.code, *self.codes))

    @property
    def is_throttled(self) -> bool:
        """The caller sent too many requests: hold back its other ones, too (T5)."""
        return self.status == 429 and not self.is_busy_object

    @property
    def is_transient(self) -> bool:
        """It says nothing about the resource: send the same request later (L15)."""
        return is_transient_status(self.status)


class ArmTransportError(AsoreconcileError):
    """There was no usable answer.

    sent: "no" when the request cannot have reached ARM, "maybe" otherwise: a write may
    have happened, and a GET shows it (V8).
    correlation_id, client_request_id: as sent; Azure's logs have them if the request
    arrived.
    """

    def __init__(
        self,
        message: str,
        *,
        sent: Sent,
        method: str,
        url: str,
        correlation_id: str = "",
        client_request_id: str = "",
    ) -> None:
        self.sent: Sent = sent
        self.correlation_id = correlation_id
        self.client_request_id = client_request_id
        self.method = method
        self.url = without_query(url)
        self.message = redact(_unsigned(message))
        super().__init__(f"{method} {self.url}: {self.message}")


def parse_fault(
    answer: ArmResponse, *, method: str = "", url: str = "", now: datetime | None = None
) -> ArmError:
    """The error in an answer; works for any answer, never raises."""
    return _error(error_body.read(answer), answer, method=method, url=url, now=now)


def operation_fault(
    answer: ArmResponse,
    document: JsonObject,
    *,
    word: str,
    method: str = "",
    url: str = "",
) -> ArmError:
    """The error of an operation that failed. Rule: L24, R4.9.

    document: the status body, or the resource. word: its terminal status word, which is
    the code if there is no error object.
    """
    stated = _stated_error(document)
    if stated is None:
        envelope = ErrorBody(word, f"The operation ended as {word}", codes=(word,))
    else:
        envelope = error_body.of({"error": stated})
        if envelope.code == UNKNOWN_CODE:
            envelope = attrs.evolve(envelope, code=word)
    return _error(envelope, answer, method=method, url=url, now=None)


def protocol_fault(
    answer: ArmResponse, message: str, *, method: str, url: str
) -> ArmError:
    """The error of an answer that breaks ARM's contract (L14)."""
    envelope = ErrorBody(UNKNOWN_CODE, message, understood=False)
    return _error(envelope, answer, method=method, url=url, now=None)


def stated_object(answer: ArmResponse, *, method: str, url: str) -> JsonObject:
    """The body of an answer, which must be a JSON object; raises ArmError otherwise."""
    problem = f"the answer is no JSON object{PERHAPS_A_PROXY}"
    try:
        document = answer.json_object
    except BrokenBodyError as broken:
        document, problem = None, str(broken)
    if document is None:
        raise protocol_fault(answer, problem, method=method, url=url)
    return document


def stated_resource(body: JsonObject, *, url: str) -> JsonObject:
    """The body of a GET, if it is a resource; raises ArmError otherwise (L14).

    A resource without a provisioningState counts as succeeded, so `{}` must not count
    as a resource.
    """
    if not is_resource(body):
        raise protocol_fault(ArmResponse(200), NO_RESOURCE, method="GET", url=url)
    return body


def is_resource(body: JsonObject | None) -> bool:
    """Whether a body is a resource: it has an id, name or properties (L14)."""
    return body is not None and not _MARKS.isdisjoint(body)


def is_transient_status(status: int) -> bool:
    """True for statuses after which the same request may succeed without any change."""
    return status in _TRANSIENT or status >= 500


def without_query(url: str) -> str:
    """A URL fit for logs: monitors carry signatures in their query."""
    return url.partition("?")[0].partition("#")[0]


def _stated_error(document: JsonObject) -> JsonObject | str | None:
    """The `error` of a failed operation, if it is not empty (L24)."""
    properties = document.get("properties")
    for holder in (document, properties if isinstance(properties, dict) else {}):
        stated = holder.get("error")
        if isinstance(stated, str) and stated.strip():
            return stated
        if isinstance(stated, dict) and (stated.get("code") or stated.get("message")):
            return stated
    return None


def _error(
    envelope: ErrorBody,
    answer: ArmResponse,
    *,
    method: str,
    url: str,
    now: datetime | None,
) -> ArmError:
    return ArmError(
        envelope,
        status=answer.status,
        body=answer.text,
        retry_after_seconds=retry_after_seconds(answer.headers, now=now),
        request_id=answer.header("x-ms-request-id") or answer.header("request-id"),
        correlation_id=answer.header(CORRELATION_ID),
        client_request_id=answer.header(CLIENT_REQUEST_ID),
        method=method,
        url=url,
        is_foreign=answer.is_foreign,
    )


def _unsigned(text: str) -> str:
    return _SIGNATURE.sub(r"\1...", text) if "=" in text else text
