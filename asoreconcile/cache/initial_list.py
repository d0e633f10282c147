"""The initial list of a kind: streamed at the start of a watch, or read in pages.

With streaming, neither the server nor this process handles one long list: objects come
one by one, a bookmark marks the end, and the same stream continues as the watch. Rules:
RF-2, RF-3, RF-11.
"""

import threading
from collections.abc import Callable, Iterable, Sequence

import attrs

from asoreconcile.base.clock import Clock, Timer
from asoreconcile.base.coroutines import Coroutine
from asoreconcile.base.objects import JsonObject, annotations, key_of, resource_version
from asoreconcile.cache.entry import Entry
from asoreconcile.kube.errors import ExpiredError, event_error
from asoreconcile.kube.listing import Listing, Pages
from asoreconcile.kube.selection import NEWEST, ListOptions, Selection
from asoreconcile.kube.streams import KubeStreams

# client-go's page size.
_PAGE = 500
# A server that does not know the parameter treats the request as a plain watch: it
# sends objects, but no bookmark that marks the end.
_INACTIVITY_SECONDS = 30.0
_INITIAL_END = "k8s.io/initial-events-end"

MakeEntry = Callable[[JsonObject], Entry | None]
"""None: the object cannot be read and is left out."""


@attrs.frozen
class InitialList:
    """The complete state of a kind: all objects, and the resource version of the
    list.
    """

    entries: Sequence[Entry]
    version: str


class StreamingSupport:
    """The knowledge whether a server streams initial lists. One per server.

    If the server refuses to stream a kind, only that kind is listed from then on,
    because an aggregated server may serve it. If the server does not mark the end of a
    stream, which costs half a minute, no kind is streamed, unless the server has
    streamed another kind before.
    """

    def __init__(self, *, expected: bool = True) -> None:
        self.expected = expected
        self._is_proven = False

    def proven(self) -> None:
        """Record that the server streamed the initial list of a kind."""
        self._is_proven = True

    def silent(self) -> None:
        """Record that the server never marked the end of an initial list."""
        if not self._is_proven:
            self.expected = False


def listed(
    source: KubeStreams,
    selection: Selection,
    *,
    no_older_than: str,
    entry: MakeEntry,
    opened: Callable[[Coroutine[Listing]], Coroutine[Listing]],
    wake: Callable[[], None],
) -> Coroutine[InitialList]:
    """Read the state by LIST, in pages. Raises the exceptions of the source.

    no_older_than: the least resource version; "" for the newest, "0" for any version
    the server has cached. opened: function that makes the steps which open a page; its
    exceptions end the list. wake: argument of `KubeStreams`.
    """
    entries: list[Entry] = []

    def read(place: ListOptions) -> Coroutine[Listing]:
        page = yield from opened(source.listing(selection, place, wake=wake))
        for obj in page.polled():
            if obj is None:
                yield None
                continue
            made = entry(obj)
            if made is not None:
                entries.append(made)
        return page

    pages = Pages()
    last = yield from read(ListOptions(no_older_than, _PAGE, ""))
    while token := last.continue_token:
        pages.check_next(token)
        try:
            # A continued list has the version of its first page.
            last = yield from read(ListOptions(None, _PAGE, token))
        except ExpiredError:
            # The continue token expired: list again without pages.
            entries.clear()
            last = yield from read(NEWEST)
            break
    return InitialList(entries, last.resource_version)


def streamed(
    events: Iterable[tuple[str, JsonObject] | None],
    *,
    entry: MakeEntry,
    reset: Callable[[], None],
) -> Coroutine[InitialList | None]:
    """Read the state at the start of a watch; None if the watch ends before it is
    complete.

    reset: function called for each event. No event after the end of the state is
    consumed.
    """
    entries: dict[object, Entry] = {}
    for event in events:
        if event is None:
            yield None
            continue
        type_, obj = event
        reset()
        if type_ == "ERROR":
            raise event_error(obj)
        if type_ == "BOOKMARK":
            if annotations(obj).get(_INITIAL_END) == "true":
                return InitialList(list(entries.values()), resource_version(obj))
            continue
        made = entry(obj)
        if made is None:
            # Its state from before it became unreadable is outdated too.
            entries.pop(key_of(obj), None)
        elif type_ == "DELETED":
            entries.pop(made.key, None)
        else:
            entries[made.key] = made
    return None


class InactivityTimer:
    """Calls a function once nothing was received for 30 seconds. Ends with `cancel`."""

    def __init__(
        self,
        clock: Clock,
        call: Callable[[], None],
        *,
        seconds: float = _INACTIVITY_SECONDS,
        last_activity: Callable[[], float] | None = None,
    ) -> None:
        """call: function called on the clock's timer thread; must not block.
        last_activity: returns the time of the last event in the clock's seconds, for
        callers that record it.
        """
        self._clock = clock
        self._call = call
        self._seconds = seconds
        self._lock = threading.Lock()
        self._last: float = clock.monotonic()
        self._last_activity = last_activity or (lambda: self._last)
        self._over = False
        self._timer: Timer = clock.call_at(self._last + seconds, self._check)

    def reset(self) -> None:
        """Restart the 30 seconds, after an event."""
        self._last = self._clock.monotonic()

    def cancel(self) -> bool:
        """Stop the timer. Returns whether it has fired."""
        with self._lock:
            rang, self._over = self._over, True
            self._timer.cancel()
        return rang

    def _check(self) -> None:
        with self._lock:
            if self._over:
                return
            # Set again when it fires, not with each event: there are thousands of
            # events.
            due = max(self._last, self._last_activity()) + self._seconds
            if self._clock.monotonic() < due:
                self._timer = self._clock.call_at(due, self._check)
                return
            self._over = True
        self._call()
