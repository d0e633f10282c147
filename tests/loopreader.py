"""A reader of a loop's stream, for tests that wait for data."""

import threading
from contextlib import closing
from typing import Any, Self

from asoreconcile.base.coroutines import run_to_completion
from asoreconcile.base.objects import JsonObject
from asoreconcile.base.threads import Threads
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.resources import ApiResource
from asoreconcile.kube.selection import NEWEST, ListOptions, Selection, selection_of
from asoreconcile.wire.loop_stream import StreamLimits
from asoreconcile.wire.request import WireRequest

WAIT_SECONDS = 20
LIMITS = StreamLimits(connect=10, head=20, silence=60)


class Reader:
    """A stream, and the data that its reader got. Waits have a time limit."""

    def __init__(
        self, loop: Any, target: str = "/x", limits: StreamLimits = LIMITS
    ) -> None:
        self.news = threading.Event()
        request = WireRequest("GET", target, (("Accept", "*/*"),))
        self.stream = loop.open(request, limits, on_news=self.news.set)
        self.pieces: Any = None

    def answered(self) -> Self:
        while not self.stream.is_answered():
            self.wait()
        return self

    def wait(self) -> None:
        assert self.news.wait(WAIT_SECONDS), "nothing came"
        self.news.clear()

    def read(self) -> bytes | None:
        """Return the next data, joined; None at the end."""
        if self.pieces is None:
            self.pieces = self.stream.pieces()
        for pieces in self.pieces:
            if pieces is not None:
                return b"".join(pieces)
            self.wait()
        return None

    def whole(self) -> bytes:
        found = []
        while (piece := self.read()) is not None:
            found.append(piece)
        return b"".join(found)


def listed(client: KubeClient, what: ApiResource | Selection) -> list[JsonObject]:
    """Return the objects of a list that is read as it arrives."""
    return streamed_list(client, what)[0]


def streamed_list(
    client: KubeClient, what: ApiResource | Selection, place: ListOptions = NEWEST
) -> tuple[list[JsonObject], str]:
    """Return the objects and the version of a list that is read as it arrives."""
    news = threading.Event()

    def wait(_: float | None = None) -> None:
        assert news.wait(WAIT_SECONDS), "nothing came"
        news.clear()

    with closing(client.in_steps(Threads())) as streams:
        opening = streams.listing(selection_of(what), place, wake=news.set)
        listing = run_to_completion(opening, wait)
        found = []
        for obj in listing.polled():
            if obj is None:
                wait()
            else:
                found.append(obj)
    return found, listing.resource_version
