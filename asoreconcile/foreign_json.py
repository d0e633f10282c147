"""JSON text that orjson refuses and others take: mended, or read as far as it is one.

kube-apiserver passes on the raw parts of some kinds (`data` of a ControllerRevision) as
somebody wrote them: half a character as an escape, bytes that are no UTF-8. Go's
clients read U+FFFD in their place, and so does this. Numbers that are none come from
servers in other languages alone. Slow: only for text that was refused. Pure.
"""

import json
import re
from typing import Any

import orjson

# Escaped backslashes, which are no beginning of an escape; a character in two escapes;
# half of one. Compiled once it is needed: most processes never do.
_HALVES = (
    rb"(?:\\\\)+"
    rb"|\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}"
    rb"|(\\u[dD][89a-fA-F][\da-fA-F]{2})"
)
_NO_UTF8 = "[\udc80-\udcff]"


class NoNumber(float):
    """NaN, an infinity, or a number beyond a double. It cannot be written: whoever
    wants to keep or to send it gets a TypeError, and no null in its place.
    """


def mended(text: bytes) -> bytes:
    """The text with U+FFFD for each half of a character, and for each byte that is no
    UTF-8, as Go reads it; equal to the text where there is no such.
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
    """What a text says in which numbers are none: `NoNumber` in their places.

    Raises orjson.JSONDecodeError for any other text that is no JSON, and for what is
    nested deep.
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
