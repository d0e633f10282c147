"""Long-running operations. A write begins one; it ends at a time or with a poll.

An operation that is due ends when something asks for it.
"""

import uuid
from collections.abc import Callable

import attrs

from asoreconcile.base.clock import Clock
from asoreconcile.testing.arm.address import ArmAddress
from asoreconcile.testing.arm.style import Answer, Style


@attrs.frozen
class Failure:
    """The error with which an operation ends.

    status: Failed or Canceled (W15). undoes: whether the resource is then as before.
    """

    code: str
    message: str
    status: str = "Failed"
    undoes: bool = False


@attrs.define(eq=False)
class Operation:
    """One operation.

    answer: the answer to the write.
    ends_at: time on the server's clock.
    finish: changes the resource at the end, given how the operation ended.
    polls: number of polls so far.
    is_lost: whether the resource was deleted together with its group.
    """

    id: str
    address: ArmAddress
    method: str
    api_version: str
    style: Style
    answer: Answer
    began_at: str
    ends_at: float
    failure: Failure | None
    finish: Callable[[Failure | None], None] = attrs.field(repr=False)
    is_over: bool = False
    is_lost: bool = False
    polls: int = 0

    @property
    def retry_after(self) -> int | None:
        """Return the seconds until the next poll, or None to send no header."""
        seconds = self.answer.retry_after
        return seconds[min(self.polls, len(seconds) - 1)] if seconds else None


class Operations:
    """All operations. The caller holds the server's lock."""

    def __init__(self, clock: Clock, *, seconds: float) -> None:
        """Make the registry.

        seconds: duration of an operation whose style has none.
        """
        self._clock = clock
        self._seconds = seconds
        self._all: dict[str, Operation] = {}
        self._running: dict[str, Operation] = {}
        # These were replaced by a repeated request. Each still ends at its own time.
        self._superseded: list[Operation] = []

    def begin(
        self,
        address: ArmAddress,
        method: str,
        *,
        api_version: str,
        style: Style,
        answer: Answer,
        failure: Failure | None,
        finish: Callable[[Failure | None], None],
    ) -> Operation:
        """Record a new operation and return it. It runs until its time or its polls are
        over.

        finish: called once when the operation ends, under the server's lock, with the
        planned failure or None. It is not called if a later operation on the resource
        has replaced this one.
        answer: the answer to the write, for styles that repeat it.
        """
        seconds = self._seconds if style.seconds is None else style.seconds
        if style.polls is not None:
            # The operation ends only by its polls, so that a test decides when,
            # whatever the clock shows.
            seconds = float("inf")
        operation = Operation(
            id=str(uuid.uuid4()),
            address=address,
            method=method,
            api_version=api_version,
            style=style,
            answer=answer,
            began_at=f"{self._clock.now():%Y-%m-%dT%H:%M:%SZ}",
            ends_at=self._clock.monotonic() + seconds,
            failure=failure,
            finish=finish,
        )
        self._all[operation.id] = operation
        if address.key in self._running:
            # Its monitor may still be polled, so it must end, but its effect is that of
            # the later operation now.
            self._superseded.append(self._running[address.key])
        self._running[address.key] = operation
        return operation

    def find(self, id_: str) -> Operation | None:
        """Return the operation with that id, running or ended, or None if it is
        unknown.
        """
        return self._all.get(id_)

    def running(self, key: str) -> Operation | None:
        """Return the running operation of a resource, or None."""
        return self._running.get(key)

    def running_below(self, prefix: str) -> Operation | None:
        """Return any running operation of a resource whose key begins with
        the prefix.
        """
        found = (o for key, o in self._running.items() if key.startswith(prefix))
        return next(found, None)

    def note_poll(self, operation: Operation) -> None:
        """Count a poll. Some operations end with it."""
        operation.polls += 1
        polls = operation.style.polls
        if polls is not None and operation.polls >= polls and not operation.is_over:
            self._end(operation)

    def settle(self) -> None:
        """End all operations whose time is over."""
        now = self._clock.monotonic()
        for operation in list(self._running.values()):
            if now >= operation.ends_at:
                self._end(operation)
        for operation in self._superseded:
            operation.is_over = operation.is_over or now >= operation.ends_at
        self._superseded = [o for o in self._superseded if not o.is_over]

    def drop(self, key: str) -> None:
        """End the operations of a deleted resource without an effect."""
        operation = self._running.pop(key, None)
        if operation is not None:
            operation.is_over = True

    def drop_delete(self, key: str) -> None:
        """End the deletion of a resource that was created again, without an effect."""
        operation = self._running.get(key)
        if operation is not None and operation.method == "DELETE":
            self.drop(key)

    def forget(self, prefix: str) -> None:
        """End the operations of resources below a prefix without an effect."""
        for key, operation in list(self._running.items()):
            if key.startswith(prefix):
                operation.is_over = True
                del self._running[key]
        for operation in self._all.values():
            if operation.address.key.startswith(prefix):
                # When a resource group is deleted, Azure's monitors of the resources in
                # it answer 404, also those of ended operations.
                operation.is_lost = True

    def _end(self, operation: Operation) -> None:
        operation.is_over = True
        # An operation that was replaced ends without an effect: its body is no longer
        # the one that was requested last.
        if self._running.get(operation.address.key) is operation:
            del self._running[operation.address.key]
            operation.finish(operation.failure)
