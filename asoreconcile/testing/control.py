"""The paths below `/_control/` of both test servers: faults set by other processes.

    POST   /_control/faults     {"verb": "list", "status": 429, "retry_after": 2}
    GET    /_control/faults     all of them, with how often each has struck
    DELETE /_control/faults[/N] end them all, or one

Every request needs the control token in the header `x-control-token`. The control token
is not a token of the API's clients. The fields of a fault are the fields of
`InjectedFault`.
"""

import hmac
from typing import Any

from asoreconcile.base import jsontext
from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.fault_injection import parse, shown
from asoreconcile.testing.faults import Faults
from asoreconcile.testing.http import HttpRequest, HttpResponse

PREFIX = "/_control/"
_JSON = {"Content-Type": "application/json"}


class ControlError(Exception):
    """A control request that is refused: status and text."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def is_control(request: HttpRequest) -> bool:
    """Return whether a request is below `/_control/`, so not one to the
    simulated API.
    """
    return request.path.startswith(PREFIX)


def check_token(request: HttpRequest, token: str) -> None:
    """Refuse a request without the control token.

    token: the control token; if it is empty, every request is refused.

    Raises ControlError 403.
    """
    given = request.headers.get("x-control-token", "").encode()
    if not token or not hmac.compare_digest(given, token.encode()):
        raise ControlError(403, "The control token is missing or wrong.")


def answered(status: int, document: Any) -> HttpResponse:
    """Return a JSON response with that status."""
    return HttpResponse(status, jsontext.dumps(document), _JSON)


def document_of(request: HttpRequest) -> JsonObject:
    """Return the object in the body, or {} without a body.

    Raises ControlError 400.
    """
    try:
        found = jsontext.loads(request.body) if request.body else {}
    except ValueError as error:
        raise ControlError(400, f"The body is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise ControlError(400, "The body is no JSON object.")
    return found


def about_faults(faults: Faults, request: HttpRequest) -> HttpResponse:
    """Answer a request to `faults`. Raises ControlError."""
    number = request.path.removeprefix(f"{PREFIX}faults").strip("/")
    match request.method, number:
        case "GET", "":
            return answered(200, {"faults": _listed(faults)})
        case "POST", "":
            try:
                injected = parse(document_of(request))
            except ValueError as error:
                raise ControlError(400, str(error)) from error
            return answered(201, {"fault": faults.plan(injected), **shown(injected)})
        case "DELETE", "":
            faults.clear()
            return answered(200, {"faults": []})
        case "DELETE", known if known.isdigit() and int(known) in faults.planned():
            faults.clear(int(known))
            return answered(200, {"faults": _listed(faults)})
        case "DELETE", _:
            raise ControlError(404, f"There is no fault {number}.")
    raise ControlError(405, "Use GET, POST or DELETE.")


def _listed(faults: Faults) -> list[JsonObject]:
    return [
        {"fault": number, "hits": hits, **shown(injected)}
        for number, (injected, hits) in faults.planned().items()
    ]
