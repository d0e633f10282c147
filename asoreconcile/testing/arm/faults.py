"""Faults of the simulated Azure: refusals, lost answers, failing operations.

Patterns are searched for without regard to case, in paths or in the ids of resources.
"""

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from asoreconcile.base import jsontext
from asoreconcile.base.clock import Clock, SystemClock
from asoreconcile.testing.arm.named_faults import NamedFaults
from asoreconcile.testing.arm.operations import Failure
from asoreconcile.testing.arm.refusals import JSON_TYPE, RefusedError, error
from asoreconcile.testing.faults import Faults
from asoreconcile.testing.http import HttpRequest, HttpResponse

_TIMED_OUT = (
    "The gateway did not receive a response from the resource provider within the "
    "specified time period."
)


class ArmFaults(Faults):
    """The faults of a simulated Azure."""

    def __init__(self, clock: Clock | None = None) -> None:
        super().__init__()
        self.named = NamedFaults(clock or SystemClock())
        self.failures: Planned[Failure] = Planned()
        self.stuck: Planned[str] = Planned()
        self.broken_polls: Planned[HttpResponse] = Planned()
        self.refusals: Planned[RefusedError] = Planned()
        self._late: Planned[HttpResponse] = Planned()

    def clear(self, number: int | None = None) -> None:
        """End faults as `Faults.clear` does. Running operations keep their
        planned end.
        """
        super().clear(number)
        if number is None:
            for planned in (
                *(self.failures, self.stuck, self.broken_polls),
                *(self.refusals, self._late),
            ):
                planned.clear()
            self.named.clear()

    def answer(
        self,
        method: str,
        path: str,
        status: int,
        *,
        code: str = "",
        message: str = "",
        headers: Mapping[str, str] | None = None,
        body: Any = None,
        envelope: str = "arm",
        times: int = 1,
    ) -> None:
        """Answer with an error instead of handling the request.

        code, message: in the envelope, which is one of `envelopes.NAMES`.
        body: replaces the envelope. Text is sent as a page, anything else as JSON.
        """
        if body is None:
            response = error(status, code, message, headers, envelope=envelope)
        elif isinstance(body, str):
            response = HttpResponse(
                status, body.encode(), {"Content-Type": "text/html", **(headers or {})}
            )
        else:
            response = HttpResponse(
                status,
                jsontext.dumps(body),
                {"Content-Type": JSON_TYPE, **(headers or {})},
            )
        self.respond(method, path, response, times=times)

    def refuse(
        self,
        method: str,
        resource: str,
        status: int,
        code: str,
        *,
        message: str = "Not now.",
        details: Sequence[tuple[str, str]] = (),
        retry_after: int | None = None,
        times: int = 1,
    ) -> None:
        """Make the provider refuse, in its own envelope, after all of ARM's checks.

        details: codes and messages of the inner errors.
        """
        listed = [{"code": code, "message": text} for code, text in details]
        refused = RefusedError(
            status,
            code,
            message,
            from_gateway=False,
            headers={} if retry_after is None else {"Retry-After": str(retry_after)},
            extra={"details": listed} if listed else None,
        )
        self.refusals.plan(f"^{method} .*{resource}", refused, times=times)

    def busy(
        self,
        resource: str,
        *,
        method: str = "PUT",
        retry_after: int | None = None,
        times: int = 1,
    ) -> None:
        """Refuse writes as if another operation were running (W17): 429
        `RetryableError`.
        """
        reason = "RetryableErrorDueToAnotherOperation"
        self.refuse(
            method,
            resource,
            429,
            "RetryableError",
            message="A retryable error occurred.",
            details=[(reason, "Another operation is updating the resource.")],
            retry_after=retry_after,
            times=times,
        )

    def fail_operation(
        self,
        path: str,
        code: str,
        message: str,
        *,
        status: str = "Failed",
        undoes: bool = False,
        times: int = 1,
    ) -> None:
        """Make the next operations of the matching resources fail: Failed
        or Canceled.

        undoes: whether a failed update leaves the resource as it was before.
        """
        failure = Failure(code, message, status, undoes)
        self.failures.plan(path, failure, times=times)

    def cancel_operation(self, path: str, *, times: int = 1) -> None:
        """Make the next operations of the matching resources end as canceled (W15)."""
        message = "The operation was canceled."
        self.fail_operation(
            path, "OperationCancelled", message, status="Canceled", times=times
        )

    def hang_operation(self, path: str, *, times: int = 1) -> None:
        """Make the next operations of the matching resources run for ever."""
        self.stuck.plan(path, path, times=times)

    def break_polls(self, path: str, *, status: int = 500, times: int = 1) -> None:
        """Answer polls of the matching resources with a front door's error
        page (W13).
        """
        response = error(status, "Server Error", "", envelope="html")
        self.broken_polls.plan(path, response, times=times)

    def time_out(
        self, method: str, path: str, *, applied: bool = False, times: int = 1
    ) -> None:
        """Answer 504 (V8, W26).

        applied: if true, the provider has nevertheless handled the request.
        """
        response = error(504, "GatewayTimeout", _TIMED_OUT)
        if applied:
            self._late.plan(f"^{method} .*{path}", response, times=times)
        else:
            self.respond(method, path, response, times=times)

    def around(
        self, request: HttpRequest, handle: Callable[[HttpRequest], HttpResponse]
    ) -> HttpResponse:
        """Handle a request with its faults. Raises DropConnection."""

        def handled(request: HttpRequest) -> HttpResponse:
            response = handle(request)
            late = self._late.take(f"{request.method} {request.path}")
            return late or response

        return super().around(request, handled)


Thing = TypeVar("Thing")


class Planned(Generic[Thing]):
    """Planned events by the pattern of the ids or requests. Safe to use from any
    thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._things: list[tuple[re.Pattern[str], Thing]] = []

    def plan(self, pattern: str, thing: Thing, *, times: int = 1) -> None:
        """Plan something for the next requests that match.

        pattern: searched for without regard to case.
        """
        with self._lock:
            self._things += [(re.compile(pattern, re.IGNORECASE), thing)] * times

    def take(self, text: str) -> Thing | None:
        """Return and use up the first event planned for this text, or return None."""
        with self._lock:
            for index, (pattern, thing) in enumerate(self._things):
                if pattern.search(text):
                    del self._things[index]
                    return thing
        return None

    def clear(self) -> None:
        """Remove all plans."""
        with self._lock:
            self._things.clear()
