"""A watch: its events, until the server or another thread ends it."""

from collections.abc import Callable, Iterator

import attrs

from asoreconcile.base import jsontext
from asoreconcile.base.objects import JsonObject
from asoreconcile.kube.answer_stream import Stream
from asoreconcile.kube.errors import DecodeError


@attrs.frozen(eq=False)
class WatchStream:
    """`(type, object)` pairs as they arrive. One thread iterates, once.

    wait: function that a blocking reader calls with None to wait for more.
    """

    stream: Stream
    _wait: Callable[[float | None], None] = lambda _: None

    def __iter__(self) -> Iterator[tuple[str, JsonObject]]:
        """Iterate until the server ends the watch, or `close` is called.

        Raises TransportError if the connection breaks, DecodeError for a line that
        is not an event.
        """
        for event in self.polled():
            if event is None:
                self._wait(None)
            else:
                yield event

    def polled(self) -> Iterator[tuple[str, JsonObject] | None]:
        """Yield the pairs, and None instead of waiting (`KubeStreams`)."""
        for line in self.stream.lines():
            if line:
                event = _event(line)
                # The receiver keeps a text of its own. Memory freed before is used for
                # that text and leaves no hole.
                del line
                yield event
                del event
            elif line is None:
                yield None

    def close(self) -> None:
        """End the watch from any thread; a blocked iteration ends at once."""
        self.stream.close()


def _event(line: bytes) -> tuple[str, JsonObject]:
    try:
        try:
            event = jsontext.loads_plain(line)
        except jsontext.JSONDecodeError:
            event = jsontext.loads_foreign(line)
        type_, obj = event["type"], event["object"]
    except (jsontext.JSONDecodeError, KeyError, TypeError) as error:
        raise DecodeError(f"a watch line is no event: {error}") from error
    if not isinstance(type_, str) or not isinstance(obj, dict):
        raise DecodeError("a watch line is no event")
    return type_, obj
