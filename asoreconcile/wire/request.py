"""A whole request and a whole response. Pure."""

import re
from collections.abc import Mapping
from functools import lru_cache

import attrs

from asoreconcile.base.fencing import READS

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})


@lru_cache(maxsize=256)
def is_token(text: str) -> bool:
    """Return whether a text is valid as a method or header name (RFC 9110).

    Results are cached, because a client uses few names.
    """
    return _TOKEN.fullmatch(text) is not None


@attrs.frozen
class WireRequest:
    """One HTTP request.

    target: path and query, sent byte for byte. headers: names and values; a name may
    occur twice.

    body: None for none. Raises ValueError for an invalid request head: a line break in
    a header could start another request.
    """

    method: str
    target: str
    headers: tuple[tuple[str, str], ...] = attrs.field(repr=False)
    body: bytes | None = attrs.field(default=None, repr=False)

    # Each request passes here, and a token is a thousand characters long: CPython's own
    # search takes a tenth of the time of a pattern.
    def __attrs_post_init__(self) -> None:
        """Check the request. Raises ValueError."""
        if not is_token(self.method):
            raise ValueError(f"{self.method!r} is no method")
        target = self.target
        is_plain = target.isascii() and target.isprintable() and " " not in target
        if not target or not is_plain:
            raise ValueError("the request's target is empty, or not printable ASCII")
        for name, text in self.headers:
            if not is_token(name):
                raise ValueError(f"{name!r} is no header's name")
            if "\n" in text or "\r" in text or "\0" in text:
                raise ValueError(f"the header {name} holds a line break")

    @property
    def is_read(self) -> bool:
        """Return whether the request is a read, which may be sent again."""
        return self.method in READS

    def lines(self) -> list[bytes]:
        """Return the headers as lines for libcurl. Raises ValueError for characters
        beyond Latin-1.
        """
        lines = [
            # With a colon and nothing behind, it would take the header out.
            (f"{name}: {text}" if text else f"{name};").encode("latin-1")
            for name, text in self.headers
        ]
        if self.body is not None:
            lines.append(b"Expect:")  # it would wait a second for leave to send more
        elif self.method in _WITH_BODY:
            lines.append(b"Content-Length: 0")
        return lines


@attrs.frozen
class WireAnswer:
    """A response. Header names in lower case; repeated headers are joined by commas."""

    status: int
    headers: Mapping[str, str]
    body: bytes = attrs.field(repr=False)
