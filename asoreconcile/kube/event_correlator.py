"""Aggregates events: decides which are written, and which are only counted. Pure except
for its state; for one thread.

A repeated event increments a count. Many messages for one reason become one event that
shows the latest. Each reason of an object has a budget; events beyond it are counted
but not written. client-go does the same for core/v1, with one budget for all reasons.
"""

from datetime import datetime
from typing import Literal

import attrs

from asoreconcile.base.lru import LruCache
from asoreconcile.base.objects import JsonObject, ObjectKey, key_of, uid_of

EventType = Literal["Normal", "Warning"]
EventIdentity = tuple[str, ...]

# The size of client-go's caches. The least recently used entry is evicted; its next
# event is written as a new one.
_REMEMBERED = 4096
# client-go's values: a burst of 25 per flow, then one in five minutes; ten different
# messages within ten minutes are combined.
_BURST = 25
_REFILL_SECONDS = 300.0
_SIMILAR = 10
_SIMILAR_SECONDS = 600.0
_COMBINED = "(combined from similar events): "


@attrs.frozen
class EventRecord:
    """Something that happened to an object.

    obj: its apiVersion, kind and metadata. action: the action in progress, if given.
    source: the reporting component. key, uid: the object's.
    """

    obj: JsonObject = attrs.field(repr=False)
    type: EventType
    reason: str
    message: str
    at: datetime
    action: str = ""
    source: str = ""
    key: ObjectKey = attrs.field(init=False)
    uid: str = attrs.field(init=False)

    @key.default
    def _key_of(self) -> ObjectKey:
        return key_of(self.obj)

    @uid.default
    def _uid_of(self) -> str:
        return uid_of(self.obj)

    @property
    def flow(self) -> EventIdentity:
        """The aggregation key, one reason of one object: its events share a budget and
        may be combined.
        """
        kind = str(self.obj.get("kind"))
        return self.source, self.uid, str(self.key), kind, self.type, self.reason


@attrs.define
class Series:
    """Occurrences that are one Event object. name: name of that object."""

    first: datetime
    last: datetime
    message: str
    count: int = 0
    name: str = ""
    written: bool = False


@attrs.define
class _Flow:
    """The state of one reason of one object: its last distinct messages, and its
    remaining budget.
    """

    last: float
    budget: float = _BURST
    messages: dict[str, None] = attrs.field(factory=dict)

    def is_one_of_many(self, message: str, idle_seconds: float) -> bool:
        """Return whether ten or more different messages came in a short time.

        Such messages are combined, because each retry with a new request id would
        otherwise make an event.
        """
        if idle_seconds > _SIMILAR_SECONDS:
            self.messages.clear()
        self.messages[message] = None
        if len(self.messages) < _SIMILAR:
            return False
        # The number stays just below the limit, so that the next new message is
        # combined too.
        del self.messages[next(iter(self.messages))]
        return True

    def is_within_budget(self, idle_seconds: float) -> bool:
        """Take one event from the budget; return False if the budget is used up."""
        self.budget = min(_BURST, self.budget + idle_seconds / _REFILL_SECONDS)
        if self.budget < 1:
            return False
        self.budget -= 1
        return True


class EventCorrelator:
    """Correlates events; remembers the last few thousand."""

    def __init__(self) -> None:
        self._series = LruCache[EventIdentity, Series](_REMEMBERED)
        self._flows = LruCache[EventIdentity, _Flow](_REMEMBERED)

    def observe(self, record: EventRecord, now: float) -> Series | None:
        """Count a record. Returns the event to write, or None if its budget is used up.

        now: monotonic seconds.
        """
        message, identity = record.message, record.flow
        flow = self._flows.get(identity) or self._flows.put(identity, _Flow(now))
        idle_seconds, flow.last = now - flow.last, now
        if flow.is_one_of_many(message, idle_seconds):
            message = _COMBINED + message
        else:
            identity = (*identity, message)
        series = self._series.get(identity) or self._series.put(
            identity, Series(record.at, record.at, message)
        )
        series.count += 1
        series.last = record.at
        series.message = message
        return series if flow.is_within_budget(idle_seconds) else None
