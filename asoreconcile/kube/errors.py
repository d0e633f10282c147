"""What the Kubernetes API refused, typed by what a caller does about it.

AsoreconcileError
├── TransportError            no answer; a write may have happened or not
│   └── CredentialError       nothing was sent: there is no credential
└── ApiError                  an answer that refuses
    ├── NotFoundError         404
    ├── AlreadyExistsError    409, by reason
    ├── ConflictError         409 else
    ├── ExpiredError          410: the resource version is too old
    ├── InvalidError          422
    ├── ForbiddenError        403
    ├── UnauthorizedError     401
    └── TooManyRequestsError  429
"""

import math
import re
from collections.abc import Mapping

from asoreconcile import jsontext
from asoreconcile.errors import AsoreconcileError
from asoreconcile.objects import JsonObject
from asoreconcile.redaction import redact

_MAX_TEXT = 2048
# Whoever asks for more, such as a proxy that means milliseconds, is asked once then.
_MOST_RETRY_AFTER_SECONDS = 600.0
# etcd's server, and the gRPC of the API server's client to it.
_TOO_LARGE = re.compile(r"request is too large|message larger than max", re.IGNORECASE)


class TransportError(AsoreconcileError):
    """The API server did not answer, or not in time.

    lost: the connection ended under the request; a new one may do at once.
    """

    def __init__(self, message: str, *, lost: bool = False) -> None:
        super().__init__(redact(message))
        self.lost = lost


class KubeCredentialError(TransportError):
    """There is no credential to ask with: nothing was sent."""


class DecodeError(TransportError):
    """The server answered something that the API does not say."""


class ApiError(AsoreconcileError):
    """The API server answered with a failure.

    status: HTTP status. reason: the Status object's, such as `NotFound`. details: its
    `details`. retry_after_seconds: what the server asked for, from 0 to ten minutes,
    or None.
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
        # Admission webhooks and proxies quote what they were sent.
        super().__init__(redact(message))
        self.status = status
        self.reason = reason
        self.details = details or {}
        self.retry_after_seconds = retry_after_seconds

    @property
    def causes(self) -> list[JsonObject]:
        """The details' `causes`, those of them that are objects."""
        causes = self.details.get("causes")
        found = causes if isinstance(causes, list) else []
        return [cause for cause in found if isinstance(cause, dict)]


class NotFoundError(ApiError):
    """The object, its namespace or its whole kind is not there."""


class ConflictError(ApiError):
    """The object changed since it was read, or a precondition does not hold."""


class AlreadyExistsError(ApiError):
    """An object of that name is there already."""


class ExpiredError(ApiError):
    """The resource version or continue token is too old: list again."""


class InvalidError(ApiError):
    """The object breaks its schema; `details.causes` names the fields."""


class ForbiddenError(ApiError):
    """403: the credential may not do this; grant the verb on the resource."""


class UnauthorizedError(ApiError):
    """401: the credential is not accepted, and a renewed one was not either."""


class TooManyRequestsError(ApiError):
    """The server is busy; try again after `retry_after_seconds`."""


_BY_STATUS: Mapping[int, type[ApiError]] = {
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    410: ExpiredError,
    422: InvalidError,
    429: TooManyRequestsError,
}


def api_error(
    status: int, headers: Mapping[str, str], body: bytes, *, namespace: str = ""
) -> ApiError:
    """The error that an answer states; works for any body, never raises.

    namespace: that was asked about; what is known of its Secrets is hidden.
    """
    document = _status_object(body)
    reason = str(document.get("reason") or "")
    message = str(document.get("message") or "") or _text(body) or f"HTTP {status}"
    kind = _BY_STATUS.get(status, ApiError)
    # 409 says both, and they differ in what to do: take what is there, or read again.
    if reason == "AlreadyExists":
        kind = AlreadyExistsError
    details = document.get("details")
    details = details if isinstance(details, dict) else {}
    return kind(
        redact(message, namespace=namespace),
        status=status,
        reason=reason,
        details=details,
        retry_after_seconds=_retry_after(headers, details),
    )


def is_another_object(error: ApiError) -> bool:
    """Whether a patch was refused for its `metadata.uid`: another object has the name
    now. The API server calls that a change of an immutable field, not a conflict.
    """
    return any(cause.get("field") == "metadata.uid" for cause in error.causes)


def is_too_large(error: ApiError) -> bool:
    """Whether the object, or the request, is more than can be stored.

    The API server has a status for its own limit; etcd's it passes on as a 500, and as
    text alone.
    """
    return error.status == 413 or (
        error.status == 500 and _TOO_LARGE.search(str(error)) is not None
    )


def is_resource_version_too_large(error: ApiError) -> bool:
    """Whether a server refused a version because it has not got that far itself.

    Replicas lag behind each other. Rule: RF-2.
    """
    return error.status == 504 and any(
        cause.get("reason") == "ResourceVersionTooLarge" for cause in error.causes
    )


def event_error(status_object: JsonObject) -> ApiError:
    """The error inside a watch's ERROR event."""
    code = status_object.get("code")
    # The watch itself was answered with 200 long ago; the error is in its text.
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
        # kube-apiserver sends seconds. A date, which HTTP allows too, counts as
        # nothing.
        seconds = float(stated if stated is not None else "")
    except (ValueError, TypeError, OverflowError):
        return None
    if math.isnan(seconds):
        return None
    return min(max(0.0, seconds), _MOST_RETRY_AFTER_SECONDS)
