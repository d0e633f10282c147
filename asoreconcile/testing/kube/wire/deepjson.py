"""JSON nested deeper than parsers and recursive functions go. Pure.

The API takes documents nested 10,000 levels deep; Python's and orjson's parsers end at
a tenth of that or less, and so does every function that calls itself on what is inside.
Nothing reads so deep, it is only kept and given back. So what lies deeper than LEVELS
is kept as one string, a mark and the JSON text of what was there, and becomes JSON
again when it is written. Two that are alike are the same string.
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
    """A document, its deep parts sealed. Raises ValueError for what is none."""
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
    """The whole document: what was sealed is as it was sent."""
    body = orjson.dumps(content, option=option)
    return _opened(body) if _MARKED in body else body


def is_deep(content: Any) -> bool:
    """Whether a part of it is sealed."""
    return _MARKED in orjson.dumps(content)


def shallow(body: bytes) -> bytes:
    """JSON with each part beyond LEVELS as a string. Raises ValueError.

    Parts are sealed from the inside out, LEVELS at a time, so that each is parsed.
    """
    try:
        return jsontext.seal(body, _as_string, levels=LEVELS)
    except jsontext.DepthError as error:
        sign = body[error.pos : error.pos + 1].decode()
        raise ValueError(f"invalid character '{sign}' exceeded max depth") from None


def _as_string(part: bytes) -> bytes:
    """A part as one string; names in order, so that what is alike is equal."""
    text = dumps(orjson.loads(part), option=orjson.OPT_SORT_KEYS).decode()
    return orjson.dumps(_MARK + text)


def _opened(body: bytes) -> bytes:
    return _SEALED.sub(lambda found: _text(found[1]), body)


def _text(escaped: bytes) -> bytes:
    text: str = orjson.loads(b'"' + escaped + b'"')
    return text.encode()


def settled(found: Any) -> Any:
    """A document put together of others, as `loads` would have it: sealed at LEVELS.

    found: two or three such documents deep at most. It is changed.
    """
    for holder, name in _deep_places(found):
        part = dumps(holder[name], option=orjson.OPT_SORT_KEYS)
        holder[name] = _MARK + part.decode()
    return found


def _deep_places(found: Any) -> list[tuple[Any, Any]]:
    """Where what lies deeper than LEVELS begins: (its holder, its name in there)."""
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
