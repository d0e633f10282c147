"""Resource Graph as a source for syncs, for types where its rows have proved useful."""

import threading

from asoreconcile.azure.arm.collection_reads import CollectionReads
from asoreconcile.azure.arm.graph_rows import LAG_SECONDS, GraphRows
from asoreconcile.base.clock import Clock

# After so many useless rows in a row a type is not queried any more. A single row may
# be late; rows of a type that lack values or always change are all useless.
_MOST_POOR_ROWS = 16


def is_new_enough(period_seconds: float, max_age_seconds: float) -> bool:
    """Return whether a query can be newer than a GET of one period ago. Pure.

    max_age_seconds: how old the query's answer may be by then.
    """
    return period_seconds - max_age_seconds > LAG_SECONDS


class GraphReads:
    """Rows shared by all syncs, and whether GETs confirmed them. Safe from any thread.

    reads: the source of rows.
    """

    def __init__(self, clock: Clock, *, max_age_seconds: float) -> None:
        """max_age_seconds: as of `CollectionReads`."""
        self.reads = CollectionReads(
            clock, max_age_seconds=max_age_seconds, source=GraphRows(clock)
        )
        self._lock = threading.Lock()
        self._poor: dict[tuple[str, str], int] = {}

    def note(self, arm_id: str, api_version: str, *, was_of_use: bool) -> None:
        """Record the use of a row. was_of_use: it replaced a GET, or shows all that a
        GET showed. A type whose rows never do is not queried any more.
        """
        address = self.reads.address(arm_id)
        if address is None:
            return
        key = (address.arm_type, api_version)
        with self._lock:
            self._poor[key] = 0 if was_of_use else self._poor.get(key, 0) + 1
            is_poor = self._poor[key] >= _MOST_POOR_ROWS
        if is_poor:
            self.reads.distrust(arm_id, api_version)
