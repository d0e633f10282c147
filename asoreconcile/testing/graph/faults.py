"""Faults of the Microsoft Graph simulator, in Graph's own error format."""

from datetime import UTC, datetime

from asoreconcile.testing.fault_injection import InjectedFault
from asoreconcile.testing.faults import Faults
from asoreconcile.testing.graph.answers import GraphRefusal
from asoreconcile.testing.http import HttpRequest, HttpResponse

_CODES = {
    401: "InvalidAuthenticationToken",
    403: "Authorization_RequestDenied",
    429: "TooManyRequests",
    503: "ServiceUnavailable",
    504: "GatewayTimeout",
}


class GraphFaults(Faults):
    """The faults of a simulated Graph."""

    def refuse(
        self,
        method: str,
        path: str,
        status: int,
        code: str = "",
        *,
        message: str = "Made to fail by the test server.",
        retry_after: int | None = None,
        times: int = 1,
    ) -> None:
        """Answer with an error.

        code: Graph's error code; if it is empty, the usual code of the status.
        """
        refusal = _refusal(status, code, message, retry_after)
        self.respond(method, path, refusal.response(_now()), times=times)

    def throttle(
        self, method: str, path: str, *, retry_after: int, times: int = 1
    ) -> None:
        """Answer 429 with Retry-After in seconds."""
        message = "Too many requests"
        self.refuse(
            method, path, 429, message=message, retry_after=retry_after, times=times
        )

    def refused(self, injected: InjectedFault, request: HttpRequest) -> HttpResponse:
        """Return an error in Graph's envelope, with the request's own id."""
        refusal = _refusal(injected.status, "", injected.message, injected.retry_after)
        return refusal.response(_now(), request.headers.get("client-request-id", ""))


def _refusal(
    status: int, code: str, message: str, retry_after: int | None
) -> GraphRefusal:
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    named = code or _CODES.get(status, "UnknownError")
    return GraphRefusal(status, named, message, headers=headers)


def _now() -> datetime:
    return datetime.now(UTC)
