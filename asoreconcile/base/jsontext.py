"""Reads and writes JSON text of any depth that the API server accepts. Pure.

kube-apiserver accepts documents nested 10,000 levels deep, in every field of free-form
JSON. orjson writes 254 levels and reads 1,024, and a recursive Python function fails
even earlier. No code reads such depths: the data is only stored and passed on. So a
part deeper than LEVELS is kept as one value, `DeepJson`, and written as JSON again:
everything that `loads` returns is shallow enough for recursive functions.

All JSON that may come from users' objects goes through here. orjson is used directly
only for our own JSON (`pyproject.toml` names the files).
"""

import json
import marshal
import re
import threading
import uuid
from collections.abc import Callable, Iterator
from datetime import date, datetime
from typing import Any

import orjson

from asoreconcile.base import foreign_json
from asoreconcile.base.json_problems import (
    MOST_LEVELS,
    EncodeError,
    check_json,
    time_text,
)

LEVELS = 100
"""The maximum depth of plain values: far more than people write by hand, and few enough
for six frames per level within Python's limit of a thousand.
"""
JSONDecodeError = orjson.JSONDecodeError

# How many levels orjson writes, and its error text for more levels than it reads
# (1,024).
_ORJSON_WRITES = 254
_TOO_DEEP = re.compile("depth|recursion", re.IGNORECASE)
_ROOM = _ORJSON_WRITES - LEVELS
# The quantifiers are possessive, because `re` else remembers each character of a string
# for backtracking. The closing quote may be missing: else `re` would search again from
# each quote inside an unterminated string, which takes quadratic time.
_TOKENS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+("?)|[\[\]{}]', re.DOTALL)
_OPENING, _CLOSING = (ord(b"{"), ord(b"[")), (ord(b"}"), ord(b"]"))


class DeepJson:
    """A deeply nested part of a document, kept as text. Immutable.

    text: JSON of the part, with sorted names. The part equals any value with the same
    JSON, also a plain one.
    """

    __slots__ = ("text",)

    def __init__(self, text: bytes) -> None:
        self.text = text

    def opened(self) -> Any:
        """Return the part parsed as a separate document, of which LEVELS levels are
        plain.
        """
        return loads(self.text)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DeepJson):
            return self.text == other.text
        if isinstance(other, (dict, list)):
            return self.text == dumps(other, sort_keys=True)
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text.decode()

    def __repr__(self) -> str:
        return f"<deep JSON of {len(self.text)} bytes>"


def loads(text: bytes | str) -> Any:
    """Parse a document, with its deep parts sealed. Raises JSONDecodeError."""
    body = text.encode() if isinstance(text, str) else text
    found = loads_plain(body)
    # With so few brackets it cannot be deep; otherwise writing it again shows it.
    if len(body) <= LEVELS or _brackets(body) <= LEVELS:
        return found
    if shallow_text(found) is not None:
        return found
    return _sealed(foreign_json.mended(body))


def loads_plain(text: bytes) -> Any:
    """Parse a document as `loads` does, but with up to 1,024 plain levels.

    It has orjson's full speed, and is for callers that check the depth later
    (`cache.entry`). Unpaired surrogates and invalid UTF-8 are read as Go reads them.
    Raises JSONDecodeError.
    """
    try:
        return orjson.loads(text)
    except JSONDecodeError as error:
        if not isinstance(text, bytes):
            raise  # as orjson: only text can be JSON
        mended = foreign_json.mended(text)
        if mended != text:
            return loads_plain(mended)
        # Other errors cannot be fixed by parsing again.
        if not _TOO_DEEP.search(error.msg):
            raise
        return _sealed(text)


def loads_foreign(text: bytes) -> Any:
    """Parse like `loads_plain`, with `NoNumber` for invalid numbers.

    Raises JSONDecodeError.
    """
    try:
        return loads_plain(text)
    except JSONDecodeError as refused:
        try:
            return foreign_json.loads_lenient(text)
        except JSONDecodeError:
            raise refused from None


def settled(value: Any) -> Any:
    """Return the value with its deep parts sealed as by `loads`; the value itself if
    none is deep.
    """
    return value if shallow_text(value) is not None else loads(dumps(value))


# orjson writes a time without a zone, and a dataclass by its Python names.
STRICT = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS


def dumps(
    value: Any, *, sort_keys: bool = False, default: Callable[[Any], Any] | None = None
) -> bytes:
    """Serialize a document of up to MOST_LEVELS levels.

    A time with a zone is written in UTC. default: converts a value that JSON does not
    have, such as for a log; NaN becomes null then.

    Raises EncodeError, a TypeError, which names the object and the path, for a value
    that JSON or Kubernetes does not have: NaN, an infinity, a set, bytes, a time
    without a zone, a key that is not a string, half of a surrogate pair. Rule: CL-10.
    """
    option = orjson.OPT_SORT_KEYS if sort_keys else 0
    if default is not None:
        try:
            return orjson.dumps(value, option=option)
        except TypeError:
            return _dumped(value, default, option)
    try:
        text = orjson.dumps(value, option=option | STRICT)
    except TypeError:
        text = _strictly_dumped(value, option | STRICT)
    # orjson writes null for NaN and infinities.
    if b"null" in text:
        check_numbers(value)
    return text


def _strictly_dumped(value: Any, option: int) -> bytes:
    try:
        return _dumped(value, _time_written, option)
    except EncodeError:
        raise
    except TypeError:
        check_json(value, DeepJson)
        raise


def _time_written(value: Any) -> str:
    if isinstance(value, datetime) and value.utcoffset() is not None:
        return time_text(value)
    if type(value) is date:
        return value.isoformat()
    raise TypeError(f"no JSON for {type(value).__name__}")


_EXACT = json.JSONEncoder(
    allow_nan=False, check_circular=False, ensure_ascii=False, default=lambda _: None
)


def check_numbers(value: Any) -> None:
    """Check the numbers of a value that orjson can write.

    Raises EncodeError for NaN and infinities.
    """
    try:
        # The last byte of such a number is one of these two, which UTF-8 text seldom
        # has. This is seven times faster than the exact check.
        packed = marshal.dumps(value)
        if b"\x7f" not in packed and b"\xff" not in packed:
            return
        _EXACT.encode(value)
    except (ValueError, RecursionError):
        check_json(value, DeepJson)


def _dumped(value: Any, default: Callable[[Any], Any], option: int) -> bytes:
    """Serialize a value with sealed parts, or with more levels than orjson writes.

    A marked string takes the place of a part until the rest is written.
    `orjson.Fragment` would do, but as of 3.13 orjson writes the closing brackets around
    a fragment past the end of its buffer if about a hundred levels are open.
    """
    parts: list[bytes] = []

    def serialize(one: Any) -> Any:
        if isinstance(one, DeepJson):
            parts.append(one.text)
            return f"{_MARK}{len(parts) - 1}"
        return default(one)

    try:
        text = orjson.dumps(value, default=serialize, option=option)
    except TypeError:
        if shallow_text(value) is not None or not _is_deep(value):
            raise
        parts.clear()
        text = b"".join(_written(value, serialize, option))
    return _MARKED.sub(lambda found: parts[int(found[1])], text) if parts else text


# Never leaves this module, so no text can contain it by accident or on purpose.
_MARK = uuid.uuid4().hex
_MARKED = re.compile(b'"' + _MARK.encode() + rb'(\d+)"')


def shallow_text(value: Any) -> bytes | None:
    """Return the JSON text of a value that `loads` would not seal; None if it would.

    orjson checks the depth while it writes: it refuses more levels than its own limit,
    so the value is written inside as many lists as make up the difference to LEVELS.
    """
    nest = _NEST
    nest.inner[0] = value
    try:
        # A copy: orjson's own result keeps up to three times its size to grow in.
        return orjson.dumps(nest.outer)[_ROOM:-_ROOM]
    except TypeError:
        return None
    finally:
        nest.inner[0] = None


def _brackets(text: bytes) -> int:
    """Return the number of opening brackets, including those in strings. It is faster
    than `bytes.count`.
    """
    return 2 * len(text) - len(text.replace(b"{", b"")) - len(text.replace(b"[", b""))


class _Nest(threading.local):
    """Nested lists with a place for a value in the innermost one. Each thread makes
    one, once.
    """

    def __init__(self) -> None:
        self.inner: list[Any] = [None]
        self.outer = self.inner
        for _ in range(_ROOM - 1):
            self.outer = [self.outer]


_NEST = _Nest()


def _is_deep(value: Any) -> bool:
    """Return whether the value has more plain levels than orjson writes."""
    # Depth first: a value that contains itself twice has 2^n values at level n.
    todo = [(value, 1)]
    while todo:
        here, level = todo.pop()
        if level > _ORJSON_WRITES:
            return True
        todo += [(inner, level + 1) for inner in _containers(here)]
    return False


def _containers(value: Any) -> list[Any]:
    members = value.values() if isinstance(value, dict) else value
    if not isinstance(value, (dict, list, tuple)):
        return []
    return [one for one in members if isinstance(one, (dict, list, tuple))]


def _written(value: Any, default: Callable[[Any], Any], option: int) -> Iterator[bytes]:
    """Serialize a value of any depth, piece by piece, without recursion. Raises
    TypeError for more than MOST_LEVELS levels.
    """
    todo: list[tuple[bytes, Any, int]] = [(b"", value, 1)]
    while todo:
        text, here, level = todo.pop()
        yield text
        if here is _NOTHING:
            continue
        if level > MOST_LEVELS and isinstance(here, (dict, list, tuple)):
            raise TypeError(f"more than {MOST_LEVELS} levels")
        if not _containers(here):
            yield orjson.dumps(here, default=default, option=option)
            continue
        is_object = isinstance(here, dict)
        members: list[tuple[bytes, Any]]
        if is_object:
            sorts = option & orjson.OPT_SORT_KEYS
            names = sorted(here) if sorts else list(here)
            if not all(type(name) is str for name in names):
                raise TypeError("Dict key must be str")
            members = [(orjson.dumps(name) + b":", here[name]) for name in names]
        else:
            members = [(b"", one) for one in here]
        yield b"{" if is_object else b"["
        todo.append((b"}" if is_object else b"]", _NOTHING, level))
        pieces = [
            (b"," + text if at else text, one, level + 1)
            for at, (text, one) in enumerate(members)
        ]
        todo += reversed(pieces)


_NOTHING = object()


class DepthError(JSONDecodeError):
    """A text is nested deeper than MOST_LEVELS. pos: position of the first bracket that
    is too deep.
    """


def seal(text: bytes, replace: Callable[[bytes], bytes], *, levels: int) -> bytes:
    """Return JSON text in which each part that is nested deeper than `levels` is
    replaced by another text.

    Parts are replaced from the inside out, so that each is nested at most `levels`
    deep. Raises JSONDecodeError, and the exceptions of `replace`.
    """
    layers: list[list[bytes]] = [[]]
    depth = copied = 0
    for token in _TOKENS.finditer(text):
        sign = text[token.start()]
        if sign in _OPENING:
            depth += 1
            if depth > MOST_LEVELS:
                raise DepthError("exceeded max depth", "", token.start())
            if depth % levels == 1 and depth > 1:
                layers[-1].append(text[copied : token.start()])
                layers.append([])
                copied = token.start()
        elif sign in _CLOSING:
            if depth % levels == 1 and depth > 1:
                layers[-1].append(text[copied : token.end()])
                part = b"".join(layers.pop())
                layers[-1].append(replace(part))
                copied = token.end()
            depth -= 1
        elif not token[1]:
            raise JSONDecodeError("a string has no end", "", token.start())
    layers[-1].append(text[copied:])
    return b"".join(piece for layer in layers for piece in layer)


def _sealed(text: bytes) -> Any:
    """Parse a document and seal each part beyond LEVELS. Raises JSONDecodeError.

    A mark takes the place of each part that was read; no text can contain the mark by
    chance or on purpose. The parts replace their marks at the end, once: otherwise a
    part would be written again for each hundred levels around it.
    """
    mark, parts = uuid.uuid4().hex.encode(), list[bytes]()

    def replace(part: bytes) -> bytes:
        read = orjson.loads(part)
        parts.append(orjson.dumps(read, option=orjson.OPT_SORT_KEYS))
        return b'"%s%d"' % (mark, len(parts) - 1)

    found = orjson.loads(seal(text, replace, levels=LEVELS))
    _put_in(found, mark.decode(), _Parts(parts, re.compile(b'"%s(\\d+)"' % mark)))
    return found


class _Parts:
    """The texts of sealed parts by number; a text may contain marks of other parts."""

    def __init__(self, texts: list[bytes], marked: re.Pattern[bytes]) -> None:
        self._texts = texts
        self._marked = marked

    def whole(self, number: int) -> DeepJson:
        """Return the part with this number, in which the marks are replaced by their
        parts.
        """
        pieces, todo = list[bytes](), list[bytes | int]([number])
        while todo:
            here = todo.pop()
            if isinstance(here, bytes):
                pieces.append(here)
                continue
            # Text and the number of the part after it, in turns.
            split = self._marked.split(self._texts[here])
            todo += [int(one) if at % 2 else one for at, one in enumerate(split)][::-1]
        return DeepJson(b"".join(pieces))


def _put_in(found: Any, mark: str, parts: _Parts) -> None:
    """Replace the marks in a document of few levels by their parts."""
    level = [found]
    while level:
        for here in level:
            members = here.items() if isinstance(here, dict) else enumerate(here)
            for name, value in list(members):
                if isinstance(value, str) and value.startswith(mark):
                    here[name] = parts.whole(int(value.removeprefix(mark)))
        level = [inner for outer in level for inner in _containers(outer)]
