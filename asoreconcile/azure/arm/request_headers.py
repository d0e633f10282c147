"""Check request headers from settings and extensions. Pure.

A line break would end the header and begin another one; text beyond Latin-1 cannot be
sent. Values are not quoted, because they may be secrets.
"""

import re
from collections.abc import Mapping

from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.wire.request import is_token

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BEYOND_LATIN = re.compile(r"[^\x00-\xff]")


class HeaderError(AsoreconcileError):
    """A header cannot be sent; nothing was sent."""


def problem_of_header(value: str) -> str:
    """Return why a value cannot be sent in a header; "" if it can."""
    if value.isascii() and value.isprintable():  # nearly all are
        return ""
    if _CONTROL.search(value):
        return "must be on one line, without control characters"
    if _BEYOND_LATIN.search(value):
        return "must be of Latin letters: HTTP headers hold nothing else"
    return ""


def check_headers(headers: Mapping[str, str]) -> None:
    """Raise HeaderError, naming the header, if a header cannot be sent."""
    for name, value in headers.items():
        if not is_token(name):
            raise HeaderError(f"{name!r} is no name of a header")
        if problem := problem_of_header(value):
            raise HeaderError(f"the value of header {name} {problem}")
