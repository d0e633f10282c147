"""Reads a list as it arrives, object by object, without holding all of it.

Ten thousand objects are 40 MB of text and 250 MB decoded, and a server that answers
from its cache sends them in one piece. Here each object is decoded when its end has
arrived, and only the caller holds it.
"""

import re
from collections.abc import Iterator
from typing import Any

from asoreconcile.base import jsontext
from asoreconcile.base.objects import JsonObject, metadata
from asoreconcile.kube.answer_stream import Stream
from asoreconcile.kube.errors import DecodeError

_ITEMS = b'"items":['
# The beginning that all objects of a list share with the first, up to the first word
# that may differ: {"metadata":{" or {"apiVersion":"v1","kind"
_BEGINNING = re.compile(rb'\s*(\{"\w+":(?:\{"|"[^"\\]*","\w+"))')
# The quantifiers are possessive, because `re` else remembers each character of a string
# for backtracking.
_TOKENS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+("?)|[\[\]{}]', re.DOTALL)
_COMMA = re.compile(rb"\s*,\s*")
# An object with more such places inside is read sign by sign.
_MAX_GUESSES = 8


class Listing:
    """One page of a list. Iterate once; version and token are known at its end."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self.resource_version = ""
        self.continue_token = ""

    def polled(self) -> Iterator[JsonObject | None]:
        """Yield the objects as they arrive, and None to wait for more (`KubeStreams`).

        Raises TransportError if the connection breaks, DecodeError for a response that
        is not a list or that `close` has cut short.
        """
        chunks = self._stream.chunks()
        head, rest = b"", b""
        for chunk in chunks:
            if chunk is None:
                yield None
                continue
            rest += chunk
            at = rest.find(_ITEMS)
            if at >= 0:
                head, rest = rest[: at + len(_ITEMS)], rest[at + len(_ITEMS) :]
                break
        splitter = _Splitter(rest)
        if head:
            yield from splitter.whole()
        for chunk in chunks:
            if chunk is None:
                yield None
                continue
            splitter.add(chunk)
            yield from splitter.whole()
        document = _document(head + splitter.rest)
        # The last object, whose end only the list's end shows.
        yield from items_of(document)
        self.resource_version, self.continue_token = place_of(document)

    def close(self) -> None:
        """Close it; a blocked reader wakes up. Idempotent, from any thread."""
        self._stream.close()


class _Splitter:
    """Cuts the inside of an array of objects between one object and the next.

    A boundary between objects is guessed by its text, which may also occur inside an
    object. A piece that can be decoded is a complete object, because no part of a JSON
    object is one. If a few guesses fail for an object, its brackets are counted
    instead, so that the time for it stays proportional to its length.
    """

    def __init__(self, text: bytes) -> None:
        self.rest = text
        self._between = b""
        self._looked = 0
        self._guesses = 0
        self._counted = self._depth = 0

    def add(self, text: bytes) -> None:
        self.rest += text

    def whole(self) -> Iterator[JsonObject]:
        """Return the complete objects, and remove them from `rest`."""
        if not self._between:
            beginning = _BEGINNING.match(self.rest)
            if beginning is None:
                return
            self._between = b"}," + beginning[1]
        rest, between = self.rest, self._between
        start = 0
        while True:
            if self._guesses < _MAX_GUESSES:
                at = rest.find(between, self._looked)
                if at < 0:
                    break
                self._looked = at + 1
                try:
                    found = jsontext.loads_plain(rest[start : at + 1])
                except jsontext.JSONDecodeError:
                    self._guesses += 1
                    continue
                start = at + 2
            else:
                end = self._end(start)  # past `rest`, without a comma, if unknown
                after = _COMMA.match(rest, end)
                if after is None:
                    break  # the list's end, or more text has to come
                found = _checked(_decoded(rest[start:end]))
                self._looked = start = after.end()
            self._guesses = self._counted = self._depth = 0
            yield found
        # Half of the next place may be in already.
        looked = max(self._looked, len(self.rest) - len(self._between) + 1)
        self.rest = self.rest[start:]
        self._looked = max(0, looked - start)

    def _end(self, start: int) -> int:
        """Return the end of the object at `start`; past the text if it is not there."""
        for token in _TOKENS.finditer(self.rest, start + self._counted):
            sign = token[0]
            if sign in (b"{", b"["):
                self._depth += 1
            elif sign in (b"}", b"]"):
                self._depth -= 1
                if self._depth == 0:
                    self._depth = 1  # so that it is found here again
                    self._counted = token.start() - start
                    return token.end()
            elif not token[1]:  # the rest of this string is still to come
                self._counted = token.start() - start
                return len(self.rest) + 1
        self._counted = len(self.rest) - start
        return len(self.rest) + 1


def items_of(document: JsonObject) -> list[JsonObject]:
    """Return the objects of a list. Raises DecodeError if it is not a list of
    objects.
    """
    # Without `items` it is something else, such as a Status or a proxy's `{}`: reading
    # it as an empty list would delete all objects from the cache.
    items = document.get("items", "")
    if items is None:
        return []
    if not isinstance(items, list):
        raise DecodeError("the answer is no list: it has no items")
    return [_checked(item) for item in items]


def place_of(document: JsonObject) -> tuple[str, str]:
    """Return a list's resource version and continue token; each "" if missing."""
    meta = metadata(document)
    version, token = meta.get("resourceVersion"), meta.get("continue")
    return (
        version if isinstance(version, str) else "",
        token if isinstance(token, str) else "",
    )


class Pages:
    """The continue tokens of one list's requested pages."""

    def __init__(self) -> None:
        self._tokens = set[str]()

    def check_next(self, token: str) -> None:
        """Check that the next page is a new one. Raises DecodeError for a page that was
        requested before: the list would never end.
        """
        if token in self._tokens:
            raise DecodeError("the answer is no list: its pages go in a circle")
        self._tokens.add(token)


def _checked(item: Any) -> JsonObject:
    if not isinstance(item, dict):
        raise DecodeError("the answer is no list of objects")
    return item


def _document(text: bytes) -> JsonObject:
    document = _decoded(text)
    if not isinstance(document, dict):
        raise DecodeError("the answer is no list")
    return document


def _decoded(text: bytes) -> Any:
    try:
        return jsontext.loads_foreign(text)
    except jsontext.JSONDecodeError as error:
        raise DecodeError(f"the answer is no list: {error}") from error
