"""Compute the delay between two polls of an operation, and count failed polls."""

from urllib.parse import urlsplit

import attrs

from asoreconcile.azure.arm.budget import Budget
from asoreconcile.azure.arm.ids import subscription_of
from asoreconcile.azure.arm.metrics import ArmMetrics
from asoreconcile.azure.arm.outcomes import ArmOutcome, Pending
from asoreconcile.azure.arm.tokens import DELETE, Token
from asoreconcile.base.log import Logger

_log = Logger(__name__)


@attrs.frozen
class PollSchedule:
    """The poll delays of one client. Thread-safe; never blocks."""

    budget: Budget | None
    metrics: ArmMetrics | None

    def spread(self, outcome: ArmOutcome, url: str, operation_id: str) -> ArmOutcome:
        """Stretch the delay so that all operations of a subscription share its reads
        (T9).

        url: of the request.
        operation_id: the client request id of the operation's first request.
        """
        if self.budget is None:
            return outcome
        subscription = subscription_of(urlsplit(url).path) or ""
        operations = self.budget.operations
        if not isinstance(outcome, Pending):
            operations.ended(subscription, operation_id)
            return outcome
        wait = operations.running(
            subscription,
            operation_id,
            outcome.delay_seconds,
            reads_left=self.budget.reads_left(subscription),
            reads_to_end=_reads_to_end(outcome),
            is_first=not outcome.progress.polls,
        )
        return attrs.evolve(outcome, delay_seconds=wait)

    def report(self, token: Token, outcome: Pending) -> None:
        """Log and count a status that could not be read (L15)."""
        _log.warning(
            "Operation status could not be read, keeping its token",
            error=str(outcome.read_error),
            badReads=outcome.progress.bad_reads,
            delaySeconds=outcome.delay_seconds,
        )
        if self.metrics is not None:
            self.metrics.troubled(urlsplit(token.url).path)


def _reads_to_end(running: Pending) -> int | None:
    """Return the number of reads until an operation ends; None if unknown.

    A deletion needs its poll. A PUT also needs a read of the resource; a PUT that
    outlived its first poll may need any number.
    """
    if running.token.type == DELETE:
        return 1
    return None if running.progress.polls else 2
