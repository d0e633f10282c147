"""HTTP/1.1 for urllib3's pools, with less work for each request.

urllib3's connections write a request's head and its body apart, and the standard
library reads an answer's head as if it were an e-mail: together more than half of what
a small request costs. Here a request is one write, and a head is split into lines.
Proxies, and bodies that are no bytes, stay urllib3's.
"""

import http.client
import re
from collections.abc import Mapping
from typing import Any

from urllib3 import BaseHTTPResponse, HTTPHeaderDict, HTTPResponse
from urllib3.connection import HTTPConnection, HTTPSConnection

_MAX_LINE_BYTES = 1 << 16
_MAX_HEADERS = 100
_NO_BODY = frozenset({"GET", "HEAD", "DELETE", "OPTIONS", "TRACE"})
_NO_TARGET = re.compile(r"[\0-\x20\x7f]")
_NO_LINE = re.compile(r"[\0\r\n]")


class _Answer(http.client.HTTPResponse):
    """An answer whose head is read without the parser of e-mails."""

    headers: Any
    msg: Any
    _method: str

    def begin(self) -> None:
        """Read the head. Raises HTTPException, or OSError, for one that is none."""
        if self.headers is not None:
            return
        version, status, reason = self._status()
        while 100 <= status < 200 and status != 101:
            self._head()
            version, status, reason = self._status()
        self.code = self.status = status
        self.reason = reason
        self.version = 10 if version == "HTTP/1.0" else 11
        self.headers = self.msg = self._head()
        self._frame()

    def _status(self) -> tuple[str, int, str]:
        line = self._line()
        version, _, rest = line.partition(" ")
        code, _, reason = rest.strip().partition(" ")
        if not (version.startswith("HTTP/1.") and code.isdecimal() and len(code) == 3):
            raise http.client.BadStatusLine(line)
        return version, int(code), reason.strip()

    def _head(self) -> HTTPHeaderDict:
        headers, name, value = HTTPHeaderDict(), "", ""
        for _ in range(_MAX_HEADERS + 1):
            line = self._line()
            if line[:1] in (" ", "\t"):
                value = f"{value} {line.strip()}"  # folded: the one before goes on
                continue
            if name:
                headers.add(name, value)
            if not line:
                return headers
            name, _, value = line.partition(":")
            name, value = name.strip(), value.strip()
        raise http.client.HTTPException(f"an answer of over {_MAX_HEADERS} headers")

    def _line(self) -> str:
        line = self.fp.readline(_MAX_LINE_BYTES + 1)
        if len(line) > _MAX_LINE_BYTES:
            raise http.client.LineTooLong("head")
        if not line.endswith(b"\n"):
            raise http.client.RemoteDisconnected(
                "closed before the answer's head ended"
            )
        return line.rstrip(b"\r\n").decode("latin-1")

    def _frame(self) -> None:
        """How the body ends: after a length, with its last chunk, or at the close."""
        self.chunked = self.headers.get("transfer-encoding", "").lower() == "chunked"
        self.chunk_left = None
        self.length = None
        if self.status in (101, 204, 304) or self._method == "HEAD":
            self.length = 0
        elif not self.chunked:
            self.length = self._stated_length()
        asked = {word.strip() for word in self._tokens("connection")}
        endless = not self.chunked and self.length is None
        old = self.version == 10 and "keep-alive" not in asked
        self.will_close = "close" in asked or endless or old

    def _stated_length(self) -> int | None:
        lengths = {length.strip() for length in self._tokens("content-length")}
        if lengths == {""}:
            return None
        if len(lengths) > 1 or not all(length.isdecimal() for length in lengths):
            raise http.client.HTTPException("an answer of no certain length")
        return int(lengths.pop())

    def _tokens(self, name: str) -> list[str]:
        return str(self.headers.get(name, "")).lower().split(",")


class _Lean(HTTPConnection):
    """What the plain and the TLS connection have in common."""

    _sent: Mapping[str, Any] | None = None
    _own_host = ""

    def going_out(self, method: str, target: str) -> str:  # noqa: ARG002 - for heirs
        """Called when a request is about to be written, with an open connection where
        there is no proxy. Answers the target to send; what it raises is raised
        instead, with nothing sent.
        """
        return target

    def putrequest(self, method: str, url: str, *args: Any, **options: Any) -> None:
        super().putrequest(method, self.going_out(method, url), *args, **options)

    def request(  # type: ignore[override]  # as urllib3's own does
        self,
        method: str,
        url: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        *,
        chunked: bool = False,
        **options: Any,
    ) -> None:
        """Send a request. headers: all there are to be, but for the host, the length
        and the encoding, which are added.
        """
        self._sent = None
        head = self._head_of(method, url, headers or {}, body, chunked=chunked)
        if head is None:
            super().request(method, url, body, headers, chunked=chunked, **options)
            return
        if self.sock is None:
            self.connect()
        else:
            self.sock.settimeout(self.timeout)
        self._sent = {"request_method": method, "request_url": url, **options}
        head = f"{method} {self._target(method, url)} HTTP/1.1\r\n{head}"
        self.sock.sendall(head.encode("latin-1") + (body or b""))

    def getresponse(self) -> BaseHTTPResponse:  # type: ignore[override]  # as above
        """The answer's head; the body is read as from urllib3's own."""
        if self._sent is None:
            return super().getresponse()
        sent, self._sent = self._sent, None
        self.sock.settimeout(self.timeout)
        answer = _Answer(self.sock, method=sent["request_method"])
        try:
            answer.begin()
        except BaseException:
            answer.close()
            raise
        if answer.will_close:
            self.close()
        return HTTPResponse(
            body=answer,
            headers=answer.headers,
            status=answer.status,
            version=answer.version,
            reason=answer.reason,
            original_response=answer,
            **sent,
        )

    def _target(self, method: str, url: str) -> str:
        target = self.going_out(method, url)
        if _NO_TARGET.search(target):
            raise http.client.InvalidURL("a target with a space or control character")
        return target

    def _head_of(
        self,
        method: str,
        url: str,
        headers: Mapping[str, Any],
        body: Any,
        *,
        chunked: bool,
    ) -> str | None:
        """The headers' lines; None for what is better left to urllib3."""
        if chunked or self._tunnel_host or not url.startswith("/"):
            return None
        if body is not None and not isinstance(body, bytes):
            return None
        lines, names = [f"Host: {self._host_line()}"], set()
        for name, value in headers.items():
            line = f"{name}: {value}"
            if not isinstance(value, str) or _NO_LINE.search(line):
                return None  # urllib3 refuses it, or knows what to make of it
            names.add(name.lower())
            lines.append(line)
        if "host" in names or "transfer-encoding" in names:
            return None
        if "accept-encoding" not in names:
            lines.append("Accept-Encoding: identity")
        if "content-length" not in names and (body or method not in _NO_BODY):
            lines.append(f"Content-Length: {len(body or b'')}")
        return "\r\n".join([*lines, "", ""])

    def _host_line(self) -> str:
        if not self._own_host:
            host = self.host.partition("%")[0]
            host = f"[{host}]" if ":" in host else host
            plain = self.port == self.default_port
            self._own_host = host if plain else f"{host}:{self.port}"
        return self._own_host


class PlainConnection(_Lean):
    """`ConnectionCls` of a pool for `http`."""


class TlsConnection(_Lean, HTTPSConnection):
    """`ConnectionCls` of a pool for `https`."""
