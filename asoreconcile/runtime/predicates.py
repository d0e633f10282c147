"""Predicates: functions that decide whether an event counts, for `watch`.

They read only the entry's header fields and run on the watch thread (TH-3). Predicates
named after a change let additions and deletions pass, and drop resyncs.
"""

from collections.abc import Callable

from asoreconcile.base.errors import check_is
from asoreconcile.base.signatures import check_takes
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.events import Added, Deleted, Event, Updated

Predicate = Callable[[Event], bool]


def generation_changed(event: Event) -> bool:
    """Return whether the spec changed or deletion was requested. Changes of status or
    metadata do not count.
    """
    return not isinstance(event, Updated) or (
        event.old.generation != event.new.generation
    )


def concerns(test: Callable[[Entry], bool]) -> Predicate:
    """Return a predicate that is true if the object passes a test before or after the
    change.

    So an object that stops passing is reconciled once more. Raises TypeError unless
    test is a function of one entry.
    """
    check_takes(test, "entry", what="test of an Entry")
    return lambda event: any(test(entry) for entry in states_of(event))


def labelled(name: str, value: str | None = None) -> Predicate:
    """Return a predicate that is true if the object has a label before or after the
    change.

    value: value of the label; None matches any value.

    Raises TypeError unless both are strings.
    """
    check_is("name", name, str)
    if value is not None:
        check_is("value", value, str)
    if value is None:
        return concerns(lambda entry: name in entry.labels)
    return concerns(lambda entry: entry.labels.get(name) == value)


def states_of(event: Event) -> tuple[Entry, ...]:
    """Return the object's states in an event: two for an update, otherwise one."""
    match event:
        case Added(entry=entry) | Deleted(entry=entry):
            return (entry,)
        case Updated(old=old, new=new):
            return (old, new)
