"""A complete request and its answer, as the rest of the library sees them."""

from collections.abc import Callable, Mapping, Sequence

import attrs

PLAIN = "text/plain; charset=utf-8"


@attrs.frozen
class ServerRequest:
    """One request. target: path and query. headers: names in lower case.

    body: the complete body, or empty if `too_long` is true because it exceeds the
    limit.
    caller: the client's address. is_certified: whether the client has a certificate
    from an authority that the server asks for.
    """

    method: str
    target: str
    headers: Mapping[str, str] = attrs.field(repr=False)
    body: bytes = attrs.field(default=b"", repr=False)
    too_long: bool = False
    caller: str = ""
    is_certified: bool = False


@attrs.frozen
class ServerResponse:
    """One answer. body: bytes, or a long body as pieces that are never joined."""

    status: int
    body: bytes | Sequence[bytes] = attrs.field(default=b"", repr=False)
    content_type: str = PLAIN

    @property
    def pieces(self) -> Sequence[bytes]:
        """The body as pieces; one if it is short."""
        return (self.body,) if isinstance(self.body, bytes) else self.body

    @property
    def size_bytes(self) -> int:
        """The length of the body."""
        return sum(map(len, self.pieces))


RequestHandler = Callable[[ServerRequest], ServerResponse]
"""Called on a connection's thread; what it raises is logged and answered as a 500."""
