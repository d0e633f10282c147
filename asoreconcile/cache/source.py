"""What a reflector reads from (`kube.client.KubeClient`)."""

from collections.abc import Iterator
from typing import Protocol

from asoreconcile.kube.selection import ListOptions, Selection
from asoreconcile.kube.watch import WatchStream
from asoreconcile.objects import JsonObject


class ListPage(Protocol):
    """One page of a list, as it arrives (`kube.listing.Listing`).

    What it says of itself counts once it was iterated to its end.
    """

    @property
    def resource_version(self) -> str:
        """The version that the whole list is of, to watch from."""

    @property
    def continue_token(self) -> str:
        """What asks for the next page; "" after the last."""

    def __iter__(self) -> Iterator[JsonObject]: ...

    def close(self) -> None:
        """End the answer, read or not, and free its connection."""


class ListerWatcher(Protocol):
    """What a reflector needs of a client: lists in pages, and watches."""

    def listing(self, what: Selection, place: ListOptions, /) -> ListPage:
        """Ask for one page.

        Blocks until the answer begins; raises ApiError, TransportError.
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
        """Ask for changes after a version, or with `initial_events` for the state
        first.

        timeout_seconds: after which the server ends the watch. Blocks until it has
        begun.
        """
