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
    def resource_version(self) -> str: ...

    @property
    def continue_token(self) -> str: ...

    def __iter__(self) -> Iterator[JsonObject]: ...

    def close(self) -> None: ...


class ListerWatcher(Protocol):
    """Lists and watches."""

    def listing(self, what: Selection, place: ListOptions, /) -> ListPage: ...

    def watch(
        self,
        what: Selection,
        /,
        *,
        resource_version: str = "",
        timeout_seconds: float,
        initial_events: bool = False,
    ) -> WatchStream: ...
