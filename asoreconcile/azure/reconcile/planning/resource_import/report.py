"""The results of an import: by resource while it runs, and counted at its end."""

from collections import Counter
from typing import Literal

import attrs

from asoreconcile.base.objects import GroupKind

ImportStatus = Literal["imported", "skipped", "failed"]


@attrs.frozen
class ImportOutcome:
    """The result for one resource, or for a list of children that failed.

    arm_id: id of the resource, or path of the list. reason: a clause; "" if the
    resource was imported.
    """

    arm_id: str
    kind: GroupKind | None
    status: ImportStatus
    reason: str = ""
    is_list: bool = False


class Reporter:
    """Receives the progress of an import; this one shows nothing.

    `waiting` is called by any thread, the other methods by one.
    """

    def found(self, count: int) -> None:
        """Record that further resources will be read. count: their number."""

    def outcome(self, outcome: ImportOutcome) -> None:
        """Record the outcome of a resource or list; called once for each."""

    def waiting(self, seconds: float, why: str) -> None:
        """Record that a read waits before it is tried again."""


@attrs.frozen
class ImportReport:
    """The outcome of an import.

    outcomes: outcomes of all resources, and of all lists that failed, sorted by ARM id.
    was_stopped: whether the import ended early. unread: ids to continue with: of
    resources that were not read, or whose children were not.
    """

    outcomes: tuple[ImportOutcome, ...]
    was_stopped: bool = False
    unread: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Return whether the import was not stopped and nothing failed."""
        return not self.was_stopped and all(
            outcome.status != "failed" for outcome in self.outcomes
        )

    def counts(self) -> list[tuple[tuple[str, ImportStatus, str], int]]:
        """Return the counts by kind, status and reason, sorted."""
        counts = Counter(
            (str(one.kind or "(unknown)"), one.status, one.reason)
            for one in self.outcomes
        )
        return sorted(counts.items())
