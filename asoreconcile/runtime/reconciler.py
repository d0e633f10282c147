"""What a controller asks of its user's code, and what it may answer."""

from typing import Protocol

import attrs

from asoreconcile.objects import ObjectKey


@attrs.frozen
class Request:
    """An object to bring in order. It may be gone by now."""

    key: ObjectKey


@attrs.frozen
class Result:
    """A reconcile that did not fail.

    requeue_after_seconds: look at the object again then, or earlier if an event comes;
    0 or less is at once, None only on an event.
    priority: of that look; None keeps the one this reconcile was queued with (PQ-7).
    not_before: not even an event makes it earlier.
    """

    requeue_after_seconds: float | None = None
    priority: int | None = None
    not_before: bool = False


class Reconciler(Protocol):
    """Brings one object from where it is to where it should be."""

    def reconcile(self, request: Request) -> Result:
        """One pass over one object. Runs on worker threads, never twice at once for
        one object; may block, within `reconcile_context.deadline()`.

        Raises TerminalError: only a change of the object helps; no retry, and back-off
        is cleared. RetryError: try again, not before its time. StoppedError: the
        process is stopping, nothing is recorded. Anything else: try again with
        back-off; what is no AsoError is logged with its stack, as a bug.
        Rules: CT-3, CT-4, CT-5.
        """
