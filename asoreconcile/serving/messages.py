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
    """One answer. body: bytes, or a long body as pieces that are never joined.
    headers: further headers, without a line break in name or value.
    """

    status: int
    body: bytes | Sequence[bytes] = attrs.field(default=b"", repr=False)
    content_type: str = PLAIN
    headers: Mapping[str, str] = attrs.field(factory=dict, repr=False)

    @property
    def pieces(self) -> Sequence[bytes]:
        """The body as pieces; one if it is short."""
        return (self.body,) if isinstance(self.body, bytes) else self.body

    @property
    def size_bytes(self) -> int:
        """The length of the body."""
        return sum(map(len, self.pieces))


HeadCheck = Callable[[ServerRequest], ServerResponse | None]
"""Returns the answer that refuses a request by its head, before its body is read; None
admits the request. The request has no body yet.
"""

RequestHandler = Callable[[ServerRequest], ServerResponse]
"""Called on a connection's thread; what it raises is logged and answered as a 500."""
