"""ARM's failures, each with its request and the host that stated it.

    AsoreconcileError
    ├── ArmError            ARM (or a proxy in front of it) responded with a failure
    └── ArmTransportError   no response; the request may have been executed or not

`arm.classification` decides how each is retried. Rules: E1-E3, E6, L15, L24, T5, V8.
"""

import re
from datetime import datetime
from typing import Literal
from urllib.parse import unquote, urlsplit

import attrs

from asoreconcile.azure.arm import error_body, ids
from asoreconcile.azure.arm.absence import Absence, absence
from asoreconcile.azure.arm.correlation import CLIENT_REQUEST_ID, CORRELATION_ID
from asoreconcile.azure.arm.delays import retry_after_seconds
from asoreconcile.azure.arm.error_body import CODES, UNKNOWN_CODE, ErrorBody
from asoreconcile.azure.arm.response import (
    PERHAPS_A_PROXY,
    ArmResponse,
    BrokenBodyError,
)
from asoreconcile.azure.arm.text_bounds import FOREIGN_MESSAGE
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import JsonObject
from asoreconcile.redaction import redact

Sent = Literal["no", "maybe"]

NO_RESOURCE = f"the answer shows no resource{PERHAPS_A_PROXY}"
# An id of Azure has at most some 500 characters.
_SHOWN_ID_CHARACTERS = 512
_MARKS = frozenset({"id", "name", "properties"})

# 408 is of a gateway that gave up waiting: Azure itself has not answered.
_TRANSIENT = frozenset({408, 429})
_ABSENT = frozenset({404, 410})
# A transport's error quotes the URL, and a monitor's query gives access to it.
_SIGNATURE = re.compile(r"([?&](?:c|s|h|sig|t)=)[^&\s\"']+")


class ArmError(AsoreconcileError):
    """A failure that ARM stated, in a response or as the end of an operation.

    status: HTTP status of the response; 200 for an operation that failed.
    code, message: code and message for the condition, as Azure wrote them; never empty.
    codes: every code in the response, the most specific last.
    target: the part of the request that the error is about, or "".
    body: the response's text, for the log: up to 128 Ki characters.
    retry_after_seconds: the delay that the server asked for, or None.
    request_id: Azure's id of the request, "" if Azure sent no id. correlation_id,
    client_request_id: ids in the response, else the ids that were sent (H1). method,
    url: method and URL of the request, without the query, which may be signed.
    understood: true if the body was JSON.
    is_foreign: true if the response is not from Azure (`ArmResponse.is_foreign`).
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
    def absence(self) -> Absence:
        """Return what Azure said about the resource's existence (V3).

        The page of a proxy says nothing about it. A 410 counts as a 404.
        """
        if self.status not in _ABSENT or self.is_foreign:
            return Absence.NOT
        return absence(self.code, self.url)

    @property
    def is_not_found(self) -> bool:
        """Return whether the resource does not exist, as far as Azure's 404 says; false
        for a 404 about the subscription or the type, and for a proxy's page.
        """
        return self.absence is not Absence.NOT

    @property
    def is_busy_object(self) -> bool:
        """Return whether this resource is busy and others are not (E6, T5)."""
        return not CODES["busy"].isdisjoint((self.code, *self.codes))

    @property
    def is_throttled(self) -> bool:
        """Return whether the caller sent too many requests, so that its other requests
        must wait, too (T5).
        """
        return self.status == 429 and not self.is_busy_object

    @property
    def is_transient(self) -> bool:
        """Return whether the failure says nothing about the resource: retry the same
        request (L15).
        """
        return is_transient_status(self.status)


class ArmTransportError(AsoreconcileError):
    """There was no usable response.

    sent: "no" if the request cannot have reached ARM, else "maybe": a write may have
    been executed, and a GET shows it (V8).
    correlation_id, client_request_id: ids that were sent; Azure's logs contain them if
    the request arrived.
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
    """Return the error in a response; works for any response, never raises."""
    return _error(error_body.read(answer), answer, method=method, url=url, now=now)


def operation_fault(
    answer: ArmResponse,
    document: JsonObject,
    *,
    word: str,
    method: str = "",
    url: str = "",
) -> ArmError:
    """Return the error of an operation that failed. Rule: L24, R4.9.

    document: the status body, or the resource.
    word: the operation's final status, which becomes the code if no error is stated.
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
    """Return the error for a response that breaks ARM's contract (L14)."""
    envelope = ErrorBody(UNKNOWN_CODE, message, understood=False)
    return _error(envelope, answer, method=method, url=url, now=None)


def stated_object(answer: ArmResponse, *, method: str, url: str) -> JsonObject:
    """Return the body of a response that must be a JSON object; else raise ArmError."""
    problem = f"the answer is no JSON object{PERHAPS_A_PROXY}"
    try:
        document = answer.json_object
    except BrokenBodyError as broken:
        document, problem = None, str(broken)
    if document is None:
        raise protocol_fault(answer, problem, method=method, url=url)
    return document


def stated_resource(body: JsonObject, *, url: str) -> JsonObject:
    """Return the body of a GET if it is the resource; else raise ArmError (L14).

    A resource without a state counts as succeeded, so `{}` must not count as a
    resource.
    """
    if problem := why_not_the_resource(body, url=url):
        raise protocol_fault(ArmResponse(200), problem, method="GET", url=url)
    return body


def why_not_the_resource(body: JsonObject | None, *, url: str) -> str:
    """Return why a body is not the resource with this URL or id; "" if it may be.

    url: "" for any resource.
    """
    if body is None or not is_resource(body):
        return NO_RESOURCE
    stated = body.get("id")
    if not url or not isinstance(stated, str) or not is_another(stated, url):
        return ""
    shown = stated[:_SHOWN_ID_CHARACTERS]
    return f"the answer shows another resource, {shown}{PERHAPS_A_PROXY}"


def is_another(stated: str, url: str) -> bool:
    """Return whether the id in an answer is certainly that of another resource. Pure.

    stated: the answer's id. url: URL or id of the resource that was asked for.

    Only a well-formed id of the same type can be: with another last name, or in another
    resource group. Providers write other letter case, other subscriptions, shorter and
    older scopes, ids of a parent, and texts that are not ARM ids.
    """
    try:
        have = ids.parse_stated(unquote(stated).rstrip("/"))
        asked = ids.parse(unquote(urlsplit(url).path).rstrip("/"))
    except (ids.ArmIdError, ValueError):
        return False
    if not have.name or not asked.name or have.type.lower() != asked.type.lower():
        return False
    if have.name.lower() != asked.name.lower():
        return True
    groups = have.resource_group, asked.resource_group
    return None not in groups and len({str(group).lower() for group in groups}) == 2


def is_resource(body: JsonObject | None) -> bool:
    """Return whether a body is a resource: it has an id, name or properties (L14)."""
    return body is not None and not _MARKS.isdisjoint(body)


def is_transient_status(status: int) -> bool:
    """Return whether the same request may succeed later without any change."""
    return status in _TRANSIENT or status >= 500


def without_query(url: str) -> str:
    """Return a URL fit for logs: the query of a monitor contains signatures."""
    return url.partition("?")[0].partition("#")[0]


def _stated_error(document: JsonObject) -> JsonObject | str | None:
    """Return the `error` of a failed operation, if it is not empty (L24)."""
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
        body=FOREIGN_MESSAGE.cut(answer.text),
        retry_after_seconds=retry_after_seconds(answer.headers, now=now),
        request_id=answer.header("x-ms-request-id") or answer.header("request-id"),
        correlation_id=answer.header(CORRELATION_ID),
        client_request_id=answer.header(CLIENT_REQUEST_ID),
        method=method,
        url=url,
        is_foreign=answer.is_foreign or _is_of_a_gateway(envelope, answer, url),
    )


def _is_of_a_gateway(envelope: ErrorBody, answer: ArmResponse, url: str) -> bool:
    """Return whether a response has neither a code nor a header of Azure, so that a
    gateway before Azure may have sent it. Recorded answers of providers without codes
    have lost these headers.
    """
    is_nameless = envelope.code == UNKNOWN_CODE and not answer.is_marked
    return is_nameless and absence(envelope.code, url) is not Absence.CERTAIN


def _unsigned(text: str) -> str:
    return _SIGNATURE.sub(r"\1...", text) if "=" in text else text
