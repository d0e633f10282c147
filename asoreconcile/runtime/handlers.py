"""Handlers: functions that map an event to requests, for `watch`.

They run on the watch thread, so they must be short and never block. Rules: PQ-1, TH-3.
"""

from collections.abc import Callable, Iterable

from asoreconcile.base.errors import check_is
from asoreconcile.base.objects import GroupKind, ObjectKey
from asoreconcile.base.signatures import check_takes
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.events import Added, Event, Updated
from asoreconcile.kube.resources import ApiResource
from asoreconcile.queue.workqueue import LOW_PRIORITY
from asoreconcile.runtime.predicates import states_of
from asoreconcile.runtime.reconciler import Request

Handler = Callable[[Event], Iterable[Request]]


def enqueue_self(event: Event) -> Iterable[Request]:
    """Enqueue the object of the event itself."""
    return (Request(event.key),)


def enqueue_owner(
    owner: GroupKind | ApiResource,
    *,
    only_controller: bool = False,
    namespaced: bool = True,
) -> Handler:
    """Enqueue the owners of a kind, by ownerReferences; the API version does not
    matter.

    only_controller: only the owner marked as the controller.
    namespaced: False for a cluster-scoped kind of owner.
    An update enqueues the owners before and after it. Does not decode the object.
    Raises TypeError if the argument is not a kind.
    """
    wanted = owner.group_kind if isinstance(owner, ApiResource) else owner
    check_is("owner", wanted, GroupKind, ApiResource)

    def owners(entry: Entry) -> Iterable[Request]:
        namespace = entry.namespace if namespaced else ""
        for reference in entry.owners:
            if only_controller and not reference.controller:
                continue
            if reference.group_kind == wanted:
                yield Request(ObjectKey(namespace, reference.name))

    return map_to(owners)


def map_to(requests_of: Callable[[Entry], Iterable[Request]]) -> Handler:
    """Enqueue the requests that a function returns for the object. On an update the
    function is called with the old and the new state; each request is enqueued once.

    requests_of: returns any number of requests: `[Request(key)]`. Raises TypeError if
    it cannot be called with one entry.
    """
    check_takes(requests_of, "entry", what="function of an Entry", lazy=True)

    def handle(event: Event) -> Iterable[Request]:
        unique: dict[Request, None] = {}
        for entry in states_of(event):
            # A dict keeps the order, which a set would not: tests and logs stay
            # readable.
            unique.update(dict.fromkeys(requests_of(entry)))
        return unique

    return handle


def priority_of(event: Event) -> int:
    """Return the priority of an event's requests: low for the initial list and for
    resyncs, which are not urgent. Rule: PQ-1.
    """
    match event:
        case Added(initial=True):
            return LOW_PRIORITY
        case Updated(old=old, new=new) if old.resource_version == new.resource_version:
            return LOW_PRIORITY
        case _:
            return 0
