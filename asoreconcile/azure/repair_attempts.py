"""Differences that a PUT was sent to mend, in memory only.

After the PUT they show what it could not mend; over the syncs, what comes back each
time because somebody else wants it otherwise. A restart forgets: it costs some PUTs.
"""

from collections import Counter
from collections.abc import Iterable

import attrs


@attrs.define(eq=False)
class RepairAttempts:
    """Marks of one object's differences. For its reconciles alone.

    pending: what the last PUT was to mend. repairs: how often each was begun on.
    """

    pending: frozenset[str] = frozenset()
    repairs: Counter[str] = attrs.field(factory=Counter)

    def begin(self, found: frozenset[str]) -> int:
        """A PUT is to mend these; how often the most stubborn was begun on by now."""
        self.pending = found
        self.repairs.update(found)
        return max(self.repairs[mark] for mark in found)

    def judged(self, given_up: Iterable[str]) -> None:
        """The PUT's result was looked at; nothing more is tried for some."""
        self.pending = frozenset()
        for mark in given_up:
            self.repairs.pop(mark, None)

    def forget(self) -> None:
        """Start counting again: nothing differs, or the spec is another."""
        self.pending = frozenset()
        self.repairs.clear()
