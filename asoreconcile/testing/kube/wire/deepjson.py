"""JSON with more levels than parsers and recursive functions support. Pure.

The API accepts documents with 10,000 levels. Python's and orjson's parsers stop at a
tenth of that or less, and so does every recursive function. No code reads such deep
parts: they are only stored and returned. So the parts deeper than LEVELS are kept as
one string (a mark and their JSON text) and become JSON again when they are written.
Equal parts have equal strings.
"""

import re
from collections.abc import Iterable
from typing import Any

import orjson

from asoreconcile.base import jsontext

LEVELS = 200
_MARK = "\0sealed\0"
_MARKED = rb"\u0000sealed\u0000"
_SEALED = re.compile(rb'"\\u0000sealed\\u0000((?:[^"\\]|\\.)*)"')
_TOO_DEEP_FOR_ORJSON = "depth limit exceeded"


def loads(body: bytes) -> Any:
    """Return a document with its deep parts sealed. Raises ValueError if it is not
    JSON.
    """
    try:
        found = orjson.loads(body)
    except ValueError as error:
        if _TOO_DEEP_FOR_ORJSON not in str(error):
            raise
        return orjson.loads(shallow(body))
    if body.count(b"{") + body.count(b"[") > LEVELS and _deep_places(found):
        return orjson.loads(shallow(body))
    if rb"\u0000" in body and _MARKED in orjson.dumps(found):
        raise ValueError("invalid character '\\u0000' in string literal")
    return found


def dumps(content: Any, option: int | None = None) -> bytes:
    """Return the whole document as JSON, with sealed parts as they were sent."""
    body = orjson.dumps(content, option=option)
    return _opened(body) if _MARKED in body else body


def is_deep(content: Any) -> bool:
    """Return whether a part of a document is sealed."""
    return _MARKED in orjson.dumps(content)


def shallow(body: bytes) -> bytes:
    """Return JSON with each part beyond LEVELS as a string. Raises ValueError.

    Parts are sealed from the inside out, LEVELS at a time, so that each can be parsed.
    """
    try:
        return jsontext.seal(body, _as_string, levels=LEVELS)
    except jsontext.DepthError as error:
        sign = body[error.pos : error.pos + 1].decode()
        raise ValueError(f"invalid character '{sign}' exceeded max depth") from None


def _as_string(part: bytes) -> bytes:
    """Return a part as one string, with sorted names, so that equal parts are equal."""
    text = dumps(orjson.loads(part), option=orjson.OPT_SORT_KEYS).decode()
    return orjson.dumps(_MARK + text)


def _opened(body: bytes) -> bytes:
    return _SEALED.sub(lambda found: _text(found[1]), body)


def _text(escaped: bytes) -> bytes:
    text: str = orjson.loads(b'"' + escaped + b'"')
    return text.encode()


def settled(found: Any) -> Any:
    """Return a document made of others, sealed at LEVELS as `loads` would do.

    found: at most two or three such documents deep. It is changed.
    """
    for holder, name in _deep_places(found):
        part = dumps(holder[name], option=orjson.OPT_SORT_KEYS)
        holder[name] = _MARK + part.decode()
    return found


def _deep_places(found: Any) -> list[tuple[Any, Any]]:
    """Return the places where parts deeper than LEVELS begin: (container, key)."""
    level: list[tuple[Any, Any]] = [([found], 0)]
    for _ in range(LEVELS):
        level = [
            (value, name)
            for value in (holder[name] for holder, name in level)
            for name, inner in _members(value)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            break
    return level


def _members(value: Any) -> Iterable[tuple[Any, Any]]:
    return value.items() if isinstance(value, dict) else enumerate(value)
