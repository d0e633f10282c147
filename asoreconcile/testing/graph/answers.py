"""Answers in the form of Microsoft Graph: OData entities, lists, errors."""

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from asoreconcile.base import jsontext
from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.http import HttpResponse

_JSON = "application/json;odata.metadata=minimal;odata.streaming=true;charset=utf-8"


class GraphRefusal(Exception):  # noqa: N818 - the protocol's own word for it
    """A request that Graph refuses."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.code = status, code
        self.headers = dict(headers or {})

    def response(self, now: datetime, client_request_id: str = "") -> HttpResponse:
        """Return the error in Graph's wording."""
        request_id = str(uuid.uuid4())
        inner = {
            "date": f"{now:%Y-%m-%dT%H:%M:%S}",
            "request-id": request_id,
            "client-request-id": client_request_id or request_id,
        }
        body = {"error": {"code": self.code, "message": str(self), "innerError": inner}}
        return answer(self.status, body, self.headers, request_id=request_id)


def answer(
    status: int,
    body: Any = None,
    headers: Mapping[str, str] | None = None,
    *,
    request_id: str = "",
) -> HttpResponse:
    """Return a JSON response.

    body: JSON value; if None, the response has no body.
    """
    marks = {"request-id": request_id or str(uuid.uuid4()), **(headers or {})}
    if body is None:
        return HttpResponse(status, b"", marks)
    return HttpResponse(status, jsontext.dumps(body), {"Content-Type": _JSON, **marks})


def entity(url: str, set_: str, body: JsonObject) -> JsonObject:
    """Return one object with its OData context."""
    return {"@odata.context": f"{url}/v1.0/$metadata#{set_}/$entity", **body}


def not_found(id_: str) -> GraphRefusal:
    """Return a 404 error for an object or a reference that does not exist."""
    return GraphRefusal(
        404,
        "Request_ResourceNotFound",
        f"Resource '{id_}' does not exist or one of its queried reference-property "
        "objects are not present.",
    )


def bad_request(message: str) -> GraphRefusal:
    """Return a 400 error for a body that Graph does not accept."""
    return GraphRefusal(400, "Request_BadRequest", message)
