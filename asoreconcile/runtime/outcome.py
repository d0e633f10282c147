"""What a finished reconcile means for the queue and the metrics. Pure.

Rules: CT-3, CT-4, CT-5, PQ-7.
"""

from typing import TypeVar

import attrs

from asoreconcile.errors import (
    AsoreconcileError,
    RetryError,
    StoppedError,
    TerminalError,
)
from asoreconcile.metrics import ReconcileResult
from asoreconcile.runtime.reconciler import Result

E = TypeVar("E", bound=BaseException)


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


def in_chain(error: BaseException, wanted: type[E] | tuple[type[E], ...]) -> E | None:
    """The first of some class among an error and its causes (`raise ... from`)."""
    link: BaseException | None = error
    seen = set()  # `raise error from error` makes a ring
    while link is not None and id(link) not in seen:
        if isinstance(link, wanted):
            return link
        seen.add(id(link))
        link = link.__cause__
    return None
