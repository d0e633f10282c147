"""Which events matter: functions from an event to a bool, to be given to `watch`.

They look at headers only and run on the watch thread (TH-3). Those named after a change
let additions and deletions pass; they hide resyncs too.
"""

from collections.abc import Callable

from asoreconcile.cache.entry import Entry
from asoreconcile.cache.events import Added, Deleted, Event, Updated

Predicate = Callable[[Event], bool]


def generation_changed(event: Event) -> bool:
    """The spec changed, or deletion was asked for; not status or metadata."""
    return not isinstance(event, Updated) or (
        event.old.generation != event.new.generation
    )


def concerns(test: Callable[[Entry], bool]) -> Predicate:
    """The object passes a test, before or after the change: one that stops to pass
    is still to be looked at once.
    """
    return lambda event: any(test(entry) for entry in states_of(event))


def labelled(name: str, value: str | None = None) -> Predicate:
    """The object has a label, before or after the change; with any value if None."""
    if value is None:
        return concerns(lambda entry: name in entry.labels)
    return concerns(lambda entry: entry.labels.get(name) == value)


def states_of(event: Event) -> tuple[Entry, ...]:
    """The object's states that an event knows: two of an update, else one."""
    match event:
        case Added(entry=entry) | Deleted(entry=entry):
            return (entry,)
        case Updated(old=old, new=new):
            return (old, new)
