"""Reads JSON text that orjson refuses and other parsers accept.

kube-apiserver returns the raw parts of some kinds (`data` of a ControllerRevision) as
they were written: unpaired surrogate escapes, invalid UTF-8 bytes. Go's clients read
U+FFFD instead, and so does this. Invalid numbers such as NaN come only from servers in
other languages. Slow: only for text that orjson refused. Pure.
"""

import json
import re
from typing import Any

import orjson

# Escaped backslashes, which do not start an escape; a surrogate pair; an unpaired
# surrogate. Compiled on first use: most processes never need it.
_HALVES = (
    rb"(?:\\\\)+"
    rb"|\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}"
    rb"|(\\u[dD][89a-fA-F][\da-fA-F]{2})"
)
_NO_UTF8 = "[\udc80-\udcff]"


class NoNumber(float):
    """A value that stands for NaN, an infinity, or a number beyond a double.

    Serializing it raises TypeError, because otherwise null would be written.
    """


def mended(text: bytes) -> bytes:
    """Return the text with U+FFFD for each unpaired surrogate and each invalid UTF-8
    byte, as Go reads it; unchanged text if there are none.
    """
    if rb"\ud" in text or rb"\uD" in text:
        text = re.sub(_HALVES, _half, text)
    try:
        text.decode()
    except UnicodeDecodeError:
        decoded = text.decode("utf-8", "surrogateescape")
        return re.sub(_NO_UTF8, "\ufffd", decoded).encode()
    return text


def loads_lenient(text: bytes) -> Any:
    """Parse text with invalid numbers, which become `NoNumber`.

    Raises orjson.JSONDecodeError for other invalid text, and for deeply nested text.
    """
    try:
        return json.loads(
            mended(text).decode(),
            parse_float=_number,
            parse_int=_number,
            parse_constant=NoNumber,
        )
    except (ValueError, RecursionError) as error:
        raise orjson.JSONDecodeError(str(error), "", 0) from error


def _half(found: re.Match[bytes]) -> bytes:
    return rb"\ufffd" if found[1] else found[0]


def _number(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return NoNumber(text)
