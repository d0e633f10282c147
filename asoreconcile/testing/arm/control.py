"""The simulator's control path, for other processes.

    GET  /_control/counts
    GET  /_control/journal?after=N&method=PUT&path=TEXT&status=409
    GET  /_control/resources
    POST /_control/fault   {"script": "PUT Microsoft.Network/virtualNetworks 503 x2"}
    POST /_control/clear   {}
    POST /_control/style   {"type": "Microsoft.Network/virtualNetworks", "style": "W5"}
    POST /_control/policy  {"deny": "publicIPAddresses", "name": "No public addresses"}
    POST /_control/clock   {"advanceSeconds": 60}
    POST /_control/remove  {"id": "/subscriptions/.../virtualNetworks/vnet"}

Requests have the control token in the header `x-control-token`. No Azure client calls
these paths.
"""

import hmac
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import attrs

from asoreconcile.base import jsontext
from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.arm.journal import JournalEntry, matching
from asoreconcile.testing.arm.refusals import answer, error
from asoreconcile.testing.http import HttpRequest, HttpResponse

PREFIX = "/_control/"


class Controlled(Protocol):
    """The part of the simulator that the control path uses."""

    journal: list[JournalEntry]

    def resources(self) -> dict[str, JsonObject]:
        """Return a copy of every resource's body, by its id."""

    def remove(self, id_: str) -> None:
        """Delete a resource with everything below it, as another client would."""

    def script(self, line: str) -> None:
        """Add a fault by one line of the script language.

        Raises ValueError for a wrong line.
        """

    def clear_faults(self) -> None:
        """End all faults."""

    def style(self, type_: str, name: str) -> None:
        """Make a resource type answer in one of the named styles (W1-W26)."""

    def deny(self, resource: str, name: str) -> None:
        """Make a policy of this name refuse writes of resources whose id matches a
        pattern.
        """

    def advance(self, seconds: float) -> None:
        """Put the simulator's clock forward.

        Operations end, tokens expire, and budgets refill accordingly.
        """


class ArmControl:
    """The answers to control requests. Without a token, every request is refused."""

    def __init__(self, token: str, azure: Controlled) -> None:
        self._token = token
        self._azure = azure

    def handle(self, request: HttpRequest) -> HttpResponse:
        """Return the answer to one request below `/_control/`.

        The answer is 403 without the right token, and 400 for a body or path that makes
        no sense. Nothing is raised.
        """
        given = request.headers.get("x-control-token", "").encode()
        if not self._token or not hmac.compare_digest(given, self._token.encode()):
            return error(403, "Forbidden", "The control token is missing or wrong.")
        what = request.path.removeprefix(PREFIX)
        try:
            if request.method == "POST":
                return self._do(what, jsontext.loads(request.body))
            return self._show(what, request.query)
        except (ValueError, KeyError, TypeError) as wrong:
            return error(400, "BadRequest", f"{type(wrong).__name__}: {wrong}")

    def _show(self, what: str, query: Mapping[str, str]) -> HttpResponse:
        match what:
            case "counts":
                return answer(200, self._counts())
            case "journal":
                return answer(200, self._journal(query))
            case "resources":
                return answer(200, {"resources": self._azure.resources()})
        return error(404, "NotFound", f"There is no {PREFIX}{what} to read.")

    def _do(self, what: str, wish: Any) -> HttpResponse:
        azure = self._azure
        wishes: dict[str, Callable[[], None]] = {
            "fault": lambda: azure.script(wish["script"]),
            "clear": azure.clear_faults,
            "style": lambda: azure.style(wish["type"], wish["style"]),
            "policy": lambda: azure.deny(wish["deny"], wish.get("name", "No")),
            "clock": lambda: azure.advance(float(wish["advanceSeconds"])),
            "remove": lambda: azure.remove(wish["id"]),
        }
        if what not in wishes:
            return error(404, "NotFound", f"There is no {PREFIX}{what} to post to.")
        wishes[what]()
        return answer(200, {})

    def _journal(self, query: Mapping[str, str]) -> JsonObject:
        after, status = query.get("after", ""), query.get("status", "")
        entries = matching(
            list(self._azure.journal)[int(after or 0) :],
            query.get("method", ""),
            query.get("path", ""),
            status=int(status) if status else None,
        )
        return {"entries": [attrs.asdict(entry) for entry in entries]}

    def _counts(self) -> JsonObject:
        journal = list(self._azure.journal)
        return {
            "requests": len(journal),
            "byMethod": Counter(e.method for e in journal),
            "byPurpose": Counter(e.purpose for e in journal),
            "byStatus": Counter(str(e.status) for e in journal),
            "byResource": Counter(e.resource for e in journal),
            "resources": len(self._azure.resources()),
        }
