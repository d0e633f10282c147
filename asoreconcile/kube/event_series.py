"""Series of repeated events, as events.k8s.io/v1 counts them. One thread.

The same action on the same object for the same reason is one event. It is written at
its first and second occurrence, then every half hour, and once more after its last.
Events that differ only in their note are the same, as in client-go.
"""

import attrs

from asoreconcile.base.lru import LruCache
from asoreconcile.kube.event_correlator import EventIdentity, EventRecord, Series

# client-go's values: a series ends after six minutes, and is updated every half hour.
IDLE_SECONDS = 360.0
_REFRESH_SECONDS = 1800.0
_REMEMBERED = 4096


@attrs.define
class _Open:
    record: EventRecord
    series: Series
    seen: float
    reported: float
    reported_count: int = 0


class SeriesCorrelator:
    """Correlates events into series; remembers the last minutes."""

    def __init__(self) -> None:
        self._open = LruCache[EventIdentity, _Open](_REMEMBERED)

    def observe(self, record: EventRecord, now: float) -> Series | None:
        """Count a record. Returns the event to write, or None if its series is already
        known.

        now: monotonic seconds.
        """
        identity = (*record.flow, record.action)
        known = self._open.get(identity)
        if known is None or now - known.seen >= IDLE_SECONDS:
            series = Series(record.at, record.at, record.message)
            known = self._open.put(identity, _Open(record, series, now, now))
        known.seen = now
        known.series.count += 1
        known.series.last = record.at
        if known.series.count > 2 and now - known.reported < _REFRESH_SECONDS:
            return None
        known.reported, known.reported_count = now, known.series.count
        return known.series

    def finished(self, now: float) -> list[tuple[EventRecord, Series]]:
        """The series that have ended with occurrences that were not written yet."""
        ended = [
            (identity, known)
            for identity, known in self._open.items()
            if now - known.seen >= IDLE_SECONDS
        ]
        for identity, _ in ended:
            self._open.pop(identity)
        return [
            (known.record, known.series)
            for _, known in ended
            if known.series.count > known.reported_count
        ]

    def __len__(self) -> int:
        return len(self._open)
