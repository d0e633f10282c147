"""One request and one answer, whole. Pure."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

import attrs

from asoreconcile.fencing import READS

# What would end a line of the head, or a word of its first one.
_LINE_BREAK = re.compile(r"[\r\n\0]")
_NO_TARGET = re.compile(r"[^\x21-\x7e]")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})


@lru_cache(maxsize=256)
def _is_name(text: str) -> bool:
    """Whether it may be a method or a header's name: those of a client are few."""
    return _TOKEN.fullmatch(text) is not None


@attrs.frozen
class WireRequest:
    """target: path and query, sent byte for byte. headers: a name may be there twice.

    body: None for none. Raises ValueError for what is no head of a request: whoever
    writes a line break into a header would write the next request.
    """

    method: str = attrs.field()
    target: str = attrs.field()
    headers: tuple[tuple[str, str], ...] = attrs.field(repr=False)
    body: bytes | None = attrs.field(default=None, repr=False)

    @method.validator
    def _is_token(self, _: object, value: str) -> None:
        if not _is_name(value):
            raise ValueError(f"{value!r} is no method")

    @target.validator
    def _is_target(self, _: object, value: str) -> None:
        if not value or _NO_TARGET.search(value):
            raise ValueError("the request's target is empty, or not printable ASCII")

    @headers.validator
    def _are_lines(self, _: object, value: Iterable[tuple[str, str]]) -> None:
        for name, _text in value:
            if not _is_name(name):
                raise ValueError(f"{name!r} is no header's name")
        if _LINE_BREAK.search("".join([text for _, text in value])):
            broken = [name for name, text in value if _LINE_BREAK.search(text)]
            raise ValueError(f"the header {broken[0]} holds a line break")

    @property
    def is_read(self) -> bool:
        """Whether it changes nothing, so that it may be sent again."""
        return self.method in READS

    def lines(self) -> list[bytes]:
        """The headers as libcurl takes them. Raises ValueError beyond Latin-1."""
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
    """Header names in lower case; what came twice is joined by commas."""

    status: int
    headers: Mapping[str, str]
    body: bytes = attrs.field(repr=False)
