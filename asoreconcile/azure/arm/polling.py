"""Long-running operations as a pure state machine: one response in, one outcome out.

`polled` interprets the response to a poll, `lro_start.parse_initial_response` the
response to the first request, and `provisioning_state.infer_from_resource` a GET of the
resource if no monitor decides. No I/O, no sleep, no clock but the arguments.

Rules: L10-L19, L23, L24, D3, D4.
"""

from datetime import datetime
from urllib.parse import urlsplit

import attrs

from asoreconcile.azure.arm.delays import next_poll_delay
from asoreconcile.azure.arm.endpoint import Endpoint
from asoreconcile.azure.arm.errors import (
    ArmError,
    ArmTransportError,
    is_transient_status,
    operation_fault,
    parse_fault,
    protocol_fault,
    why_not_the_resource,
)
from asoreconcile.azure.arm.ids import key
from asoreconcile.azure.arm.outcomes import (
    NO_PROGRESS,
    ArmOutcome,
    Failed,
    OperationDone,
    Pending,
    Progress,
    ReadResource,
    Restart,
    Undecided,
)
from asoreconcile.azure.arm.provisioning_state import (
    FAILURE,
    SUCCESS,
    by_state,
    provisioning_state,
    status_word,
)
from asoreconcile.azure.arm.response import (
    PERHAPS_A_PROXY,
    ArmResponse,
    BrokenBodyError,
)
from asoreconcile.azure.arm.tokens import DELETE, RESOURCE, Token, TokenShape
from asoreconcile.base.objects import JsonObject

# L14: after so many answers in a row without a status, the monitor is given up.
MAX_BAD_READS = 10


def polled(
    token: Token,
    answer: ArmResponse,
    *,
    endpoint: Endpoint,
    progress: Progress = NO_PROGRESS,
    now: datetime | None = None,
) -> ArmOutcome:
    """Return the outcome of a poll of `token.url`. Rules: L10-L19, L24.

    progress: the value in the last Pending; NO_PROGRESS after a restart.
    """
    return _Poll(token, answer, endpoint, progress, now).outcome()


def unanswered(
    token: Token, error: ArmTransportError, *, progress: Progress = NO_PROGRESS
) -> Pending:
    """Return the outcome of a poll without a response: the operation stays pending.
    Rule: L15.
    """
    delay = next_poll_delay({}, progress.polls)
    return Pending(token, delay, _counted(progress, bad=True), read_error=error)


def _counted(progress: Progress, *, bad: bool) -> Progress:
    return attrs.evolve(
        progress,
        polls=progress.polls + 1,
        bad_reads=progress.bad_reads + 1 if bad else 0,
    )


@attrs.frozen
class _Poll:
    token: Token
    answer: ArmResponse
    endpoint: Endpoint
    progress: Progress
    now: datetime | None

    def outcome(self) -> ArmOutcome:
        status = self.answer.status
        if is_transient_status(status):
            return self._read_failed(self._fault())
        # The page of a proxy: the monitor itself did not answer.
        if status >= 400 and self.answer.is_foreign:
            return self._read_failed(self._fault())
        if status in (404, 410):
            return self._gone()
        if status >= 400:
            return self._read("monitor refused", error=self._fault())
        # Not followed: it would send the bearer token to any host.
        if status >= 300:
            return self._unreadable("Azure redirects the monitor")
        if self.answer.is_foreign:
            page = f"a page in place of an answer{PERHAPS_A_PROXY}"
            return self._read_failed(self._protocol(page))
        try:
            body = self.answer.json_object
        except BrokenBodyError as broken:
            return self._read_failed(self._protocol(str(broken)))
        match self.token.shape:
            case TokenShape.ASYNC | TokenShape.OPERATION_LOCATION:
                return self._status_document(body)
            case TokenShape.LOCATION:
                return self._location(body)
            case TokenShape.BODY:
                return self._resource(body)

    def _status_document(self, body: JsonObject | None) -> ArmOutcome:
        """Return the outcome that the word in `status` decides, not the HTTP status
        code (L12, L13, L24).
        """
        word = status_word(body)
        if body is None or not word:
            return self._without_status(body)
        lower = word.lower()
        if lower in FAILURE:
            return Failed(self._operation_fault(body, word))
        return self._succeeded() if lower in SUCCESS else self._running(word)

    def _without_status(self, body: JsonObject | None) -> ArmOutcome:
        """Return the outcome of a monitor without a status: the state of the resource
        decides (L14).
        """
        if body and "id" in body and isinstance(body.get("properties"), dict):
            return self._resource(body)
        return self._unreadable("the operation's status document has no status")

    def _succeeded(self) -> ArmOutcome:
        """Return the outcome of a success.

        The result of a POST is at Location; the result of a PUT is the resource (L10).
        """
        location = self.token.location
        if self.token.verb == "POST" and location and self.endpoint.serves(location):
            token = Token(TokenShape.LOCATION, RESOURCE, location, "InProgress")
            return Pending(token, 0.0, _counted(self.progress, bad=False))
        return OperationDone(settled=True)

    def _location(self, body: JsonObject | None) -> ArmOutcome:
        """Return the outcome of a poll of a Location.

        202 means that the operation runs; any other response is its result (L11).
        """
        state = provisioning_state(body)
        if self.answer.status == 202:
            return self._running(state or self.token.state)
        if self.token.type == DELETE and self._is_the_resource(body):
            return self._still_there(state)
        if state.lower() in FAILURE or self._is_the_resource(body):
            return self._resource(body)
        word = status_word(body)
        if body and word.lower() in FAILURE and "properties" not in body:
            return Failed(self._operation_fault(body, word))
        return OperationDone(self.answer.result, settled=True)

    def _still_there(self, state: str) -> ArmOutcome:
        """Return the outcome of a DELETE whose Location is the resource: it runs while
        the resource exists (L9, L11).
        """
        if state.lower() == "deleting":
            return self._running(state)
        return self._read("no monitor")

    def _is_the_resource(self, body: JsonObject | None) -> bool:
        """Return whether the monitor is the resource itself, which returns 200 while it
        runs.
        """
        id_ = body.get("id") if body else None
        return isinstance(id_, str) and key(id_) == key(urlsplit(self.token.url).path)

    def _resource(self, body: JsonObject | None) -> ArmOutcome:
        # Other monitors have URLs of their own.
        url = self.token.url if self.token.shape is TokenShape.BODY else ""
        problem = why_not_the_resource(body, url=url)
        if problem and self.answer.status != 204:
            # Bounded: an answer that shows another resource may show it for ever.
            return self._unreadable(problem)
        state = provisioning_state(body)
        ended = by_state(
            body, state, self.answer, url=self.token.url, method=self.token.verb
        )
        return ended or self._running(state)

    def _running(self, word: str) -> Pending:
        """Return the outcome of a running operation, with the server's delay and the
        newest monitor that it names (L17-L19).
        """
        token = attrs.evolve(self._renewed(), state=word)
        delay = next_poll_delay(
            self.answer.headers, self.progress.polls + 1, now=self.now
        )
        return Pending(token, delay, _counted(self.progress, bad=False))

    def _renewed(self) -> Token:
        location = self._monitor("location")
        match self.token.shape:
            case TokenShape.ASYNC:
                newest = self._monitor("azure-asyncoperation")
            case TokenShape.OPERATION_LOCATION:
                newest = self._monitor("operation-location")
            case TokenShape.LOCATION:
                newest = location
            case TokenShape.BODY:
                return self.token
        token = attrs.evolve(self.token, url=newest or self.token.url)
        if self.token.shape is TokenShape.LOCATION:
            return token
        return attrs.evolve(token, location=location or token.location)

    def _monitor(self, header: str) -> str:
        value = self.answer.header(header)
        url = self.endpoint.resolved(value) if value else ""
        return url if self.endpoint.serves(url) else ""

    def _gone(self) -> ArmOutcome:
        """Return the outcome of a 404 (L16, L29).

        A resource whose PUT was just accepted may not exist yet (L7).
        """
        if self.token.shape is not TokenShape.BODY:
            return self._read("monitor gone")
        fault = self._fault()
        if not fault.is_not_found:  # such as that of another tenant's credential
            return self._read("monitor refused", error=fault)
        if self.token.type == DELETE:
            return OperationDone()
        if self.token.state == "InProgress":
            return self._unreadable("the accepted resource does not exist yet")
        return Restart("the resource is gone")

    def _read_failed(self, error: ArmError) -> Pending:
        """Return the outcome of a failed read, which says nothing about the operation:
        the token is kept (D3, L15).
        """
        delay = next_poll_delay(
            self.answer.headers, self.progress.polls + 1, now=self.now
        )
        return Pending(
            self.token, delay, _counted(self.progress, bad=True), read_error=error
        )

    def _unreadable(self, message: str) -> ArmOutcome:
        """Return the outcome of an unreadable response.

        It is counted, and the read is retried a limited number of times (L14).
        """
        if self.progress.bad_reads + 1 >= MAX_BAD_READS:
            return self._read("monitor unreadable", error=self._protocol(message))
        return self._read_failed(self._protocol(message))

    def _read(self, reason: Undecided, *, error: ArmError | None = None) -> ArmOutcome:
        return ReadResource(reason, deleting=self.token.verb == "DELETE", error=error)

    def _operation_fault(self, body: JsonObject, word: str) -> ArmError:
        return operation_fault(
            self.answer, body, word=word, method=self.token.verb, url=self._subject
        )

    @property
    def _subject(self) -> str:
        """Return the URL of the resource if the token has it, else the URL of the
        monitor.
        """
        return self.token.original_url or self.token.url

    def _fault(self) -> ArmError:
        return parse_fault(self.answer, method="GET", url=self.token.url, now=self.now)

    def _protocol(self, message: str) -> ArmError:
        return protocol_fault(self.answer, message, method="GET", url=self.token.url)
