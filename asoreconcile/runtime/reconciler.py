"""What a controller asks of its user's code, what it may answer, and what that means.

`classify` and `label_of` are pure. Rules: CT-3, CT-4, CT-5, PQ-7.
"""

from collections.abc import Callable
from typing import Protocol

import attrs

from asoreconcile.errors import (
    AsoreconcileError,
    RetryError,
    StoppedError,
    TerminalError,
    check_seconds,
    in_chain,
)
from asoreconcile.objects import ObjectKey
from asoreconcile.reconcile_metrics import ReconcileResult
from asoreconcile.signatures import check_takes


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

    def __attrs_post_init__(self) -> None:
        """Raises TypeError or ValueError for what is no time, and for what is no
        priority: in the queue it would do harm to other objects as well.
        """
        if self.requeue_after_seconds is not None:
            check_seconds("requeue_after_seconds", self.requeue_after_seconds)
        if not isinstance(self.priority, int | None):
            raise TypeError(f"priority is {self.priority!r:.80}: give a whole number")


class Reconciler(Protocol):
    """Brings one object from where it is to where it should be."""

    def reconcile(self, request: Request) -> Result:
        """One reconcile of one object. Runs on worker threads, never twice at once for
        one object; may block, within `reconcile_context.deadline()`.

        Raises TerminalError: only a change of the object helps; no retry, and back-off
        is cleared. RetryError: try again, not before its time. StoppedError: the
        process is stopping, nothing is recorded. Anything else: try again with
        back-off; what is no AsoreconcileError is logged with its stack, as a bug.
        Rules: CT-3, CT-4, CT-5.
        """


Reconcile = Callable[[Request], Result]
"""As `Reconciler.reconcile`: a plain function will do."""


def reconcile_of(reconciler: Reconciler | Reconcile) -> Reconcile:
    """What to call for each object.

    Raises TypeError for what could not answer a Result, before anything runs: a class
    where an object of it is meant, a coroutine function or generator, an object of
    neither form, a function that does not take one Request.
    """
    if isinstance(reconciler, type):
        raise TypeError(f"{reconciler.__name__} is a class: give an object of it")
    found = getattr(reconciler, "reconcile", reconciler)
    if not callable(found):
        raise TypeError(
            f"{reconciler!r:.80} is no reconciler: give a function of a Request, or an "
            "object with a method `reconcile`"
        )
    check_takes(found, "request", what="reconciler")
    return found


@attrs.frozen
class Retry:
    """Queue it again with back-off. hold_seconds: events must not beat that."""

    error: BaseException
    hold_seconds: float = 0.0
    unexpected: bool = False


@attrs.frozen
class Terminal:
    """Only an event brings it back; back-off is cleared."""

    error: BaseException


@attrs.frozen
class Stopped:
    """The process is stopping: nothing to record."""


@attrs.frozen
class Done:
    """In order: back-off is cleared, and `result` says when to look again."""

    result: Result


Outcome = Retry | Terminal | Stopped | Done


def classify(error: BaseException) -> Outcome:
    """What a reconcile that raised means."""
    if in_chain(error, StoppedError):
        return Stopped()
    # The outer one wins: the code that raised it has seen the inner one.
    verdict = in_chain(error, (TerminalError, RetryError))
    if isinstance(verdict, TerminalError):
        return Terminal(error)
    return Retry(
        error,
        hold_seconds=verdict.after_seconds if isinstance(verdict, RetryError) else 0.0,
        unexpected=not isinstance(error, AsoreconcileError),
    )


def label_of(outcome: Outcome) -> ReconcileResult | None:
    """The `result` label to count it under."""
    match outcome:
        case Retry() | Terminal():
            return "error"
        case Done(result=Result(requeue_after_seconds=None)):
            return "success"
        case Done():
            return "requeue_after"
        case Stopped():
            return None
