"""Refusals as the API server words them: Status objects."""

from collections.abc import Sequence

import attrs

from asoreconcile.base.objects import JsonObject

JSON_TYPE = "application/json"


@attrs.frozen
class Cause:
    """One reason of an Invalid answer: which field, and what is wrong with it."""

    field: str
    reason: str
    message: str

    def to_json(self) -> JsonObject:
        """The cause as `details.causes` has it."""
        return {"reason": self.reason, "message": self.message, "field": self.field}


class StatusError(Exception):
    """A refusal; `document` is its Status object."""

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
    """404: an object that is not there."""
    return StatusError(
        404,
        "NotFound",
        f'{_qualified(resource, group)} "{name}" not found',
        details=_of(resource, group, name),
    )


class PageNotFoundError(StatusError):
    """A path that no API has: answered in plain text, not with a Status object."""

    def __init__(self) -> None:
        super().__init__(404, "NotFound", "404 page not found")


def unknown_path() -> StatusError:
    """404 without a name: the path is of no resource that is served."""
    return StatusError(
        404, "NotFound", "the server could not find the requested resource", details={}
    )


def already_exists(resource: str, group: str, name: str) -> StatusError:
    """409 for a create whose name is taken."""
    return StatusError(
        409,
        "AlreadyExists",
        f'{_qualified(resource, group)} "{name}" already exists',
        details=_of(resource, group, name),
    )


def conflict(resource: str, group: str, name: str, why: str = "") -> StatusError:
    """409 for an update of an older version, or for `why`."""
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
    """422 with every cause in the text once and in `details` each time, as kubectl
    shows it.
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
    """400: the request makes no sense, whatever is stored."""
    return StatusError(400, "BadRequest", message)


def internal_error(message: str) -> StatusError:
    """A failure the real server has no word for: no reason, code 500."""
    return StatusError(500, "", message)


def forbidden(
    resource: str, group: str, name: str, why: str, causes: Sequence[Cause] = ()
) -> StatusError:
    """403 for a user who may not, or an admission that refuses. name "" is a
    collection.
    """
    subject = _qualified(resource, group) + (f' "{name}"' if name else "")
    details = _of(resource, group, name)
    if causes:
        details["causes"] = [cause.to_json() for cause in causes]
    return StatusError(
        403, "Forbidden", f"{subject} is forbidden: {why}", details=details
    )


def unauthorized() -> StatusError:
    """401: the token is unknown. It says no more than that, as the real one."""
    return StatusError(401, "Unauthorized", "Unauthorized")


def method_not_allowed() -> StatusError:
    """405: the resource has no such verb."""
    return StatusError(
        405,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
        details={},
    )


def not_supported(verb: str, resource: str, group: str) -> StatusError:
    """What custom resources answer to a method they have not."""
    return StatusError(
        405,
        "MethodNotAllowed",
        f'{verb} is not supported on resources of kind "{_qualified(resource, group)}"',
        details=_of(resource, group, ""),
    )


def unsupported_media_type(accepted: Sequence[str]) -> StatusError:
    """415 with the content types that are read."""
    return StatusError(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types "
        "include: " + ", ".join(accepted),
    )


def not_acceptable(offered: Sequence[str]) -> StatusError:
    """406 with the media types that are offered."""
    return StatusError(
        406,
        "NotAcceptable",
        "only the following media types are accepted: " + ", ".join(offered),
    )


def version_too_large(wanted: int, current: int) -> StatusError:
    """504 for a resource version from the future: the reader is ahead of this server.

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
    """continue_: the token with which a list goes on all the same."""
    error = StatusError(410, "Expired", message)
    if continue_:
        error.document["metadata"] = {"continue": continue_}
    return error
