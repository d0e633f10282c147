"""The interface of reconcilers: their argument, their results and exceptions, and the
meaning of these.

`classify` and `label_of` are pure. Rules: CT-3, CT-4, CT-5, PQ-7.
"""

import threading
from collections.abc import Callable
from typing import Protocol

import attrs

from asoreconcile.base.errors import (
    AsoreconcileError,
    RetryError,
    StoppedError,
    TerminalError,
    check_seconds,
    in_chain,
    is_own_stop,
)
from asoreconcile.base.objects import ObjectKey
from asoreconcile.base.signatures import check_takes
from asoreconcile.observability.reconcile_metrics import ReconcileResult
from asoreconcile.runtime.leaderelection.fence import NotLeadingError


@attrs.frozen
class Request:
    """A request to reconcile an object, which may no longer exist."""

    key: ObjectKey


@attrs.frozen
class Result:
    """The result of a reconcile that did not fail.

    requeue_after_seconds: reconcile again after this time, or earlier on an event; 0 or
    less requeues at once, None reconciles again only on an event.
    priority: priority of that requeue; None keeps the priority of this reconcile
    (PQ-7).
    not_before: True makes events wait for that time too.
    """

    requeue_after_seconds: float | None = None
    priority: int | None = None
    not_before: bool = False

    def __attrs_post_init__(self) -> None:
        """Raises TypeError or ValueError for an invalid time or priority: in the queue
        it would harm other objects too.
        """
        if self.requeue_after_seconds is not None:
            check_seconds("requeue_after_seconds", self.requeue_after_seconds)
        if not isinstance(self.priority, int | None):
            raise TypeError(f"priority is {self.priority!r:.80}: give a whole number")


class Reconciler(Protocol):
    """Moves one object from its actual to its desired state."""

    def reconcile(self, request: Request) -> Result:
        """Reconcile one object once. Runs on worker threads, never concurrently for one
        object; may block, within `reconcile_context.deadline()`.

        Raise TerminalError if only a change of the object helps: there is no retry, and
        back-off is cleared. Raise RetryError for a retry, not before the time it gives.
        StoppedError means that the controller is stopping: nothing is recorded. Any
        other exception is retried with back-off. An error that is not an
        AsoreconcileError is logged with its stack, as a bug, and so is a StoppedError
        of a controller that is not stopping.
        Rules: CT-3, CT-4, CT-5.
        """


Reconcile = Callable[[Request], Result]
"""A plain function with the contract of `Reconciler.reconcile`."""


def reconcile_of(reconciler: Reconciler | Reconcile) -> Reconcile:
    """Return the function to call for each object.

    Raises TypeError, before anything runs, for an argument that cannot return a Result:
    a class instead of an instance, a coroutine function or generator, an object that is
    neither a function nor a Reconciler, a function that does not take one Request.
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
    """The outcome of a failure: requeue with back-off. hold_seconds: time before which
    events must not requeue the key.
    """

    error: BaseException
    hold_seconds: float = 0.0
    unexpected: bool = False


@attrs.frozen
class Terminal:
    """The outcome of a terminal failure: requeue only on an event; back-off is
    cleared.
    """

    error: BaseException


@attrs.frozen
class Stopped:
    """The outcome of a reconcile that the stop of the process interrupted: nothing is
    recorded.
    """


@attrs.frozen
class Done:
    """The outcome of a success: back-off is cleared, and `result` says when to
    requeue.
    """

    result: Result


Outcome = Retry | Terminal | Stopped | Done


def classify(error: BaseException, *stopping: threading.Event) -> Outcome:
    """Classify the error of a reconcile. stopping: events of which one is set if the
    controller stops.
    """
    if is_own_stop(error, *stopping):
        return Stopped()
    # The outer error wins: the code that raised it knows the inner one.
    verdict = in_chain(error, (TerminalError, RetryError))
    if isinstance(verdict, TerminalError):
        return Terminal(error)
    stopped = in_chain(error, StoppedError)
    return Retry(
        error,
        hold_seconds=verdict.after_seconds if isinstance(verdict, RetryError) else 0.0,
        # Nothing here has stopped: its origin is to be found. A lease may be over a
        # moment before its end reaches the controller.
        unexpected=not isinstance(error, AsoreconcileError)
        or (stopped is not None and not isinstance(stopped, NotLeadingError)),
    )


def label_of(outcome: Outcome) -> ReconcileResult | None:
    """Return the `result` label of the reconcile metric."""
    match outcome:
        case Retry() | Terminal():
            return "error"
        case Done(result=Result(requeue_after_seconds=None)):
            return "success"
        case Done():
            return "requeue_after"
        case Stopped():
            return None
