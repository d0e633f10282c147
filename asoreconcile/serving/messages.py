"""A request and its answer, whole, as the rest of the library sees them."""

from collections.abc import Callable, Mapping

import attrs

PLAIN = "text/plain; charset=utf-8"


@attrs.frozen
class ServerRequest:
    """One request. target: path and query. headers: names in lower case.

    body: whole, or empty where `too_long` says that it is longer than is taken here.
    """

    method: str
    target: str
    headers: Mapping[str, str] = attrs.field(repr=False)
    body: bytes = attrs.field(default=b"", repr=False)
    too_long: bool = False


@attrs.frozen
class ServerResponse:
    """One answer."""

    status: int
    body: bytes = attrs.field(default=b"", repr=False)
    content_type: str = PLAIN


RequestHandler = Callable[[ServerRequest], ServerResponse]
"""Called on a connection's thread; what it raises is logged and answered as a 500."""
