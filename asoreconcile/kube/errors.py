"""Errors of the Kubernetes API, one class for each way to handle them.

AsoreconcileError
├── TransportError            no answer; a write may have happened or not
│   └── KubeCredentialError   nothing was sent: there is no credential
└── ApiError                  an answer that refuses
    ├── NotFoundError         404
    ├── AlreadyExistsError    409, by reason
    ├── ConflictError         409 else
    ├── ExpiredError          410: the resource version is too old
    ├── InvalidError          422
    ├── ForbiddenError        403
    ├── UnauthorizedError     401
    ├── BadRequestError       400: the request is wrong, whatever the object
    ├── MethodNotAllowedError 405: the kind or subresource has no such verb
    ├── TooLargeError         413
    ├── TooManyRequestsError  429
    └── ApiServerError        500 and above: the server failed, or could not answer
"""

import math
import re
from collections.abc import Mapping

from asoreconcile.base import jsontext
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import JsonObject, dig
from asoreconcile.redaction import redact

_MAX_TEXT = 2048
# A longer Retry-After, for example from a proxy that means milliseconds, is cut to
# this.
_MOST_RETRY_AFTER_SECONDS = 600.0
# messages of the etcd server, and of the API server's gRPC client to it
_TOO_LARGE = re.compile(r"request is too large|message larger than max", re.IGNORECASE)


class TransportError(AsoreconcileError):
    """The API server did not respond, or not in time.

    lost: the connection closed during the request; a retry on a new one may work at
    once.
    """

    def __init__(self, message: str, *, lost: bool = False) -> None:
        super().__init__(redact(message))
        self.lost = lost


class KubeCredentialError(TransportError):
    """There is no credential for the request: nothing was sent."""


class DecodeError(TransportError):
    """The response does not conform to the API."""


class ApiError(AsoreconcileError):
    """The API server responded with an error.

    status: HTTP status. reason: reason in the Status object, such as `NotFound`.
    details: details in the Status object. retry_after_seconds: value of Retry-After, 0
    to ten minutes, or None.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int,
        reason: str = "",
        details: JsonObject | None = None,
        retry_after_seconds: float | None = None,
    ) -> None:
        # Admission webhooks and proxies quote request contents.
        super().__init__(redact(message))
        self.status = status
        self.reason = reason
        self.details = details or {}
        self.retry_after_seconds = retry_after_seconds

    @property
    def causes(self) -> list[JsonObject]:
        """The `causes` in the details; entries that are not objects are skipped."""
        causes = self.details.get("causes")
        found = causes if isinstance(causes, list) else []
        return [cause for cause in found if isinstance(cause, dict)]


class NotFoundError(ApiError):
    """The object, its namespace or its kind does not exist."""


class ConflictError(ApiError):
    """The object changed since it was read, or a precondition does not hold."""


class AlreadyExistsError(ApiError):
    """An object of that name already exists."""


class ExpiredError(ApiError):
    """The resource version or continue token is too old: list again.

    `continue_token` is one with which a list of pages goes on, over the objects as they
    are now; "" if the server gave none.
    """

    continue_token = ""


class InvalidError(ApiError):
    """The object violates its schema; `details.causes` names the fields."""


class ForbiddenError(ApiError):
    """403: the credential may not do this; grant the verb on the resource."""


class UnauthorizedError(ApiError):
    """401: neither the credential nor a renewed one was accepted."""


class TooManyRequestsError(ApiError):
    """The server is busy; retry after `retry_after_seconds`."""


class BadRequestError(ApiError):
    """400: the server cannot read the request; only other code helps."""


class MethodNotAllowedError(ApiError):
    """405: the kind, or the subresource, does not support the verb."""


class TooLargeError(ApiError):
    """413: the object or the request is larger than the server accepts."""


class ApiServerError(ApiError):
    """500 and above: the server, a webhook or a proxy before it failed, or gave no
    answer in time. A write may have happened.
    """


_BY_STATUS: Mapping[int, type[ApiError]] = {
    400: BadRequestError,
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    405: MethodNotAllowedError,
    409: ConflictError,
    410: ExpiredError,
    413: TooLargeError,
    422: InvalidError,
    429: TooManyRequestsError,
}


def api_error(
    status: int, headers: Mapping[str, str], body: bytes, *, namespace: str = ""
) -> ApiError:
    """Return the error of an error response; accepts any body, never raises.

    namespace: namespace of the request; known values of its Secrets are redacted.
    """
    document = _status_object(body)
    reason = str(document.get("reason") or "")
    message = str(document.get("message") or "") or _text(body) or f"HTTP {status}"
    kind = _BY_STATUS.get(status, ApiServerError if status >= 500 else ApiError)
    # 409 has two meanings, handled differently: use the existing object, or read it
    # again.
    if reason == "AlreadyExists":
        kind = AlreadyExistsError
    details = document.get("details")
    details = details if isinstance(details, dict) else {}
    error = kind(
        redact(message, namespace=namespace),
        status=status,
        reason=reason,
        details=details,
        retry_after_seconds=_retry_after(headers, details),
    )
    if isinstance(error, ExpiredError):
        error.continue_token = str(dig(document, "metadata.continue") or "")
    return error


def is_another_object(error: ApiError) -> bool:
    """Return whether a patch was refused for its `metadata.uid`: the name now belongs
    to another object. The API server reports a change of an immutable field, not a
    conflict.
    """
    return any(cause.get("field") == "metadata.uid" for cause in error.causes)


def is_too_large(error: ApiError) -> bool:
    """Return whether the object or the request is too large to store.

    The API server has a status for its own limit, but reports etcd's only as a 500 with
    a text.
    """
    return error.status == 413 or (
        error.status == 500 and _TOO_LARGE.search(str(error)) is not None
    )


def is_resource_version_too_large(error: ApiError) -> bool:
    """Return whether a server refused a resource version that it has not reached yet.

    Replicas lag behind each other. Rule: RF-2.
    """
    return error.status == 504 and any(
        cause.get("reason") == "ResourceVersionTooLarge" for cause in error.causes
    )


def event_error(status_object: JsonObject) -> ApiError:
    """Return the error inside a watch's ERROR event."""
    code = status_object.get("code")
    # The watch's HTTP status was 200; the error is in the event.
    status = code if isinstance(code, int) else 500
    return api_error(status, {}, jsontext.dumps(status_object))


def _status_object(body: bytes) -> JsonObject:
    try:
        document = jsontext.loads(body)
    except jsontext.JSONDecodeError:
        return {}
    return document if isinstance(document, dict) else {}


def _text(body: bytes) -> str:
    return body[:_MAX_TEXT].decode("utf-8", "replace").strip()


def _retry_after(headers: Mapping[str, str], details: JsonObject) -> float | None:
    stated = headers.get("retry-after") or details.get("retryAfterSeconds")
    try:
        # kube-apiserver sends seconds. A date, which HTTP also allows, is ignored.
        seconds = float(stated if stated is not None else "")
    except (ValueError, TypeError, OverflowError):
        return None
    if math.isnan(seconds):
        return None
    return min(max(0.0, seconds), _MOST_RETRY_AFTER_SECONDS)
