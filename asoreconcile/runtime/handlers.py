"""Whom an event concerns: functions from an event to requests, given to `watch`.

They run on the watch thread: short, never blocking. Rules: PQ-1, TH-3.
"""

from collections.abc import Callable, Iterable

from asoreconcile.cache.entry import Entry
from asoreconcile.cache.events import Added, Event, Updated
from asoreconcile.objects import GroupKind, ObjectKey
from asoreconcile.queue.workqueue import LOW_PRIORITY
from asoreconcile.runtime.predicates import states_of
from asoreconcile.runtime.reconciler import Request

Handler = Callable[[Event], Iterable[Request]]


def enqueue_self(event: Event) -> Iterable[Request]:
    """Request the object of the event itself."""
    return (Request(event.key),)


def enqueue_owner(
    owner: GroupKind, *, only_controller: bool = False, namespaced: bool = True
) -> Handler:
    """The owners of that kind, by ownerReferences; the version does not matter.

    only_controller: only the owner marked as the controller.
    namespaced: False for a cluster-scoped kind of owner.
    An update concerns the owners before and after it. Decodes nothing.
    """

    def owners(entry: Entry) -> Iterable[Request]:
        namespace = entry.namespace if namespaced else ""
        for reference in entry.owners:
            if only_controller and not reference.controller:
                continue
            if reference.group_kind == owner:
                yield Request(ObjectKey(namespace, reference.name))

    return map_to(owners)


def map_to(requests_of: Callable[[Entry], Iterable[Request]]) -> Handler:
    """What a function makes of the object: of both states on an update, each request
    once.
    """

    def handle(event: Event) -> Iterable[Request]:
        unique: dict[Request, None] = {}
        for entry in states_of(event):
            # A dict keeps the order, which a set would not: tests and logs stay
            # readable.
            unique.update(dict.fromkeys(requests_of(entry)))
        return unique

    return handle


def priority_of(event: Event) -> int:
    """Low for the first list and for resyncs, which nobody waits for. Rule: PQ-1."""
    match event:
        case Added(initial=True):
            return LOW_PRIORITY
        case Updated(old=old, new=new) if old.resource_version == new.resource_version:
            return LOW_PRIORITY
        case _:
            return 0
