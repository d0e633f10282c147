"""The envelope of a webhook's review request and response.

A review is one POST: `{apiVersion, kind, request: {uid, ...}}` in, the same kind with a
`response` out. Rules: WH-3, WH-4.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from asoreconcile.base import jsontext
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import JsonObject
from asoreconcile.kube.errors import ApiError
from asoreconcile.kube.event_encoding import cut

# It appears in the API server's response to its user, and in its audit log.
_MAX_BYTES = 2048


class ReviewError(AsoreconcileError):
    """A review that cannot be answered as asked. code: an HTTP status."""

    def __init__(self, message: str, *, code: int) -> None:
        super().__init__(message)
        self.code = code


@attrs.frozen
class Review:
    """A review's envelope. uid: id that the response repeats. request: the part that
    depends on the kind of review.
    """

    api_version: str
    kind: str
    uid: str
    request: JsonObject = attrs.field(repr=False)


def check_content_type(content_type: str) -> None:
    """Check that a request has JSON. Raises ReviewError for anything but JSON."""
    if content_type.partition(";")[0].strip() != "application/json":
        raise ReviewError("the content type is not application/json", code=400)


def parse(body: bytes, *, kind: str, api_versions: frozenset[str]) -> Review:
    """Return the review in a request's body. Raises ReviewError."""
    try:
        document = jsontext.loads(body)
    except jsontext.JSONDecodeError as error:
        raise ReviewError(f"the review is no JSON: {error}", code=400) from error
    if not isinstance(document, dict) or document.get("kind") != kind:
        raise ReviewError(f"the document is no {kind}", code=400)
    api_version = document.get("apiVersion")
    if not isinstance(api_version, str) or api_version not in api_versions:
        known = " or ".join(sorted(api_versions))
        raise ReviewError(f"the {kind} is not {known}", code=400)
    request = document.get("request")
    if not isinstance(request, dict):
        raise ReviewError(f"the {kind} has no request", code=400)
    uid = request.get("uid")
    # The API server requires the uid in the response.
    if not isinstance(uid, str) or not uid:
        raise ReviewError(f"the {kind}'s request has no uid", code=400)
    return Review(api_version, kind, uid, request)


def answered(api_version: str, kind: str, response: JsonObject) -> bytes:
    """Return the review with its response, ready to send."""
    document = {"apiVersion": api_version, "kind": kind, "response": response}
    return jsontext.dumps(document)


def answered_in_pieces(
    api_version: str, kind: str, response: JsonObject, name: str, items: Sequence[bytes]
) -> list[bytes]:
    """Return a review with its response in pieces, with a list as the response's last
    member.

    name: name of the list. items: pieces of the list's text, each of whole items.
    """
    head = answered(api_version, kind, response).removesuffix(b"}}")
    pieces = [head + b',"%s":[' % name.encode()]
    for at, item in enumerate(items):
        pieces += [b",", item] if at else [item]
    return [*pieces, b"]}}"]


def failure(error: ReviewError | ApiError) -> JsonObject:
    """Return the metav1 Status of an error whose message is meant for the user."""
    if isinstance(error, ReviewError):
        return status(error.code, _REASONS.get(error.code, ""), str(error))
    return status(error.status, error.reason, str(error), details=error.details)


def status(
    code: int, reason: str, message: str, *, details: Mapping[str, Any] | None = None
) -> JsonObject:
    """Return a metav1 Status that refuses."""
    document: JsonObject = {
        "metadata": {},
        "status": "Failure",
        "code": code,
        "message": cut(message, _MAX_BYTES),
    }
    if reason:
        document["reason"] = reason
    if details:
        document["details"] = details
    return document


_REASONS = {
    400: "BadRequest",
    413: "RequestEntityTooLarge",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}
