"""A response of the API server that is read as it arrives."""

from collections.abc import Iterator, Mapping

import attrs

from asoreconcile.base.coroutines import Coroutine
from asoreconcile.kube.errors import TransportError
from asoreconcile.wire.errors import WireError
from asoreconcile.wire.loop_stream import LoopStream

# etcd stores objects up to 1.5 MiB, and an event has one or two; JSON escapes add to
# it.
_MAX_LINE_BYTES = 16 << 20
# Read 16 KB at a time: large enough to search quickly, and small enough for a core's
# cache.
_JOINED = 4

PLAIN = "identity"


@attrs.define(eq=False)
class Stream:
    """A response being read. One thread iterates; any thread may close it.

    A stream never blocks: it yields None to wait for `on_news`, and its status and
    headers are available only once `is_answered`.

    asked_as: the credential of the request. host: name of the server for errors before
    the response head.
    """

    _answer: LoopStream
    asked_as: object = attrs.field(default=None, repr=False)
    _host: str = ""
    _ended: bool = attrs.field(init=False, default=False)

    @property
    def status(self) -> int:
        """The response's status, once it has begun."""
        return self._answer.status

    @property
    def headers(self) -> Mapping[str, str]:
        """The response's headers, once it has begun; names in lower case."""
        return self._answer.headers()

    def is_answered(self) -> bool:
        """Return whether the response head has arrived. Raises TransportError if the
        connection failed before it.
        """
        what = f"GET {self._host}"
        try:
            is_answered = self._answer.is_answered()
        except WireError as error:
            raise wire_failure(what, error) from error
        if is_answered:
            check_plain(what, self.headers)
        return is_answered

    def lines(self) -> Iterator[bytes | None]:
        """Yield the response's lines. Ends with the response, or when closed.

        Raises TransportError when the connection breaks, falls silent or stops inside
        a line.
        """
        held: list[bytes] = []  # parts of an incomplete line
        held_bytes = 0
        for pieces in self._pieces():
            if pieces is None:
                yield None
                continue
            for piece in pieces:
                # Not `split`, which looks at each byte: `find` costs a twentieth of it.
                start, end = 0, piece.find(b"\n")
                if end >= 0 and held:
                    held.append(piece[:end])
                    yield b"".join(held)
                    held, held_bytes = [], 0
                    start, end = end + 1, piece.find(b"\n", end + 1)
                while end >= 0:
                    yield piece[start:end]
                    start, end = end + 1, piece.find(b"\n", end + 1)
                if start < len(piece):
                    held.append(piece[start:])
                    held_bytes += len(piece) - start
                if held_bytes > _MAX_LINE_BYTES:
                    raise TransportError(
                        "a line of the answer has more than "
                        f"{_MAX_LINE_BYTES >> 20} MiB: is it the API server's?"
                    )
        if held_bytes and self._ended:
            raise TransportError("the stream ended inside a line")

    def chunks(self) -> Iterator[bytes | None]:
        """Yield the response's bytes as they arrive. Ends with the response, or when
        closed.

        Raises TransportError when the connection breaks or falls silent.
        """
        for pieces in self._pieces():
            if pieces is None:
                yield None
                continue
            for at in range(0, len(pieces), _JOINED):
                yield b"".join(pieces[at : at + _JOINED])

    def _pieces(self) -> Iterator[list[bytes] | None]:
        try:
            yield from self._answer.pieces()
            self._ended = not self._answer.is_closed
        except WireError as error:
            raise wire_failure("the stream broke", error) from error
        finally:
            self.close()

    def rest(self) -> Coroutine[bytes]:
        """Return the rest of an error response, up to the limit of a line."""
        read, length = [], 0
        for chunk in self.chunks():
            if chunk is None:
                yield None
                continue
            read.append(chunk)
            length += len(chunk)
            if length > _MAX_LINE_BYTES:
                break
        return b"".join(read)

    def close(self) -> None:
        """End the stream; a reader blocked in it wakes up. Idempotent."""
        self._answer.close()


def check_plain(what: str, headers: Mapping[str, str]) -> None:
    """Check that a response is not compressed. Raises TransportError for a
    compressed response that was not requested: it is not decompressed, as a
    megabyte may become a gigabyte.
    """
    packed = headers.get("content-encoding", PLAIN)
    if packed != PLAIN:
        raise TransportError(
            f"{what}: the answer is packed as {packed[:40]}, unasked: is it a proxy's?"
        )


def wire_failure(what: str, error: WireError) -> TransportError:
    """Return the error that a caller of the client gets.

    Its `lost` is true if the connection was reset or closed before any deadline.
    """
    return TransportError(f"{what}: {error}", lost=error.is_lost)
