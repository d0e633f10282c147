"""Differences that a PUT was sent to mend, in memory only.

After the PUT they show what it could not mend; over the syncs, what comes back each
time because somebody else wants it otherwise. A restart forgets: it costs some PUTs.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import attrs

_NONE: Mapping[str, int] = MappingProxyType({})


@attrs.frozen
class RepairAttempts:
    """Marks of one object's differences.

    pending: what the last PUT was to mend. repairs: how often each was begun on.
    """

    pending: frozenset[str] = frozenset()
    repairs: Mapping[str, int] = _NONE

    def started(self, found: frozenset[str]) -> "RepairAttempts":
        """The attempts with one more for each of these, which a PUT is to mend now."""
        more = {difference: self.repairs.get(difference, 0) + 1 for difference in found}
        return RepairAttempts(found, {**self.repairs, **more})

    def max_attempts(self) -> int:
        """How often the most stubborn of what is pending was begun on."""
        return max((self.repairs[difference] for difference in self.pending), default=0)

    def finished(self, given_up: Iterable[str]) -> "RepairAttempts":
        """The PUT's result was looked at; nothing more is tried for some."""
        dropped = frozenset(given_up)
        left = {m: n for m, n in self.repairs.items() if m not in dropped}
        return RepairAttempts(frozenset(), left)
