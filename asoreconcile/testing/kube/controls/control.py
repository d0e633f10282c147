"""The server's control path below `/_control/`, with a token of its own.

GET  /_control/journal?after=N   requests, with verb, resource, user and status
GET  /_control/counts            how many, by verb, resource, status and user
GET  /_control/objects           how many objects are stored, by plural.group
POST /_control/fault             {"script": "list configmaps 429 x3"}
     /_control/faults            see `testing.control`
POST /_control/cut-watches       break all watches' connections
POST /_control/forget-changes    watches and lists from before get 410
POST /_control/read-only         {"on": true}: every write is refused
POST /_control/clock             {"advanceSeconds": 3600}: timestamps go ahead
POST /_control/restart           {"outage_seconds": 2}: stop and start again
"""

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Protocol

import attrs

from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.clock import ShiftedClock
from asoreconcile.testing.control import (
    PREFIX,
    ControlError,
    about_faults,
    answered,
    check_token,
    document_of,
)
from asoreconcile.testing.http import HttpRequest, HttpResponse
from asoreconcile.testing.kube.controls.faults import KubeFaults
from asoreconcile.testing.kube.controls.journal import Served

_LONGEST_SECONDS = 600.0


class ControlState(Protocol):
    """The part of the server that the control path uses (`KubeServer`)."""

    @property
    def faults(self) -> KubeFaults:
        """Return the faults of the API's requests."""

    @property
    def clock(self) -> ShiftedClock:
        """Return the clock for timestamps, which a test may put forward."""

    @property
    def journal(self) -> list[Served]:
        """Return an entry for each answered request, the oldest first."""

    def object_counts(self) -> Mapping[str, int]:
        """Return the number of stored objects, by `plural.group`."""

    def cut_watches(self) -> None:
        """Break all watches, as a restarting load balancer does."""

    def forget_changes(self) -> None:
        """Forget the history of changes, so that watches from before get
        410 (Expired).
        """

    def restart(self, outage_seconds: float = 0.0) -> None:
        """Stop serving for that long, then continue with the same objects and port."""


class KubeControl:
    """The answers to control requests. Without a token, every request is refused."""

    def __init__(self, state: ControlState, token: str) -> None:
        self._state = state
        self._token = token

    def handle(self, request: HttpRequest) -> HttpResponse:
        """Return the answer to one request below `/_control/`. Nothing is raised."""
        try:
            check_token(request, self._token)
            return self._route(request)
        except ControlError as error:
            return answered(error.status, {"error": str(error)})

    def _route(self, request: HttpRequest) -> HttpResponse:
        name = request.path.removeprefix(PREFIX).rstrip("/")
        if name == "faults" or name.startswith("faults/"):
            return about_faults(self._state.faults, request)
        match request.method, name:
            case "GET", "journal":
                after = request.query.get("after") or "0"
                if not after.isdigit():
                    raise ControlError(400, "after must be a number.")
                entries = self._state.journal[int(after) :]
                return answered(200, {"entries": [attrs.asdict(e) for e in entries]})
            case "GET", "counts":
                return answered(200, _counts(list(self._state.journal)))
            case "GET", "objects":
                return answered(200, dict(self._state.object_counts()))
            case "POST", "restart":
                restart = self._restart(document_of(request))
                return attrs.evolve(answered(200, {"done": name}), afterwards=restart)
            case "POST", _:
                return answered(200, self._turned(name, document_of(request)))
        raise ControlError(404, f"There is no {request.method} {request.path}.")

    def _turned(self, name: str, document: JsonObject) -> JsonObject:
        state = self._state
        match name:
            case "cut-watches":
                state.cut_watches()
            case "forget-changes":
                state.forget_changes()
            case "read-only":
                on = document.get("on")
                if not isinstance(on, bool):
                    raise ControlError(400, "on must be true or false.")
                state.faults.read_only = on
            case "clock":
                state.clock.offset_seconds += _number(document, "advanceSeconds")
            case "fault":
                try:
                    state.faults.script(str(document.get("script") or ""))
                except ValueError as error:
                    raise ControlError(400, str(error)) from error
            case _:
                raise ControlError(404, f"There is no {name}.")
        return {"done": name}

    def _restart(self, document: JsonObject) -> Callable[[], None]:
        """Return a function that begins a restart, on another thread, because the
        connection of the request's thread ends with the server.
        """
        outage = _number({"outage_seconds": 0.0, **document}, "outage_seconds")
        if not 0 <= outage <= _LONGEST_SECONDS:
            raise ControlError(400, "outage_seconds must be 0 to 600.")
        return threading.Thread(
            target=self._state.restart, args=(outage,), name="restart", daemon=True
        ).start


def _number(document: JsonObject, name: str) -> float:
    found = document.get(name)
    if isinstance(found, bool) or not isinstance(found, (int, float)):
        raise ControlError(400, f"{name} must be a number.")
    return found


def _counts(journal: list[Served]) -> JsonObject:
    return {
        "requests": len(journal),
        "byVerb": Counter(e.verb for e in journal),
        "byResource": Counter(e.resource for e in journal),
        "byStatus": Counter(str(e.status) for e in journal),
        "byUser": Counter(e.user for e in journal),
    }
