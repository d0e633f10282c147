"""urllib3 connections that obey the time limit of the current call (`call_limit`)."""

import socket
from http.client import HTTPResponse
from io import BufferedReader, RawIOBase
from typing import Any

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import (
    ConnectTimeoutError,
    NameResolutionError,
    NewConnectionError,
)

from asoreconcile.base import call_limit
from asoreconcile.base.call_limit import Call, open_socket


class LimitedResponse(HTTPResponse):
    """`http.client`'s response; reading stops when the call's time is over, even in the
    head.
    """

    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        call = call_limit.current()
        if call is not None:
            self.fp = BufferedReader(_Limited(self.fp.detach(), sock, call))


class _Limited(RawIOBase):
    """A raw stream whose reads end when the call's time is over."""

    def __init__(self, raw: RawIOBase, sock: socket.socket, call: Call) -> None:
        super().__init__()
        self._raw = raw
        self._sock = sock
        self._call = call
        self._inactivity_seconds = sock.gettimeout()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if self._call.is_over:
            raise TimeoutError(self._call.explain())
        seconds = self._call.within(self._inactivity_seconds)
        if seconds != self._sock.gettimeout():  # setting it is a system call
            self._sock.settimeout(seconds)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class LimitedConnection(HTTPConnection):
    """A connection that obeys the call's limit while connecting, sending and
    receiving.
    """

    response_class = LimitedResponse
    _half_open: socket.socket | None = None

    def connect(self) -> None:
        """Connect within the call's remaining time; a time-out raises urllib3's
        exceptions.
        """
        call = call_limit.current()
        try:
            super().connect()
        finally:
            self._forget_half_open(call)
        _limit_sending(call, self.sock)

    def _forget_half_open(self, call: Call | None) -> None:
        half_open, self._half_open = self._half_open, None
        if call is not None and half_open is not None:
            call.uses(None)
            half_open.close()

    def putrequest(self, *args: Any, **options: Any) -> None:
        """Begin a request whose sends wait no longer than the call may."""
        _limit_sending(call_limit.current(), self.sock)
        super().putrequest(*args, **options)

    def _new_conn(self) -> socket.socket:
        call = call_limit.current()
        if call is None:
            return super()._new_conn()
        asked = self.timeout if isinstance(self.timeout, float | int) else None
        try:
            connected = open_socket(
                self._dns_host,
                self.port,
                call=call,
                seconds=asked,
                options=self.socket_options or (),
                source_address=self.source_address,
            )
        except socket.gaierror as error:
            raise NameResolutionError(self.host, self, error) from error
        except TimeoutError as error:
            message = f"connection to {self.host} timed out"
            raise ConnectTimeoutError(self, message) from error
        except OSError as error:
            message = f"failed to establish a new connection: {error}"
            raise NewConnectionError(self, message) from error
        connected.settimeout(call.within(asked))  # for the handshake
        # The TLS socket takes over this one's descriptor, so this one cannot be closed
        # later.
        self._half_open = connected.dup()
        call.uses(self._half_open)
        return connected


class LimitedTlsConnection(LimitedConnection, HTTPSConnection):
    """A `LimitedConnection` over TLS."""


def _limit_sending(call: Call | None, connected: socket.socket | None) -> None:
    """Set the call's limit. connected: None if the connection opens with the first
    send.
    """
    if call is None or connected is None:
        return
    call.uses(connected)
    if call.left is not None:
        # The last call on it may have had less time left.
        connected.settimeout(call.within(None))
