"""Refusals in the API server's wording: Status objects."""

from collections.abc import Sequence

from asoreconcile.base.objects import JsonObject
from asoreconcile.resources.crds.cause import Cause

JSON_TYPE = "application/json"


class StatusError(Exception):
    """A refusal.

    document: its Status object.
    """

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: JsonObject | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.document: JsonObject = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            "code": code,
        }
        if reason:
            self.document["reason"] = reason
        if details is not None:
            self.document["details"] = details


def _of(resource: str, group: str, name: str) -> JsonObject:
    known = {"name": name, "group": group, "kind": resource}
    return {key: value for key, value in known.items() if value}


def _qualified(resource: str, group: str) -> str:
    return f"{resource}.{group}" if group else resource


def not_found(resource: str, group: str, name: str) -> StatusError:
    """Return 404 for an object that does not exist."""
    return StatusError(
        404,
        "NotFound",
        f'{_qualified(resource, group)} "{name}" not found',
        details=_of(resource, group, name),
    )


class PageNotFoundError(StatusError):
    """A path that no API has. The answer is plain text, not a Status object."""

    def __init__(self) -> None:
        super().__init__(404, "NotFound", "404 page not found")


def unknown_path() -> StatusError:
    """Return 404 without a name, for a path that belongs to no served resource."""
    return StatusError(
        404, "NotFound", "the server could not find the requested resource", details={}
    )


def already_exists(resource: str, group: str, name: str) -> StatusError:
    """Return 409 for a create whose name is taken."""
    return StatusError(
        409,
        "AlreadyExists",
        f'{_qualified(resource, group)} "{name}" already exists',
        details=_of(resource, group, name),
    )


def conflict(resource: str, group: str, name: str, why: str = "") -> StatusError:
    """Return 409 for an update of an older version, or for the reason in `why`."""
    why = why or (
        "the object has been modified; please apply your changes to the latest version "
        "and try again"
    )
    return StatusError(
        409,
        "Conflict",
        f"Operation cannot be fulfilled on {_qualified(resource, group)} "
        f'"{name}": {why}',
        details=_of(resource, group, name),
    )


def invalid(kind: str, group: str, name: str, causes: Sequence[Cause]) -> StatusError:
    """Return 422 with all causes, as kubectl shows them.

    Equal causes are once in the message, but every time in `details`.
    """
    details = _of(kind, group, name)
    details["causes"] = [cause.to_json() for cause in causes]
    texts = dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes)
    text = ", ".join(texts)
    if len(texts) > 1:
        text = f"[{text}]"
    return StatusError(
        422,
        "Invalid",
        f'{_qualified(kind, group)} "{name}" is invalid: {text}',
        details=details,
    )


def bad_request(message: str) -> StatusError:
    """Return 400 for a request that makes no sense, whatever is stored."""
    return StatusError(400, "BadRequest", message)


def internal_error(message: str) -> StatusError:
    """Return code 500 without a reason, for failures that have no reason in a real
    server.
    """
    return StatusError(500, "", message)


def forbidden(
    resource: str, group: str, name: str, why: str, causes: Sequence[Cause] = ()
) -> StatusError:
    """Return 403 for a missing permission, or a refusal by admission.

    name: "" for a collection.
    """
    subject = _qualified(resource, group) + (f' "{name}"' if name else "")
    details = _of(resource, group, name)
    if causes:
        details["causes"] = [cause.to_json() for cause in causes]
    return StatusError(
        403, "Forbidden", f"{subject} is forbidden: {why}", details=details
    )


def unauthorized() -> StatusError:
    """Return 401 for an unknown token, without details, as a real server."""
    return StatusError(401, "Unauthorized", "Unauthorized")


def method_not_allowed() -> StatusError:
    """Return 405 for a verb that the resource lacks."""
    return StatusError(
        405,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
        details={},
    )


def not_supported(verb: str, resource: str, group: str) -> StatusError:
    """Return the answer of custom resources to a method that they lack."""
    return StatusError(
        405,
        "MethodNotAllowed",
        f'{verb} is not supported on resources of kind "{_qualified(resource, group)}"',
        details=_of(resource, group, ""),
    )


def unsupported_media_type(accepted: Sequence[str]) -> StatusError:
    """Return 415 with the supported content types."""
    return StatusError(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types "
        "include: " + ", ".join(accepted),
    )


def not_acceptable(offered: Sequence[str]) -> StatusError:
    """Return 406 with the offered media types."""
    return StatusError(
        406,
        "NotAcceptable",
        "only the following media types are accepted: " + ", ".join(offered),
    )


def version_too_large(wanted: int, current: int) -> StatusError:
    """Return 504 for a resource version that is higher than the server's.

    Clients recognise the cause `ResourceVersionTooLarge` and try again after a second.
    """
    return StatusError(
        504,
        "Timeout",
        f"Timeout: Too large resource version: {wanted}, current: {current}",
        details={
            "causes": [
                {
                    "reason": "ResourceVersionTooLarge",
                    "message": "Too large resource version",
                }
            ],
            "retryAfterSeconds": 1,
        },
    )


def expired(message: str, *, continue_: str = "") -> StatusError:
    """Return 410 for a version that is forgotten.

    continue_: token with which the list can be continued nevertheless.
    """
    error = StatusError(410, "Expired", message)
    if continue_:
        error.document["metadata"] = {"continue": continue_}
    return error
