"""Faults of the test servers: requests that are held, dropped, refused or slow.

A rule matches a method and a path, and is used up after a number of requests. A hold
stops a request at a given point and reports that the request is there, so that a test
can end a client between two of its steps without waiting by time. Injected faults
(`fault_injection`) describe everything else: which requests are hit, how often, and the
effect. Other processes set them through the control path.
"""

import re
import threading
import time
from collections.abc import Callable
from typing import Literal

import attrs

from asoreconcile.base.clock import Clock, SystemClock
from asoreconcile.testing.fault_injection import (
    Describe,
    FaultPlan,
    InjectedFault,
    by_method,
)
from asoreconcile.testing.http import DropConnection, HttpRequest, HttpResponse
from asoreconcile.testing.latency import broken_off, dripped

Phase = Literal["before", "after"]
_FOREVER_SECONDS = 600.0


class Hold:
    """Requests held at one place. Created by `Faults.hold`."""

    def __init__(
        self, method: str, path: str, phase: Phase, *, times: int | None = None
    ) -> None:
        """times: how many requests to hold; None is all."""
        self._matches = _matcher(method, path)
        self.phase = phase
        self._left = times
        self._lock = threading.Lock()
        self._arrived = threading.Event()
        self._go = threading.Event()
        self._dropped = False

    def wait_arrived(self, timeout_seconds: float) -> bool:
        """Block until a request is held here."""
        return self._arrived.wait(timeout_seconds)

    def release(self) -> None:
        """Let the held requests go on, and hold no more."""
        self._go.set()

    def drop(self) -> None:
        """Drop the connections of the held requests, and hold no more."""
        self._dropped = True
        self._go.set()

    def pass_through(self, request: HttpRequest, phase: Phase) -> None:
        """Stop a request if it matches the hold. Raises DropConnection."""
        if phase != self.phase or self._go.is_set() or not self._matches(request):
            return
        if not self._takes_one():
            return
        self._arrived.set()
        self._go.wait(_FOREVER_SECONDS)
        if self._dropped:
            raise DropConnection

    def _takes_one(self) -> bool:
        with self._lock:
            if self._left is None:
                return True
            self._left -= 1
            return self._left >= 0


@attrs.define
class _Rule:
    matches: Callable[[HttpRequest], bool]
    times: int
    phase: Phase
    response: HttpResponse | None  # If None, the connection is dropped.


class Faults:
    """The faults of one server. Safe from any thread."""

    def __init__(
        self, *, describe: Describe = by_method, clock: Clock | None = None
    ) -> None:
        """Make the faults of a server.

        describe: returns the verb and the resource of a request.
        clock: measures the delays of injected faults.
        """
        self._lock = threading.Lock()
        self._holds: list[Hold] = []
        self._rules: list[_Rule] = []
        self._plans: dict[int, FaultPlan] = {}
        self._planned = 0
        self._describe = describe
        self._clock = clock or SystemClock()
        self._over = threading.Event()
        self.latency_seconds = 0.0

    def plan(self, injected: InjectedFault) -> int:
        """Add a fault; returns the number to `clear` it by."""
        with self._lock:
            self._planned += 1
            self._plans[self._planned] = FaultPlan(injected)
            return self._planned

    def planned(self) -> dict[int, tuple[InjectedFault, int]]:
        """Return all injected faults by number, each with its number of hits."""
        with self._lock:
            return {n: (plan.injected, plan.hit) for n, plan in self._plans.items()}

    def clear(self, number: int | None = None) -> None:
        """Remove one fault, or without a number all of them, however they were set;
        holds and slowness stay. Raises KeyError for an unknown number.
        """
        with self._lock:
            if number is None:
                self._plans.clear()
                self._rules.clear()
            else:
                del self._plans[number]

    def refused(self, injected: InjectedFault, request: HttpRequest) -> HttpResponse:  # noqa: ARG002
        """Return the answer of a fault with a status. Servers override the wording."""
        headers = {"Content-Type": "text/plain; charset=utf-8"}
        if injected.retry_after is not None:
            headers["Retry-After"] = str(injected.retry_after)
        return HttpResponse(injected.status, injected.message.encode(), headers)

    def hold(
        self,
        *,
        method: str,
        path: str,
        phase: Phase = "before",
        times: int | None = None,
    ) -> Hold:
        """Hold requests before they are applied, or after, before the response is sent.

        times: how many; None is all, until the hold is released.
        """
        hold = Hold(method, path, phase, times=times)
        with self._lock:
            self._holds.append(hold)
        return hold

    def drop(
        self, method: str, path: str, *, phase: Phase = "before", times: int = 1
    ) -> None:
        """Cut the connection, so that the request or its answer is lost."""
        self._add(_Rule(_matcher(method, path), times, phase, None))

    def respond(
        self, method: str, path: str, response: HttpResponse, *, times: int = 1
    ) -> None:
        """Send this response instead of the server's."""
        self._add(_Rule(_matcher(method, path), times, "before", response))

    def release_all(self) -> None:
        """Release every held request, and end all delays; for closing a server."""
        self._over.set()
        with self._lock:
            holds = list(self._holds)
        for hold in holds:
            hold.release()

    def around(
        self, request: HttpRequest, handle: Callable[[HttpRequest], HttpResponse]
    ) -> HttpResponse:
        """Handle a request with its faults. Raises DropConnection."""
        if self.latency_seconds > 0:
            time.sleep(self.latency_seconds)
        self._stop(request, "before")
        rule = self._take(request, "before")
        if rule is not None:
            if rule.response is None:
                raise DropConnection
            return rule.response
        response = self._apply(request, handle)
        self._stop(request, "after")
        if self._take(request, "after") is not None:
            raise DropConnection
        return response

    def _apply(
        self, request: HttpRequest, handle: Callable[[HttpRequest], HttpResponse]
    ) -> HttpResponse:
        """Handle a request with the faults that hit it, in the order they
        were planned.
        """
        if not self._plans:
            return handle(request)
        subject = self._describe(request)
        with self._lock:
            met = [
                p.injected for p in self._plans.values() if p.takes(request, subject)
            ]
        refused: HttpResponse | None = None
        for injected in met:
            self._wait(injected.delay_seconds)
            if injected.drop == "before":
                raise DropConnection
            if injected.status and refused is None:
                refused = self.refused(injected, request)
        response = refused or handle(request)
        for injected in met:
            if injected.drop == "after":
                raise DropConnection
            response = self._delayed(injected, response)
        return response

    def _delayed(self, injected: InjectedFault, response: HttpResponse) -> HttpResponse:
        body = response.body
        if injected.drip_bytes:
            body = dripped(
                body, injected.drip_bytes, lambda: self._wait(injected.drip_seconds)
            )
        if injected.reset_after_bytes is not None:
            body = broken_off(body, injected.reset_after_bytes)
        return attrs.evolve(response, body=body)

    def _wait(self, seconds: float) -> None:
        if seconds > 0:
            self._clock.wait(self._over, seconds)

    def _add(self, rule: _Rule) -> None:
        with self._lock:
            self._rules.append(rule)

    def _stop(self, request: HttpRequest, phase: Phase) -> None:
        with self._lock:
            holds = list(self._holds)
        for hold in holds:
            hold.pass_through(request, phase)

    def _take(self, request: HttpRequest, phase: Phase) -> _Rule | None:
        with self._lock:
            for rule in self._rules:
                if rule.phase == phase and rule.times > 0 and rule.matches(request):
                    rule.times -= 1
                    return rule
        return None


def _matcher(method: str, path: str) -> Callable[[HttpRequest], bool]:
    pattern = re.compile(path, re.IGNORECASE)
    return lambda request: (
        request.method == method and pattern.search(request.path) is not None
    )
