"""The results of an import: by resource while it runs, and counted at its end."""

from collections import Counter
from typing import Literal

import attrs

from asoreconcile.base.objects import GroupKind

ImportStatus = Literal["imported", "skipped", "failed"]


@attrs.frozen
class ImportOutcome:
    """The result for one resource, or for a list of children that failed.

    arm_id: of a list its path. reason: a clause, "" for what was imported.
    """

    arm_id: str
    kind: GroupKind | None
    status: ImportStatus
    reason: str = ""
    is_list: bool = False


class Reporter:
    """Follows an import, and shows nothing of it. `waiting` is called by any thread,
    the others by one.
    """

    def found(self, count: int) -> None:
        """Learn that so many resources more are to be read."""

    def outcome(self, outcome: ImportOutcome) -> None:
        """Learn of a resource or list, once, when it is done with."""

    def waiting(self, seconds: float, why: str) -> None:
        """Learn that a read waits before it is tried again."""


@attrs.frozen
class ImportReport:
    """The outcome of an import.

    outcomes: of every resource and of every list that failed, by ARM id.
    was_stopped: it ended before all was read. unread: ids to go on with then, each of a
    resource that was not read or whose children were not.
    """

    outcomes: tuple[ImportOutcome, ...]
    was_stopped: bool = False
    unread: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Return whether nothing failed and nobody stopped it."""
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
