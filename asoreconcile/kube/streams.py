"""Lists and watches of a client, read in steps: one thread receives them all."""

from collections.abc import Callable

import attrs

from asoreconcile.base.coroutines import Coroutine
from asoreconcile.kube.listing import Listing
from asoreconcile.kube.rest_client import RestClient
from asoreconcile.kube.selection import ListOptions, Selection
from asoreconcile.kube.watch import WatchStream
from asoreconcile.wire.loop import StreamLoop

# A server may keep a watch open slightly past its timeout.
_GRACE_SECONDS = 10.0


@attrs.frozen(eq=False)
class KubeStreams:
    """Lists and watches in steps that block no thread (`KubeClient.in_steps`). Safe
    from any thread.

    `polled` of each yields None to wait for more to read.
    """

    _exchange: RestClient
    _path: Callable[[Selection], str]
    _loop: StreamLoop
    _read_seconds: float

    def listing(
        self, what: Selection, place: ListOptions, *, wake: Callable[[], None]
    ) -> Coroutine[Listing]:
        """Read a page of a list, object by object as they arrive, for long lists:
        servers ignore the limit when they answer from the watch cache.

        Raises ApiError, TransportError; StoppedError once closed.
        """
        stream = yield from self._exchange.streaming(
            self._loop,
            self._path(what),
            query={**what.selectors, **place.query},
            accept=what.accepts(listed=True),
            read_seconds=self._read_seconds,
            on_news=wake,
        )
        return Listing(stream)

    def watch(
        self,
        what: Selection,
        *,
        resource_version: str,
        timeout_seconds: float,
        initial_events: bool,
        wake: Callable[[], None],
        allow_bookmarks: bool = True,
    ) -> Coroutine[WatchStream]:
        """Open a watch, with the arguments of `KubeClient.watch`. Raises as
        `listing`.
        """
        stream = yield from self._exchange.streaming(
            self._loop,
            self._path(what),
            query={
                "watch": "true",
                **what.selectors,
                "resourceVersion": resource_version,
                "timeoutSeconds": str(int(timeout_seconds)),
                "allowWatchBookmarks": "true" if allow_bookmarks else "",
                "sendInitialEvents": "true" if initial_events else "",
                "resourceVersionMatch": "NotOlderThan" if initial_events else "",
            },
            accept=what.accepts(),
            # The server ends it at its timeout: after longer silence the connection is
            # dead.
            read_seconds=timeout_seconds + _GRACE_SECONDS,
            on_news=wake,
        )
        return WatchStream(stream)

    def close(self) -> None:
        """Close all streams, and open no more. Idempotent."""
        self._loop.close()
