"""Counts PUTs that were sent to repair each difference, in memory only.

After the PUT this shows which differences it could not repair; over the syncs, which
come back each time because somebody else changes them. Losing it in a restart costs
some PUTs.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import attrs

_NONE: Mapping[str, int] = MappingProxyType({})


@attrs.frozen
class RepairAttempts:
    """Marks of one object's differences.

    pending: those that the last PUT should repair. repairs: the number of PUTs for
    each.
    """

    pending: frozenset[str] = frozenset()
    repairs: Mapping[str, int] = _NONE

    def started(self, found: frozenset[str]) -> "RepairAttempts":
        """The attempts with one more for each of these, before a PUT for them."""
        more = {difference: self.repairs.get(difference, 0) + 1 for difference in found}
        return RepairAttempts(found, {**self.repairs, **more})

    def max_attempts(self) -> int:
        """The highest number of PUTs for one pending difference."""
        return max((self.repairs[difference] for difference in self.pending), default=0)

    def finished(self, given_up: Iterable[str]) -> "RepairAttempts":
        """After the PUT's result was read; given_up: no PUT is sent for these any
        more.
        """
        dropped = frozenset(given_up)
        left = {m: n for m, n in self.repairs.items() if m not in dropped}
        return RepairAttempts(frozenset(), left)
