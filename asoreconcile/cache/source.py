"""The sources of a reflector: a blocking client, or one that is read in steps."""

from collections.abc import Callable, Iterator
from typing import Protocol, runtime_checkable

import attrs

from asoreconcile.base.coroutines import Coroutine
from asoreconcile.base.objects import JsonObject
from asoreconcile.base.threads import Threads
from asoreconcile.kube.selection import ListOptions, Selection
from asoreconcile.kube.watch import WatchStream


class ListPage(Protocol):
    """One page of a list, as it arrives (`kube.listing.Listing`).

    Its version and token are valid once it was iterated to its end.
    """

    @property
    def resource_version(self) -> str:
        """The resource version of the whole list, to watch from."""

    @property
    def continue_token(self) -> str:
        """The token of the next page; "" after the last."""

    def __iter__(self) -> Iterator[JsonObject]: ...

    def close(self) -> None:
        """Close the response, read or not, and free its connection."""


class ListerWatcher(Protocol):
    """The part of a client that a reflector needs: paged lists, and watches
    (`kube.client.KubeClient`).
    """

    def listing(self, what: Selection, place: ListOptions, /) -> ListPage:
        """Ask for one page.

        Blocks until the response begins; raises ApiError, TransportError.
        """

    def watch(
        self,
        what: Selection,
        /,
        *,
        resource_version: str = "",
        timeout_seconds: float,
        initial_events: bool = False,
    ) -> WatchStream:
        """Watch from a version, or with `initial_events` get the state first.

        timeout_seconds: after which the server ends the watch. Blocks until it has
        begun.
        """


class SteppedPage(Protocol):
    """Like `ListPage`, in steps."""

    @property
    def resource_version(self) -> str:
        """See `ListPage`."""

    @property
    def continue_token(self) -> str:
        """See `ListPage`."""

    def polled(self) -> Iterator[JsonObject | None]:
        """Return the objects, and None to wait for more."""

    def close(self) -> None:
        """See `ListPage`."""


class SteppedWatch(Protocol):
    """A watch, in steps."""

    def polled(self) -> Iterator[tuple[str, JsonObject] | None]:
        """Return the events, and None to wait for more."""

    def close(self) -> None:
        """Close it, from any thread; this wakes its waiters."""


class SteppedSource(Protocol):
    """Like `ListerWatcher`, in steps that block no thread (`kube.streams`).

    wake: called, on any thread, when there may be more than before.
    """

    def listing(
        self, what: Selection, place: ListOptions, /, *, wake: Callable[[], None]
    ) -> Coroutine[SteppedPage]:
        """Request one page. Raises ApiError, TransportError."""

    def watch(
        self,
        what: Selection,
        /,
        *,
        resource_version: str,
        timeout_seconds: float,
        initial_events: bool,
        wake: Callable[[], None],
    ) -> Coroutine[SteppedWatch]:
        """Open a watch; see `ListerWatcher.watch`."""


class ClosableSource(SteppedSource, Protocol):
    """A source with a thread, which must be closed."""

    def close(self) -> None:
        """Close all streams, and open no more."""


@runtime_checkable
class StreamingClient(Protocol):
    """A client that can receive all its watches on one thread."""

    def in_steps(self, threads: Threads) -> ClosableSource:
        """Return a source in steps for this client."""


@attrs.frozen
class BlockingSource:
    """A blocking client as a source in steps, for a thread that may block: it never
    yields.
    """

    client: ListerWatcher

    def listing(
        self,
        what: Selection,
        place: ListOptions,
        /,
        *,
        wake: Callable[[], None],  # noqa: ARG002 - nobody waits for it
    ) -> Coroutine[SteppedPage]:
        """See `SteppedSource`. Blocks."""
        yield from ()
        return _BlockingPage(self.client.listing(what, place))

    def watch(
        self,
        what: Selection,
        /,
        *,
        resource_version: str,
        timeout_seconds: float,
        initial_events: bool,
        wake: Callable[[], None],  # noqa: ARG002 - as above
    ) -> Coroutine[SteppedWatch]:
        """See `SteppedSource`. Blocks."""
        yield from ()
        return _BlockingWatch(
            self.client.watch(
                what,
                resource_version=resource_version,
                timeout_seconds=timeout_seconds,
                initial_events=initial_events,
            )
        )


@attrs.frozen
class _BlockingPage:
    page: ListPage

    @property
    def resource_version(self) -> str:
        return self.page.resource_version

    @property
    def continue_token(self) -> str:
        return self.page.continue_token

    def polled(self) -> Iterator[JsonObject | None]:
        return iter(self.page)

    def close(self) -> None:
        self.page.close()


@attrs.frozen
class _BlockingWatch:
    stream: WatchStream

    def polled(self) -> Iterator[tuple[str, JsonObject] | None]:
        return iter(self.stream)

    def close(self) -> None:
        self.stream.close()
