"""The process's HTTP endpoints: `/metrics`, `/healthz` and `/readyz`. Rules: MG-7 - 9.

Plain HTTP for probes and scrapers: a thread for each connection, one request each. A
client gets 32 s and 1 MiB for its request; what is slower or longer is cut off.
"""

import io
import socket
import sys
import time
import urllib.parse
from collections.abc import Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from asoreconcile.errors import AsoError
from asoreconcile.log import Logger
from asoreconcile.runtime.health import Checks, Report
from asoreconcile.runtime.workforce import start_daemon

_log = Logger(__name__)

_READ_SECONDS = 32.0
_READ_BYTES = 1 << 20
OFF = ("", "0")
"""Addresses that mean: nowhere."""

_PLAIN = "text/plain; charset=utf-8"


class EndpointsError(AsoError):
    """The address cannot be used."""


class Endpoints:
    """A service that answers on one address. Rule: MG-8."""

    def __init__(
        self,
        address: str,
        *,
        registry: CollectorRegistry | None = None,
        checks: tuple[Checks, ...] = (),
        read_seconds: float = _READ_SECONDS,
    ) -> None:
        """address: `:8081`, `127.0.0.1:0` (any free port), `[::1]:8081`; "0" and ""
        are off. Raises EndpointsError if it is none of these.
        registry: served as /metrics. checks: each under its own name.
        """
        self.name = f"endpoints {address}"
        self._address = None if address in OFF else _parse(address)
        self._registry = registry
        self._checks = {item.name: item for item in checks}
        self._read_seconds = read_seconds
        self._server: _Server | None = None

    @property
    def port(self) -> int:
        """Where it listens; 0 while it does not."""
        return self._server.server_address[1] if self._server else 0

    def start(self) -> None:
        """Listen, and answer on threads. Raises EndpointsError if it cannot."""
        if self._address is None:
            return
        try:
            self._server = _Server(self._address, self, self._read_seconds)
        except OSError as error:
            raise EndpointsError(f"cannot listen on {self.name}: {error}") from error
        start_daemon(self.name, self._server.serve)

    def stop(self, timeout_seconds: float) -> list[str]:  # noqa: ARG002 - ends at once
        """Stop listening; answers under way are finished by their own threads."""
        if self._server is not None:
            self._server.close()
            self._server = None
        return []

    def answer(self, target: str, headers: Mapping[str, str]) -> tuple[int, str, bytes]:
        """Status, content type and body for a request's target (`/readyz?verbose`)."""
        url = urllib.parse.urlsplit(target)
        query = urllib.parse.parse_qs(url.query, keep_blank_values=True)
        path = url.path.rstrip("/") or "/"
        if path == "/metrics" and self._registry is not None:
            encode, content_type = choose_encoder(headers.get("Accept", ""))
            return 200, content_type, encode(self._registry)
        report = self._report(path.removeprefix("/"), query)
        if report is None:
            return 404, _PLAIN, b"not found\n"
        return report.status, _PLAIN, report.text.encode()

    def _report(self, path: str, query: dict[str, list[str]]) -> Report | None:
        name, _, check = path.partition("/")
        checks = self._checks.get(name)
        if checks is None:
            return None
        if check:
            return checks.report_one(check)
        return checks.report(
            verbose="verbose" in query, exclude=frozenset(query.get("exclude", ()))
        )


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(
        self, address: tuple[str, int], endpoints: Endpoints, read_seconds: float
    ) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.endpoints = endpoints
        self.read_seconds = read_seconds
        super().__init__(address, _Handler)

    def serve(self) -> None:
        """Accept until the socket is closed; `serve_forever` would poll."""
        while True:
            try:
                request, client = self.socket.accept()
            except OSError:
                return
            self.process_request(request, client)

    def close(self) -> None:
        """Stop accepting: a plain close would not wake the thread in `accept`."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - the base class's
        _log.info("Endpoint connection broke", error=repr(sys.exc_info()[1]))


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    server_version = "asoreconcile"
    sys_version = ""

    def setup(self) -> None:
        super().setup()
        self.rfile = io.BufferedReader(
            _Limited(self.connection, self.server.read_seconds)
        )

    def do_GET(self) -> None:
        headers = {name.title(): value for name, value in self.headers.items()}
        status, content_type, body = self.server.endpoints.answer(self.path, headers)
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815 - http.server looks for this name

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's
        _log.debug("Endpoint answered", request=format % args)


class _Limited(io.RawIOBase):
    """A connection's bytes, up to a number of them and a moment. Rule: MG-9."""

    def __init__(self, connection: socket.socket, seconds: float) -> None:
        self._connection = connection
        self._deadline = time.monotonic() + seconds
        self._left = _READ_BYTES

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        remaining = self._deadline - time.monotonic()
        if remaining <= 0 or self._left <= 0:
            raise TimeoutError("request is too slow or too long")
        self._connection.settimeout(remaining)
        count = self._connection.recv_into(buffer)
        self._left -= count
        return count


def _parse(address: str) -> tuple[str, int]:
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise EndpointsError(f"{address!r} is no address: write host:port, :port or 0")
    return host.strip("[]"), int(port)
