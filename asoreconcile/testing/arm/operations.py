"""Long-running operations: begun by a write, over at a time or a poll, ended when
looked at.
"""

import uuid
from collections.abc import Callable

import attrs

from asoreconcile.clock import Clock
from asoreconcile.testing.arm.address import ArmAddress
from asoreconcile.testing.arm.style import Answer, Style


@attrs.frozen
class Failure:
    """What an operation fails with. status: Failed or Canceled (W15)."""

    code: str
    message: str
    status: str = "Failed"


@attrs.define(eq=False)
class Operation:
    """One operation. answer: what the write was answered. ends_at: on the server's
    clock. finish: what its end does to the resource, given how it ended. polls: how
    often it was looked at. is_lost: what it was about went, with all around it.
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
        """Seconds for the next poll; None sends none."""
        seconds = self.answer.retry_after
        return seconds[min(self.polls, len(seconds) - 1)] if seconds else None


class Operations:
    """All operations. The caller holds the server's lock."""

    def __init__(self, clock: Clock, *, seconds: float) -> None:
        """seconds: how long each takes, where its style does not say."""
        self._clock = clock
        self._seconds = seconds
        self._all: dict[str, Operation] = {}
        self._running: dict[str, Operation] = {}
        # Overtaken by the same request once more: each still ends at its own time.
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
        """Record a new operation and return it; it runs until its time or its polls are
        over.

        finish: called once when it ends, under the server's lock, with the failure that
        was asked for or None; not if a later operation on the resource took its place.
        answer: what the write answers, for styles that repeat it.
        """
        seconds = self._seconds if style.seconds is None else style.seconds
        if style.polls is not None:
            # By its polls alone, so that a test decides when, whatever the clock does.
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
            # Its monitor may still be polled: it must end, though its effect is the
            # later one's now.
            self._superseded.append(self._running[address.key])
        self._running[address.key] = operation
        return operation

    def find(self, id_: str) -> Operation | None:
        """The operation of that id, running or ended; None for ids that were never
        given out.
        """
        return self._all.get(id_)

    def running(self, key: str) -> Operation | None:
        """The operation of a resource that is not over."""
        return self._running.get(key)

    def running_below(self, prefix: str) -> Operation | None:
        """Some operation of a resource whose key begins so."""
        found = (o for key, o in self._running.items() if key.startswith(prefix))
        return next(found, None)

    def note_poll(self, operation: Operation) -> None:
        """Count a look at an operation; some end by it."""
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
        """A resource went: what still ran of it is over, without an effect."""
        operation = self._running.pop(key, None)
        if operation is not None:
            operation.is_over = True

    def drop_delete(self, key: str) -> None:
        """A resource was put back: its deletion is over, without an effect."""
        operation = self._running.get(key)
        if operation is not None and operation.method == "DELETE":
            self.drop(key)

    def forget(self, prefix: str) -> None:
        """Resources below went: their operations end without an effect."""
        for key, operation in list(self._running.items()):
            if key.startswith(prefix):
                operation.is_over = True
                del self._running[key]
        for operation in self._all.values():
            if operation.address.key.startswith(prefix):
                # Azure's monitors of what went with its resource group answer 404,
                # those that were over as well.
                operation.is_lost = True

    def _end(self, operation: Operation) -> None:
        operation.is_over = True
        # One that was overtaken ends without an effect: its body is no longer what was
        # asked for last.
        if self._running.get(operation.address.key) is operation:
            del self._running[operation.address.key]
            operation.finish(operation.failure)
