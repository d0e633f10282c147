"""The resource providers: reads and writes of any resource type, each in its style.

ARM's checks come first (`scopes`), then the provider's own rules. The style then
decides how the write is answered.
"""

import math
from collections.abc import Mapping

import attrs

from asoreconcile.base.objects import JsonObject
from asoreconcile.kube.patch import apply_merge_patch
from asoreconcile.testing.arm.address import ArmAddress
from asoreconcile.testing.arm.dependants import check_unused
from asoreconcile.testing.arm.operations import Failure, Operation
from asoreconcile.testing.arm.preconditions import check_delete, check_preconditions
from asoreconcile.testing.arm.refusals import (
    RefusedError,
    answer,
    group_not_found,
    not_supported,
    resource_not_found,
)
from asoreconcile.testing.arm.resource_storage import ResourceStorage
from asoreconcile.testing.arm.resources import ArmResource
from asoreconcile.testing.arm.simulation import Simulation
from asoreconcile.testing.arm.style import Answer, Style
from asoreconcile.testing.arm.writes import ArmWriteHandler
from asoreconcile.testing.http import HttpResponse

_NO_HEADERS: Mapping[str, str] = {}


class Provider:
    """The answers to GET, HEAD, PUT and DELETE. The caller holds the server's lock."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._styles = simulation.styles
        self._named = simulation.faults.named
        self._resources = simulation.resources
        self._views = simulation.views
        self._operations = simulation.operations
        self._storage = ResourceStorage(simulation)
        self._writes = ArmWriteHandler(simulation)

    def seed(self, address: ArmAddress, body: JsonObject, *, state: str = "") -> None:
        """Store a resource without a request.

        state: its provisioningState; "" is the state after a completed operation.
        """
        self._storage.seed(address, body, state=state)

    def get(self, address: ArmAddress) -> HttpResponse:
        """Return the resource as its type shows it. Raises RefusedError 404."""
        if not self._styles[address.type].readable:
            return not_supported("GET")
        before = self._simulation.lag.shown(address.key)
        if before is not None:
            if before.body is None:
                raise self._not_found(address)
            return answer(200, before.body)
        resource = self._existing(address, "GET")
        self._named.move(resource)
        return self._views.response(200, resource, is_read=True)

    def head(self, address: ArmAddress) -> HttpResponse:
        """Return whether the resource exists, as a status alone. Raises RefusedError
        404.
        """
        self._existing(address, "HEAD")
        return answer(204)

    def put(
        self,
        address: ArmAddress,
        body: JsonObject,
        api_version: str,
        headers: Mapping[str, str] = _NO_HEADERS,
    ) -> HttpResponse:
        """Create or replace a resource. Raises RefusedError.

        headers: headers of the request, for conditions.
        """
        return self._write(address, body, api_version, headers)

    def patch(
        self,
        address: ArmAddress,
        body: JsonObject,
        api_version: str,
        headers: Mapping[str, str] = _NO_HEADERS,
    ) -> HttpResponse:
        """Change some members of an existing resource, such as its tags. Children stay.

        headers: headers of the request, for conditions. Raises RefusedError.
        """
        present = self._existing(address, "PATCH")
        merged = apply_merge_patch(present.sent, body)
        return self._write(address, merged, api_version, headers, is_patch=True)

    def _write(
        self,
        address: ArmAddress,
        body: JsonObject,
        api_version: str,
        headers: Mapping[str, str],
        *,
        is_patch: bool = False,
    ) -> HttpResponse:
        self._simulation.scopes.check(address, "PUT")
        present = self._resources.find(address.id)
        etag = self._views.etag(present) if present else ""
        check_preconditions(headers, address, etag, present)
        self._writes.check(address, body, present)
        if present is None:
            self._named.check_quota(address, self._resources)
        if (checks := self._simulation.type_checks) is not None:
            shown = self._views.body(present) if present else None
            checks.check_write(address, body, api_version, shown)
        style = self._styles[address.type]
        style_answer = self._named.answer_to("PUT", address) or (
            style.create if present is None else style.update
        )
        self._check_planned("PUT", address)
        failure = self._simulation.faults.failures.take(address.id)
        if failure is not None and not style_answer.is_slow:
            raise RefusedError(409, failure.code, failure.message, from_gateway=False)
        before = None if present is None else (present.body, present.sent)
        self._note_write(address, present)
        body = self._named.written(address, body, present)
        resource = self._storage.store(address, body, present, keeps_children=is_patch)
        if not style_answer.is_slow:
            resource.enter(style.done)
            headers = self._simulation.monitors.plain_headers(
                address, style_answer, api_version
            )
            return self._views.response(style_answer.status, resource, headers)
        resource.enter(style_answer.state if style.done else "")
        operation = self._operations.begin(
            resource.address,
            "PUT",
            api_version=api_version,
            style=self._stuck_or(style, address),
            answer=style_answer,
            failure=failure,
            finish=lambda failed: self._end_put(resource, failed, before),
        )
        return self._started(operation, resource)

    def delete(
        self,
        address: ArmAddress,
        api_version: str,
        headers: Mapping[str, str] = _NO_HEADERS,
    ) -> HttpResponse:
        """Delete a resource. Raises RefusedError.

        headers: headers of the request, for conditions.
        """
        self._simulation.scopes.check(address, "DELETE")
        style = self._styles[address.type]
        resource = self._resources.find(address.id)
        if resource is None:
            return self._absent_delete(address, style)
        check_delete(headers, address, style)
        check_preconditions(headers, address, self._views.etag(resource), resource)
        check_unused(self._resources, address)
        style_answer = self._named.answer_to("DELETE", address) or style.delete
        self._check_planned("DELETE", address)
        failure = self._simulation.faults.failures.take(address.id)
        if not style_answer.is_slow:
            if failure is not None:
                raise RefusedError(
                    409, failure.code, failure.message, from_gateway=False
                )
            self._note_write(address, resource)
            self._storage.remove(resource)
            return _deleted(style_answer)
        running = self._operations.running(address.key)
        if running is None or running.method != "DELETE":
            if style.done or address.is_group:
                resource.enter("Deleting")
            running = self._operations.begin(
                resource.address,
                "DELETE",
                api_version=api_version,
                style=self._stuck_or(self._slow_or(style, address), address),
                answer=style_answer,
                failure=failure,
                finish=lambda failed: self._end_delete(resource, failed),
            )
        headers = self._simulation.monitors.headers(
            running, location=_location(resource)
        )
        return _deleted(style_answer, headers)

    def _note_write(self, address: ArmAddress, present: ArmResource | None) -> None:
        shown = None if present is None else self._views.body(present)
        seconds = self._named.lag_seconds(address, is_new=present is None)
        self._simulation.lag.note_write(address.key, shown, seconds)

    def _stuck_or(self, style: Style, address: ArmAddress) -> Style:
        """Return the style, changed if an operation is planned to run for ever."""
        if self._simulation.faults.stuck.take(address.id) is None:
            return style
        return attrs.evolve(style, seconds=math.inf, polls=None)

    def _slow_or(self, style: Style, address: ArmAddress) -> Style:
        """Return the style, changed if a fault makes deletions slow."""
        found = self._named.find("slow-delete", address)
        return attrs.evolve(style, seconds=found["seconds"]) if found else style

    def _check_planned(self, method: str, address: ArmAddress) -> None:
        refused = self._simulation.faults.refusals.take(f"{method} {address.id}")
        if refused is not None:
            raise refused

    def _absent_delete(self, address: ArmAddress, style: Style) -> HttpResponse:
        if address.is_group:
            raise group_not_found(address.name)
        if style.absent_delete == 404:
            raise self._not_found(address)
        return answer(204)

    def _existing(self, address: ArmAddress, method: str) -> ArmResource:
        resource = self._resources.find(address.id)
        if resource is not None:
            return resource
        self._simulation.scopes.check(address, method)
        raise self._not_found(address)

    def _not_found(self, address: ArmAddress) -> RefusedError:
        if address.is_group:
            return group_not_found(address.name)
        if code := self._styles[address.type].absent:
            message = f"The resource '{address.name}' could not be found."
            return RefusedError(404, code, message, from_gateway=False)
        return resource_not_found(address)

    def _started(self, operation: Operation, resource: ArmResource) -> HttpResponse:
        style_answer = operation.answer
        headers = self._simulation.monitors.headers(
            operation, location=_location(resource)
        )
        if style_answer.body == "empty":
            return answer(style_answer.status, headers=headers)
        if style_answer.body == "operation":
            body = {"operation": "Upsert", "startTime": operation.began_at}
            return answer(style_answer.status, body, headers)
        return self._views.response(style_answer.status, resource, headers)

    def _end_put(
        self,
        resource: ArmResource,
        failed: Failure | None,
        before: tuple[JsonObject, JsonObject] | None,
    ) -> None:
        style = self._styles[resource.address.type]
        if failed is not None:
            if before is None and not style.keeps_failed:
                self._storage.remove(resource)
            if before is not None and failed.undoes:
                resource.body, resource.sent = before
            resource.enter(failed.status if style.done else "")
            return
        resource.enter(style.done)
        if style.lingers_seconds:
            until = self._simulation.clock.monotonic() + style.lingers_seconds
            resource.lingers_until = until

    def _end_delete(self, resource: ArmResource, failed: Failure | None) -> None:
        if failed is None:
            self._storage.remove(resource)
        else:
            resource.enter(self._styles[resource.address.type].done)


def _deleted(
    style_answer: Answer, headers: dict[str, str] | None = None
) -> HttpResponse:
    """Return the answer to a DELETE. The body is an object, `null` or empty (V6)."""
    if style_answer.body == "object":
        return answer(style_answer.status, {"status": "Enqueued"}, headers)
    if style_answer.body == "null":
        return answer(style_answer.status, None, headers)
    return answer(style_answer.status, headers=headers)


def _location(resource: ArmResource) -> str:
    return str(resource.body.get("location") or "").replace(" ", "").lower()
