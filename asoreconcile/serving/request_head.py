"""The head of an HTTP/1.1 request, which has exactly one meaning or is refused.

A proxy in front of the server and the server itself must see the same requests on a
connection. The grammar is RFC 9112's, without what RFC 9112 lets a server tolerate: no
folded lines, no bare LF, no second Content-Length. Pure functions. Rule: MG-11.
"""

import re
from collections.abc import Mapping

import attrs

from asoreconcile.base.errors import AsoreconcileError

MOST_HEADERS = 100
LINE_BYTES = 1 << 16
# The length of a body has no more digits, and `int` would be slow for a very long one.
_MOST_DIGITS = 18

_REQUEST_LINE = re.compile(
    rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([!-~]+) HTTP/([0-9])\.([0-9])\r\n"
)
# No alternative overlaps another: the time is linear in the length of the head.
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]++):([\t\x20-\x7e\x80-\xff]*+)\r\n")
# Possessive: a block that is not of this form is refused before headers are searched.
_HEADERS = re.compile(b"(?:" + _HEADER.pattern + b")*+")
# RFC 3986's characters, and the brackets that scrapers send unescaped.
_TARGET = re.compile(
    r"(?:https?://[^/?#\s]+)?(/(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/?\[\]]|%[0-9A-Fa-f]{2})*)"
)
_HOST = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9\-._~!$&'()*+,;=%]*)(?::[0-9]*)?")
# Headers of which two could be read in two ways.
_SINGLE = frozenset(
    {
        "authorization",
        "connection",
        "content-length",
        "content-type",
        "expect",
        "host",
        "transfer-encoding",
    }
)


class BadHeadError(AsoreconcileError):
    """A head is refused.

    status: status of the response, after which the connection closes.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@attrs.frozen
class RequestHead:
    """A request without its body.

    target: path and query. headers: names in lower case; values of a repeated header
    are joined by commas. body_bytes: the length of the body. keeps: whether the
    connection may serve another request. awaits_go: whether the client waits for
    "100 Continue" before it sends the body.
    """

    method: str
    target: str
    headers: Mapping[str, str] = attrs.field(repr=False)
    body_bytes: int = 0
    keeps: bool = True
    awaits_go: bool = False


def parse_head(head: bytes) -> RequestHead:
    """Parse a head, from the request line to the empty line (CRLF CRLF).

    Raises BadHeadError.
    """
    line, found, fields = head.partition(b"\r\n")
    request = _REQUEST_LINE.fullmatch(line + found)
    if request is None:
        raise BadHeadError(400, "the request line is malformed")
    method, target, major, minor = (word.decode("ascii") for word in request.groups())
    if (major, minor) not in {("1", "1"), ("1", "0")}:
        raise BadHeadError(505, f"HTTP/{major}.{minor} is not served")
    headers = _headers(fields)
    is_old = minor == "0"
    _check_host(headers, is_old=is_old)
    expects = headers.get("expect", "").lower()
    if expects not in {"", "100-continue"}:
        raise BadHeadError(417, "only 100-continue can be expected")
    return RequestHead(
        method=method,
        target=_target(target),
        headers=headers,
        body_bytes=_body_bytes(headers, is_old=is_old),
        keeps=_keeps(headers, is_old=is_old),
        awaits_go=bool(expects) and not is_old,
    )


def _headers(fields: bytes) -> dict[str, str]:
    block, end = fields[:-2], fields[-2:]
    if end != b"\r\n" or _HEADERS.fullmatch(block) is None:
        raise BadHeadError(400, "a header line is malformed")
    found = _HEADER.findall(block)
    if len(found) > MOST_HEADERS:
        raise BadHeadError(431, f"there are more than {MOST_HEADERS} headers")
    headers: dict[str, str] = {}
    for raw_name, raw_value in found:
        name = raw_name.decode("ascii").lower()
        value = raw_value.strip(b" \t").decode("latin-1")
        if name not in headers:
            headers[name] = value
        elif name in _SINGLE:
            raise BadHeadError(400, f"the header {name} is repeated")
        else:
            headers[name] += f", {value}"
    return headers


def _target(target: str) -> str:
    """Return the path and query of a target, which may also be a whole URL."""
    found = _TARGET.fullmatch(target)
    if found is None:
        raise BadHeadError(400, "the request's target is malformed")
    return found[1]


def _check_host(headers: Mapping[str, str], *, is_old: bool) -> None:
    host = headers.get("host")
    if host is None and not is_old:
        raise BadHeadError(400, "the header host is missing")
    if host is not None and _HOST.fullmatch(host) is None:
        raise BadHeadError(400, "the header host is malformed")


def _body_bytes(headers: Mapping[str, str], *, is_old: bool) -> int:
    length = headers.get("content-length")
    coding = headers.get("transfer-encoding")
    if coding is not None:
        # A length that is known first bounds a body before the body is read.
        is_plain = coding.lower() == "chunked" and length is None and not is_old
        raise BadHeadError(
            411 if is_plain else 400, "a body needs a Content-Length, and nothing else"
        )
    if length is None:
        return 0
    # `isdecimal` alone takes digits of other alphabets.
    if not (length.isascii() and length.isdecimal() and len(length) <= _MOST_DIGITS):
        raise BadHeadError(400, "the header content-length is malformed")
    return int(length)


def _keeps(headers: Mapping[str, str], *, is_old: bool) -> bool:
    options = {
        word.strip().lower() for word in headers.get("connection", "").split(",")
    }
    if {"close", "keep-alive"} <= options:
        raise BadHeadError(400, "the header connection contradicts itself")
    return "keep-alive" in options if is_old else "close" not in options
