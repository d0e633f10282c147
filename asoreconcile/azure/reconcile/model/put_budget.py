"""Limits the PUTs that follow a success although the object was not edited. Pure.

Two objects can change each other's inputs without end, through what they export. The
retries of a refused PUT have their own back-off (R4.1), and edits are not limited.
"""

from collections.abc import Sequence

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference

PUT_BUDGET_SPENT = "PutBudgetSpent"
MOST_PUTS = 20
PERIOD_SECONDS = 3600.0


@attrs.frozen
class PutBudget:
    """The PUTs of an object that followed a success, or its repeated exports.

    sent: the times of such PUTs, in monotonic seconds, the oldest first.
    """

    sent: tuple[float, ...] = ()

    def wait(self, now: float) -> float:
        """Return the seconds until a PUT may be sent; 0.0 if it may be sent now."""
        recent = self._recent(now)
        if len(recent) < MOST_PUTS:
            return 0.0
        return recent[-MOST_PUTS] + PERIOD_SECONDS - now

    def spent(self, now: float) -> "PutBudget":
        """Return the budget after a PUT that is sent now."""
        return PutBudget((*self._recent(now), now))

    def _recent(self, now: float) -> tuple[float, ...]:
        return tuple(at for at in self.sent if now - at < PERIOD_SECONDS)


def budget_spent(wait: float, loop: Sequence[ObjectReference]) -> ConditionError:
    """Return the condition of an object whose PUT is held back.

    loop: the object, what it exports, the object that reads the export, and so on back
    to the first; empty if the reason is not known.
    """
    why = (
        "each of these changes the next: " + " -> ".join(map(_shown, loop))
        if loop
        else "its Secrets, ConfigMaps or references, or the resource, change each time"
    )
    return ConditionError(
        f"{MOST_PUTS} PUTs in an hour followed a success without an edit of the spec; "
        f"{why}. The next PUT is sent when the hour is over, or after an edit",
        reason=PUT_BUDGET_SPENT,
        after_seconds=wait,
    )


def _shown(node: ObjectReference) -> str:
    return f"{node.group_kind.kind} {node.key.name!r}"
