"""Limits the memory that the values of a JSON text take, before the text is parsed.
Pure.

`[[],[],...` takes 25 times its length as Python values, and holds the interpreter for
as long as it is parsed. So text of any client is measured first. Brackets in strings do
not count: an annotation with another object's JSON is one string.
"""

import re
from array import array
from collections.abc import Iterator
from functools import reduce

from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.json_problems import MOST_LEVELS

MOST_VALUE_BYTES = 192 << 20
"""A document whose values may take more is refused. An API server can send none: the
longest object that it accepts has 3 MiB, beside an old one of 1.5 MiB.
"""

# Bytes of memory, measured with CPython 3.11: an empty list or object takes 64 with its
# reference, an object with a member 184. 16 bytes for a byte of text cover the rest:
# references, numbers, names and short strings.
_LIST_BYTES, _EMPTY_BYTES, _OBJECT_BYTES = 64, 64, 184
_BYTES_OF_TEXT = 16

_OBJECT, _LIST, _OBJECT_END = b"{[}"
_NOT_OPENING = bytes(one for one in range(256) if one not in b"[{")
# The next bracket that is not in a string. Possessive: text without one, or with a
# string without an end, is refused in linear time.
_BRACKET = re.compile(
    rb'[^"\[\]{}]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"\[\]{}]*+)*+[\[\]{}]', re.DOTALL
)
# Short values of few levels, passed many times as fast as bracket by bracket.
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_FLAT = rb'[^"\[\]{}]*+(?:' + _STRING + rb'[^"\[\]{}]*+)*+'
_SHORT_BYTES, _SHORT_LEVELS = 1 << 16, 12
_SHORT = reduce(
    lambda inner, _: rb"[\[{]" + _FLAT + rb"(?:" + inner + _FLAT + rb")*+[\]}]",
    range(_SHORT_LEVELS),
    rb"[\[{]" + _FLAT + rb"[\]}]",
)
_SHORT_VALUES = re.compile(_FLAT + rb"(?:" + _SHORT + _FLAT + rb")++", re.DOTALL)
_FIRST = re.compile(rb"[ \t\r\n]*+(?:(\{)|(\]))")
_NEXT = re.compile(rb"[ \t\r\n]*+(?:,[ \t\r\n]*+(\{)|(\]))")


class JsonSizeError(AsoreconcileError):
    """Text that is too large or too deep to be parsed."""


class NoJsonError(AsoreconcileError):
    """Text that is not JSON, or not of the expected form."""


def most_value_bytes(text: bytes) -> int:
    """Return an upper bound of the memory that the text's values take.

    The function is fast, because it also counts brackets in strings.
    """
    openings = len(text.translate(None, _NOT_OPENING))
    return _BYTES_OF_TEXT * len(text) + _OBJECT_BYTES * openings


def check_if_large(text: bytes, *, most_bytes: int = MOST_VALUE_BYTES) -> None:
    """Check the size of a text that may be JSON, as `check_size` does, if its values
    may take too much memory, which is so for very few texts.

    Raises JsonSizeError.
    """
    if len(text) * (_BYTES_OF_TEXT + _OBJECT_BYTES) <= most_bytes:
        return
    if most_value_bytes(text) <= most_bytes:
        return
    try:
        check_size(text, most_bytes=most_bytes)
    except NoJsonError:
        return  # its reader says so


def check_size(
    text: bytes, *, most_bytes: int = MOST_VALUE_BYTES, most_levels: int = MOST_LEVELS
) -> None:
    """Check the size of a JSON text before it is parsed. Raises JsonSizeError for
    text whose values take too much memory, or that is nested too deeply;
    NoJsonError for a list or object without an end.
    """
    start = len(text) - len(text.lstrip(b" \t\r\n"))
    if text[start : start + 1] in {b"{", b"["}:
        value_end(
            text,
            start,
            most_bytes=len(text),
            most_value_bytes=most_bytes,
            most_levels=most_levels,
        )


def value_end(
    text: bytes,
    start: int,
    *,
    most_bytes: int,
    most_value_bytes: int = MOST_VALUE_BYTES,
    most_levels: int = MOST_LEVELS,
) -> int:
    """Return the end of the list or object that begins at `start`.

    Raises JsonSizeError if it is longer than `most_bytes`, too deep, or too large in
    memory; NoJsonError if it has no end.
    """
    stop = min(start + most_bytes, len(text))
    next_bracket = _BRACKET.match
    at, depth, memory, opened = start, 0, 0, -1
    while True:
        near = min(at + _SHORT_BYTES, stop)
        if depth and (passed := _SHORT_VALUES.match(text, at, near)):
            memory += _containers_bytes(passed[0])
            at = passed.end()
        found = next_bracket(text, at, stop)
        if found is None:
            if stop < len(text):
                raise JsonSizeError(f"an object is longer than {most_bytes} bytes")
            raise NoJsonError("a list or an object has no end")
        at = found.end()
        sign = text[at - 1]
        if sign in (_OBJECT, _LIST):
            depth += 1
            opened = at
            memory += _OBJECT_BYTES if sign == _OBJECT else _LIST_BYTES
            if depth > most_levels:
                raise JsonSizeError(f"it is nested deeper than {most_levels} levels")
        else:
            depth -= 1
            if sign == _OBJECT_END and opened == at - 1:
                memory -= _OBJECT_BYTES - _EMPTY_BYTES
            if depth == 0:
                return at
        if memory + _BYTES_OF_TEXT * (at - start) > most_value_bytes:
            raise JsonSizeError("its values take too much memory")


def _containers_bytes(text: bytes) -> int:
    empty, objects = text.count(b"{}"), text.count(b"{")
    return (
        _LIST_BYTES * text.count(b"[")
        + _OBJECT_BYTES * (objects - empty)
        + _EMPTY_BYTES * empty
    )


def list_start(text: bytes, path: tuple[str, str], *, within: int) -> int:
    """Return the position after the opening bracket of a list: a member of an object
    that is a member of the document. -1 if there is none.

    path: the names of both members. within: bytes of the text that are searched.
    """
    outer, inner = (re.compile(rb'"%s"\s*+:\s*+\Z' % one.encode()) for one in path)
    stop, at, depth, is_inside = min(within, len(text)), 0, 0, False
    while (found := _BRACKET.match(text, at, stop)) is not None:
        sign, before = text[found.end() - 1], found[0][:-1]
        at = found.end()
        if sign in (_OBJECT, _LIST):
            if sign == _OBJECT and depth == 1:
                is_inside = outer.search(before) is not None
            if sign == _LIST and depth == 2 and is_inside and inner.search(before):
                return at
            depth += 1
        else:
            depth -= 1
    return -1


class ListItems:
    """The objects of a list in a text, found one after the other without parsing.

    end: the position after the list's closing bracket; 0 before all objects were found.
    """

    def __init__(self, text: bytes, start: int, *, least: int, most: int) -> None:
        """start: the position after the list's opening bracket. least, most: how many
        bytes an object may have.
        """
        self.end = 0
        self._text = text
        self._start = start
        self._least = least
        self._most = most
        self._places = array("Q")

    def find(self) -> Iterator[None]:
        """Find all objects, one with each step of the iterator. Raises NoJsonError,
        JsonSizeError.
        """
        at, separator = self._start, _FIRST
        while not self.end:
            found = separator.match(self._text, at)
            if found is None:
                raise NoJsonError("the request's objects are no list of objects")
            if found[2]:
                self.end = found.end()
                return
            begin = found.end() - 1
            at = value_end(self._text, begin, most_bytes=self._most)
            # Very many tiny objects would take more memory than their text.
            if at - begin < self._least:
                raise NoJsonError("an object has no apiVersion or no kind")
            self._places.extend((begin, at))
            separator = _NEXT
            yield

    def texts(self) -> Iterator[bytes]:
        """Yield the text of each object, in order."""
        places = self._places
        for at in range(0, len(places), 2):
            yield self._text[places[at] : places[at + 1]]
