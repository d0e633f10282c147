"""Which events are one, which are too many: what is written for each. Pure but for what
it remembers; one thread.

The same event again raises a count. Many messages for one reason become one event that
shows the latest. One reason of one object has a budget; what exceeds it is counted and
not written. As client-go does for core/v1, but with a budget for each reason.
"""

from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime
from typing import Literal, TypeVar

import attrs

from asoreconcile.objects import JsonObject, key_of, uid_of

EventType = Literal["Normal", "Warning"]
EventIdentity = tuple[str, ...]

# As client-go's caches. The least recent goes first, and is then written as a new
# event.
_REMEMBERED = 4096
# client-go's: at once 25 of a flow, then one in five minutes, and ten different
# messages within ten minutes are combined.
_BURST = 25
_REFILL_SECONDS = 300.0
_SIMILAR = 10
_SIMILAR_SECONDS = 600.0
_COMBINED = "(combined from similar events): "

_Value = TypeVar("_Value")


@attrs.frozen
class EventRecord:
    """Something that happened to an object.

    obj: its apiVersion, kind and metadata. action: what was being done, if it was said.
    source: the component that says so.
    """

    obj: JsonObject = attrs.field(repr=False)
    type: EventType
    reason: str
    message: str
    at: datetime
    action: str = ""
    source: str = ""

    @property
    def flow(self) -> EventIdentity:
        """One reason of one object: what shares a budget and may be combined."""
        key = key_of(self.obj)
        kind = str(self.obj.get("kind"))
        return self.source, uid_of(self.obj), str(key), kind, self.type, self.reason


@attrs.define
class Series:
    """Occurrences that are one event. name: as it is, or is to be, written."""

    first: datetime
    last: datetime
    message: str
    count: int = 0
    name: str = ""
    written: bool = False


@attrs.define
class _Budget:
    tokens: float
    since: float


@attrs.define
class _Messages:
    seen: "OrderedDict[str, None]"
    last: float


class EventCorrelator:
    """Remembers the last few thousand events."""

    def __init__(self) -> None:
        self._series: OrderedDict[EventIdentity, Series] = OrderedDict()
        self._budgets: OrderedDict[EventIdentity, _Budget] = OrderedDict()
        self._messages: OrderedDict[EventIdentity, _Messages] = OrderedDict()

    def observe(self, record: EventRecord, now: float) -> Series | None:
        """Count a record in. The event to write, or None: its budget is used up.

        now: monotonic seconds.
        """
        message, flow = record.message, record.flow
        identity = (*flow, message)
        if self._is_one_of_many(flow, message, now):
            message = _COMBINED + message
            identity = flow
        series = _recall(
            self._series, identity, lambda: Series(record.at, record.at, message)
        )
        series.count += 1
        series.last = record.at
        series.message = message
        return series if self._within_budget(flow, now) else None

    def _is_one_of_many(self, flow: EventIdentity, message: str, now: float) -> bool:
        """Whether a reason has come with ten messages or more, one soon after another.

        Retries that name a new request id each time would else be an event each.
        """
        known = _recall(self._messages, flow, lambda: _Messages(OrderedDict(), now))
        if now - known.last > _SIMILAR_SECONDS:
            known.seen.clear()
        known.last = now
        known.seen[message] = None
        if len(known.seen) < _SIMILAR:
            return False
        # The number stays just below the limit, so that the next new one is combined
        # too.
        known.seen.popitem(last=False)
        return True

    def _within_budget(self, flow: EventIdentity, now: float) -> bool:
        budget = _recall(self._budgets, flow, lambda: _Budget(_BURST, now))
        refilled = (now - budget.since) / _REFILL_SECONDS
        budget.tokens = min(_BURST, budget.tokens + refilled)
        budget.since = now
        if budget.tokens < 1:
            return False
        budget.tokens -= 1
        return True


def _recall(
    memory: "OrderedDict[EventIdentity, _Value]",
    identity: EventIdentity,
    make: Callable[[], _Value],
) -> _Value:
    """What is remembered of an identity, or something new; the oldest is forgotten."""
    value = memory.get(identity)
    if value is None:
        value = memory[identity] = make()
        if len(memory) > _REMEMBERED:
            memory.popitem(last=False)
    else:
        memory.move_to_end(identity)
    return value
