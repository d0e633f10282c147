"""Long-running operations: begun by a write, over at a time, ended when looked at."""

import threading
import uuid
from collections.abc import Callable, Mapping

import attrs

from asoreconcile.clock import Clock
from asoreconcile.testing.arm.address import Address
from asoreconcile.testing.arm.styles import Style


@attrs.frozen
class Failure:
    """What an operation fails with."""

    code: str
    message: str


@attrs.define(eq=False)
class Operation:
    """One operation. finish: what its end does to the resource, given how it ended.
    polls: how often it was looked at.
    """

    id: str
    address: Address
    method: str
    api_version: str
    style: Style
    ends_at: float
    failure: Failure | None
    finish: Callable[[Failure | None], None] = attrs.field(repr=False)
    is_over: bool = False
    polls: int = 0


class Operations:
    """All operations. The caller holds the server's lock."""

    def __init__(self, clock: Clock, *, seconds: float) -> None:
        """seconds: how long each takes."""
        self._clock = clock
        self._seconds = seconds
        self._all: dict[str, Operation] = {}
        self._running: dict[str, Operation] = {}

    def begin(
        self,
        address: Address,
        method: str,
        *,
        api_version: str,
        style: Style,
        failure: Failure | None,
        finish: Callable[[Failure | None], None],
    ) -> Operation:
        operation = Operation(
            id=str(uuid.uuid4()),
            address=address,
            method=method,
            api_version=api_version,
            style=style,
            ends_at=self._clock.monotonic() + self._seconds,
            failure=failure,
            finish=finish,
        )
        self._all[operation.id] = operation
        self._running[address.key] = operation
        return operation

    def find(self, id_: str) -> Operation | None:
        return self._all.get(id_)

    def running(self, key: str) -> Operation | None:
        """The operation of a resource that is not over."""
        return self._running.get(key)

    def settle(self) -> None:
        """End all operations whose time is over."""
        now = self._clock.monotonic()
        for operation in list(self._running.values()):
            if now >= operation.ends_at:
                self._end(operation)

    def forget(self, prefix: str) -> None:
        """Resources below went: their operations end without an effect."""
        for key, operation in list(self._running.items()):
            if key.startswith(prefix):
                operation.is_over = True
                del self._running[key]

    def _end(self, operation: Operation) -> None:
        operation.is_over = True
        self._running.pop(operation.address.key, None)
        operation.finish(operation.failure)


class Failures:
    """Operations that are to fail, by their resource. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._planned: list[tuple[Callable[[str], bool], Failure]] = []

    def plan(
        self, matches: Callable[[str], bool], failure: Failure, *, times: int
    ) -> None:
        with self._lock:
            self._planned += [(matches, failure)] * times

    def take(self, id_: str) -> Failure | None:
        with self._lock:
            for index, (matches, failure) in enumerate(self._planned):
                if matches(id_):
                    del self._planned[index]
                    return failure
        return None


def monitors(
    operation: Operation, base_url: str, *, deletes: bool, retry_after: int | None
) -> Mapping[str, str]:
    """The headers that tell where to look. retry_after: None sends none."""
    style = operation.style
    names = style.delete_monitors if deletes else style.monitors
    headers: dict[str, str] = {}
    if "async" in names:
        headers["Azure-AsyncOperation"] = monitor_url(operation, base_url, "operations")
    if "location" in names:
        kind = "operationresults"
        headers["Location"] = monitor_url(operation, base_url, kind)
    if headers and retry_after is not None:
        headers["Retry-After"] = str(retry_after)
    return headers


def monitor_url(operation: Operation, base_url: str, kind: str) -> str:
    """A monitor's URL; signed ones are another at each poll (L19)."""
    address = operation.address
    namespace = address.namespace.replace("microsoft.", "Microsoft.")
    signature = (
        f"&t={operation.polls}&s=sig{operation.id[:8]}"
        if operation.style.signed
        else ""
    )
    return (
        f"{base_url}/subscriptions/{address.subscription}/providers/{namespace}"
        f"/locations/global/{kind}/{operation.id}"
        f"?api-version={operation.api_version}{signature}"
    )
