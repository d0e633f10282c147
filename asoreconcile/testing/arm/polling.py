"""The answers to polls of operations (L10-L26, W7-W10, W12)."""

from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.arm.faults import ArmFaults
from asoreconcile.testing.arm.monitors import MonitorRegistry, PollRequest
from asoreconcile.testing.arm.operations import Operation, Operations
from asoreconcile.testing.arm.refusals import (
    RefusedError,
    answer,
    group_not_found,
    resource_not_found,
)
from asoreconcile.testing.arm.resources import Resources
from asoreconcile.testing.arm.views import Views
from asoreconcile.testing.http import HttpRequest, HttpResponse


class Polling:
    """The answers of monitors. The caller holds the server's lock."""

    def __init__(
        self,
        monitors: MonitorRegistry,
        operations: Operations,
        resources: Resources,
        views: Views,
        faults: ArmFaults,
    ) -> None:
        self._monitors = monitors
        self._operations = operations
        self._resources = resources
        self._views = views
        self._faults = faults

    def handle(self, look: PollRequest, request: HttpRequest) -> HttpResponse:
        """Return the answer to one poll of a monitor.

        Raises RefusedError if the operation is unknown.
        """
        self._monitors.check_signature(look, request)
        operation = look.operation
        broken = self._faults.broken_polls.take(operation.address.id)
        if broken is not None:
            return broken
        self._check_place(operation)
        self._operations.note_poll(operation)
        if look.kind == "async":
            return self._status(look)
        return self._result(look)

    def _check_place(self, operation: Operation) -> None:
        """Refuse a monitor whose group or resource is gone (L29)."""
        address, place = operation.address, operation.style.monitors.place
        if place == "locations":
            return
        if address.group and self._resources.find(address.group) is None:
            raise group_not_found(address.group_name)
        if place != "group" and operation.is_lost:
            raise resource_not_found(address)

    def _status(self, look: PollRequest) -> HttpResponse:
        """Return the operation's status."""
        operation = look.operation
        is_query = operation.style.monitors.place == "query"
        if not operation.is_over:
            status = 202 if is_query else operation.style.monitors.poll_status
            headers = self._monitors.poll_headers(look)
            return answer(status, _report(operation, _word(operation)), headers)
        if operation.failure is not None:
            failure = operation.failure
            body = _report(operation, failure.status)
            body["error"] = {"code": failure.code, "message": failure.message}
            return answer(200, body)
        resource = self._resources.find(operation.address.id)
        if is_query and resource is not None:  # Rules W7, L14.
            return self._views.response(200, resource)
        return answer(200, _report(operation, "Succeeded"))

    def _result(self, look: PollRequest) -> HttpResponse:
        """Return the operation's result once it exists (L11)."""
        operation = look.operation
        if not operation.is_over:
            return answer(202, headers=self._monitors.poll_headers(look))
        if operation.failure is not None:
            failure = operation.failure
            raise RefusedError(409, failure.code, failure.message, from_gateway=False)
        if operation.method == "POST":
            return answer(204)
        resource = self._resources.find(operation.address.id)
        if operation.method == "DELETE" or resource is None:
            return answer(200)
        status = 201 if operation.style.monitors.place == "query" else 200
        return self._views.response(status, resource)


def _word(operation: Operation) -> str:
    words = operation.style.words
    return words[min(operation.polls, len(words)) - 1]


def _report(operation: Operation, word: str) -> JsonObject:
    """Return the body of an async monitor, with as many fields as the
    provider sends.
    """
    body: JsonObject = {"status": word}
    if operation.style.report == "error":
        # The key is present although the operation has not failed (L24).
        return {**body, "error": {"code": "None", "message": None}}
    if operation.style.report == "status":
        return body
    body = {"name": operation.id, **body, "startTime": operation.began_at}
    if operation.style.report == "id":
        scope = f"/subscriptions/{operation.address.subscription}"
        namespace = operation.address.type_name.partition("/")[0]
        path = f"{scope}/providers/{namespace}/operations/{operation.id}"
        body = {"id": path, **body}
    return body
