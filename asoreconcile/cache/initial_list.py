"""The initial list of a kind: streamed at the start of a watch, or read in pages.

With streaming the server need not encode, nor we decode, one list of everything:
objects come one by one, a bookmark marks the end, and the same stream continues as the
watch. Rules: RF-2, RF-3, RF-11.
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
    """All objects, and their resource version."""

    entries: Sequence[Entry]
    version: str


class StreamingSupport:
    """The knowledge whether a server streams initial lists. One per server.

    A kind that is refused is listed from then on, and says nothing about other kinds:
    an aggregated server may serve it. Silence is the server's, which costs each kind
    half a minute, unless the server has streamed another kind.
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
    """Read the state by LIST, in pages. Raises what the source raises.

    no_older_than: a version; "" is the newest, "0" any version the server has cached.
    opened: makes the steps that open each page; an error it raises ends the list. wake:
    see `KubeStreams`.
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

    reset: called for each event. Consumes no more of `events` than the state.
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
        """call: runs on the clock's timer thread; must not block. last_activity: the
        time of the last event, in the clock's seconds, for callers that already record
        it.
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
        """Stop the timer; returns whether it has fired."""
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
