"""Interpret the response to a PUT, PATCH, POST or DELETE: finished, or to be polled.

This is the first half of the state machine; `arm.polling` is the second. Pure. If a
response makes several statements, the first in this order counts: the resource's own
terminal provisioningState, `Azure-AsyncOperation`, `Operation-Location`, `Location`,
the resource's running provisioningState, none (which means finished).

Rules: L1-L9, L17, L21, V5, V6, D6, D22.
"""

from datetime import datetime

import attrs

from asoreconcile.azure.arm.absence import Absence
from asoreconcile.azure.arm.delays import next_poll_delay
from asoreconcile.azure.arm.endpoint import Endpoint, is_same_resource
from asoreconcile.azure.arm.errors import parse_fault, protocol_fault
from asoreconcile.azure.arm.outcomes import (
    ArmOutcome,
    Failed,
    OperationDone,
    Pending,
    Progress,
    ReadResource,
    Undecided,
)
from asoreconcile.azure.arm.provisioning_state import (
    by_state,
    provisioning_state,
    status_word,
)
from asoreconcile.azure.arm.response import (
    PERHAPS_A_PROXY,
    ArmResponse,
    BrokenBodyError,
)
from asoreconcile.azure.arm.tokens import DELETE, RESOURCE, Token, TokenShape, TokenType
from asoreconcile.base.objects import JsonObject

_RUNNING = "InProgress"
_FOREIGN = f"no JSON, and no x-ms-request-id{PERHAPS_A_PROXY}"
_MAKERS = ("PUT", "PATCH")


def parse_initial_response(
    answer: ArmResponse,
    *,
    method: str,
    url: str,
    endpoint: Endpoint,
    client_request_id: str = "",
    now: datetime | None = None,
) -> ArmOutcome:
    """Return the outcome of a first request. Rules: L1-L9.

    method: method of the request, in capitals. url: URL of the request, with its query.
    now: the time that dates in `retry-after` are compared with.

    A refusal (status 300 and more) is Failed, and so is a response that is not from
    Azure; a DELETE is Done if a 404 says that the resource does not exist (V3, V5).
    """
    if answer.status >= 300:
        fault = parse_fault(answer, method=method, url=url, now=now)
        # Any other 404 does not count: the object would release a resource that still
        # exists.
        if method == "DELETE" and fault.absence is Absence.CERTAIN:
            return OperationDone()
        return Failed(fault)
    if answer.is_foreign:
        return Failed(protocol_fault(answer, _FOREIGN, method=method, url=url))
    first = _FirstAnswer(answer, method, url, endpoint, client_request_id, now)
    outcome = first.outcome()
    if answer.status == 201 and isinstance(outcome, OperationDone | Pending):
        return attrs.evolve(outcome, created=True)
    return outcome


@attrs.frozen
class _FirstAnswer:
    answer: ArmResponse
    method: str
    url: str
    endpoint: Endpoint
    client_request_id: str
    now: datetime | None

    def outcome(self) -> ArmOutcome:
        try:
            body = self.answer.json_object
        except BrokenBodyError:
            return self._monitored(None, "") or self._unread()
        state = provisioning_state(body)
        return (
            self._ended(body, state)
            or self._monitored(body, state)
            or self._unmonitored(body, state)
        )

    def _ended(self, body: JsonObject | None, state: str) -> ArmOutcome | None:
        """Return the outcome if the resource has a terminal state, which wins over all
        headers (L1, D6).
        """
        # A 202 means that it is still running, whatever state its body shows.
        if self.method not in _MAKERS or not state or self.answer.status == 202:
            return None
        return self._by_state(body, state)

    def _by_state(self, body: JsonObject | None, state: str) -> ArmOutcome | None:
        return by_state(body, state, self.answer, url=self.url, method=self.method)

    def _monitored(self, body: JsonObject | None, state: str) -> ArmOutcome | None:
        """Return the outcome that the headers decide (L2, L3, L21); None if they name
        no monitor.
        """
        async_url = self._monitor("azure-asyncoperation")
        operation_url = self._monitor("operation-location")
        location = self._monitor("location")
        if async_url and self.endpoint.serves(async_url):
            return self._watched(TokenShape.ASYNC, async_url, state)
        if operation_url and self.endpoint.serves(operation_url):
            word = status_word(body)
            return self._watched(TokenShape.OPERATION_LOCATION, operation_url, word)
        if location and self._is_monitor(location, state):
            if self.endpoint.serves(location):
                return self._watched(TokenShape.LOCATION, location, state)
            return self._foreign(state)
        return self._foreign(state) if async_url or operation_url else None

    def _is_monitor(self, location: str, state: str) -> bool:
        """Return whether to poll a Location header (L3) instead of the resource (L4,
        L9).
        """
        if self.answer.status == 202:
            return True
        return (
            self.answer.status == 201
            and self.method in _MAKERS
            and not state
            and not is_same_resource(location, self.url)
        )

    def _foreign(self, state: str) -> ArmOutcome:
        """Return the outcome if the monitor is on a foreign host (L21).

        Such a host never gets the token, so the resource is polled.
        """
        if self.method in _MAKERS:
            return self._watched_by_resource(state)
        if self.method == "DELETE":
            return self._read("monitor on a foreign host")
        message = "Azure names a monitor on another host, which settings do not allow"
        return Failed(
            protocol_fault(self.answer, message, method=self.method, url=self.url)
        )

    def _unmonitored(self, body: JsonObject | None, state: str) -> ArmOutcome:
        """Return the outcome that the status code and the body decide (L5-L9)."""
        if self.method == "DELETE":
            return (
                self._read("no monitor")
                if self.answer.status == 202
                else OperationDone(body)
            )
        if self.method not in _MAKERS:
            return OperationDone(self.answer.result)
        ended = self._by_state(body, state)
        unread = self.answer.status == 202 or (
            self.answer.status == 201 and body is None
        )
        if unread and not isinstance(ended, Failed):
            return self._watched_by_resource(state)
        return ended or self._watched_by_resource(state)

    def _unread(self) -> ArmOutcome:
        """Poll the resource of an accepted request whose response body is broken."""
        if self.method in _MAKERS:
            return self._watched_by_resource("")
        return self._unmonitored(None, "")

    def _monitor(self, header: str) -> str:
        value = self.answer.header(header)
        return self.endpoint.resolved(value) if value else ""

    def _watched(self, shape: TokenShape, url: str, state: str) -> Pending:
        type_: TokenType = DELETE if self.method == "DELETE" else RESOURCE
        token = Token(shape, type_, url, state or _RUNNING)
        if shape is not TokenShape.LOCATION:
            token = attrs.evolve(
                token,
                location=self._monitor("location"),
                original_url=self.url,
                method=self.method,
            )
        return self._pending(token)

    def _watched_by_resource(self, state: str) -> Pending:
        return self._pending(
            Token(TokenShape.BODY, RESOURCE, self.url, state or _RUNNING)
        )

    def _pending(self, token: Token) -> Pending:
        progress = Progress(client_request_id=self.client_request_id)
        return Pending(token, self._delay, progress)

    def _read(self, reason: Undecided) -> ReadResource:
        return ReadResource(reason, deleting=True, delay_seconds=self._delay)

    @property
    def _delay(self) -> float:
        return next_poll_delay(self.answer.headers, 0, now=self.now)
