"""The journal of the simulator's requests, for tests and measurements."""

from collections.abc import Iterable
from typing import Any, Literal

import attrs

from asoreconcile.base import jsontext
from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.http import HttpRequest

Purpose = Literal["read", "write", "action", "poll"]
_PURPOSES: dict[str, Purpose] = {
    "PUT": "write",
    "PATCH": "write",
    "DELETE": "write",
    "POST": "action",
}
_MONITORS = ("/operations/", "/operationresults/")


@attrs.frozen
class JournalEntry:
    """One answered request.

    at: seconds on the server's clock.
    body: the body that was sent.
    status: 0 for a connection that was dropped.
    seconds: how long the answer took.
    headers: without the bearer token.
    resource: id of the resource concerned, in lower case, also for polls and actions.
    """

    at: float
    method: str
    path: str
    api_version: str
    purpose: Purpose
    status: int
    resource: str
    headers: JsonObject = attrs.field(repr=False)
    body: Any = attrs.field(default=None, repr=False)
    seconds: float = 0.0


def exchange(
    request: HttpRequest,
    *,
    status: int,
    at: float,
    monitored: str = "",
    seconds: float = 0.0,
) -> JournalEntry:
    """Return the journal's entry for a request.

    monitored: the resource whose operation a poll asks about.
    """
    path = request.path.lower()
    is_poll = bool(monitored) or any(part in path for part in _MONITORS)
    return JournalEntry(
        at=at,
        method=request.method,
        path=request.path,
        api_version=request.query.get("api-version", ""),
        purpose="poll" if is_poll else _PURPOSES.get(request.method, "read"),
        status=status,
        resource=(monitored or _without_action(request)).lower(),
        headers={k: v for k, v in request.headers.items() if k != "authorization"},
        body=_parsed(request.body),
        seconds=seconds,
    )


def matching(
    entries: Iterable[JournalEntry],
    method: str = "",
    path: str = "",
    *,
    status: int | None = None,
) -> list[JournalEntry]:
    """Return the entries with that method and status whose path contains a text.

    path: compared without case.
    """
    return [
        entry
        for entry in entries
        if method in ("", entry.method)
        and path.lower() in entry.path.lower()
        and status in (None, entry.status)
    ]


def _without_action(request: HttpRequest) -> str:
    path = request.path.rstrip("/")
    return path.rpartition("/")[0] if request.method == "POST" else path


def _parsed(body: bytes) -> Any:
    try:
        return jsontext.loads(body) if body else None
    except ValueError:
        return body.decode("utf-8", "replace")
