"""Sessions with PostgreSQL, by pg8000."""

import socket
import ssl
import struct
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, cast

from asoreconcile.azure.sql_users.drivers.bounded import BoundedTlsSocket, with_bound
from asoreconcile.azure.sql_users.drivers.dbapi import DriverSession
from asoreconcile.azure.sql_users.server import (
    CONNECT_SECONDS,
    LOCKS_PER_STATEMENT,
    STATEMENT_SECONDS,
    DatabaseServer,
    ServerError,
    SignIn,
    Trouble,
)
from asoreconcile.azure.sql_users.statement import Statement

_TROUBLE: dict[str, Trouble] = {
    "28P01": "sign-in",  # invalid_password
    "28000": "sign-in",  # invalid_authorization_specification
    "2BP01": "owns",  # dependent_objects_still_exist
    "57P01": "lost",  # admin_shutdown
    "57P02": "lost",  # crash_shutdown
    "57P03": "unreachable",  # cannot_connect_now
    "53300": "unreachable",  # too_many_connections
    "55P03": "locked",  # lock_not_available
}
# SSLRequest of the protocol: its length, and a number that stands for no version.
_TLS_REQUEST = struct.pack("!ii", 8, 80877103)
_NO_ENTRY = "no pg_hba.conf entry"


class PostgreSqlSession(DriverSession):
    """A session over pg8000's own interface."""

    def query(self, sql: str, **values: str) -> Sequence[Sequence[Any]]:
        """Run a query, see `server.Session.query`."""
        return self._said(lambda: self._connection.run(sql, **values)) or ()

    def execute(self, statement: Statement) -> None:
        """Run a statement, see `server.Session.execute`."""
        self._said(lambda: self._connection.execute_simple(statement.sql))


def connect(
    server: DatabaseServer, sign_in: SignIn, context: ssl.SSLContext
) -> PostgreSqlSession:
    """Sign in. Raises ServerError."""
    from pg8000.native import Connection

    with ExitStack() as opened:
        try:
            sock = opened.enter_context(_secured(server, context))
            made = Connection(
                sign_in.user,
                password=sign_in.secret,
                sock=sock,
                ssl_context=False,  # it is one already
                database=server.database,
                application_name="asoreconcile",
            )
            limit = STATEMENT_SECONDS / LOCKS_PER_STATEMENT
            made.run(f"SET lock_timeout = {limit * 1000:.0f}")
            sock.bound.signed_in()
        except Exception as error:  # noqa: BLE001 - told apart by `_failure`
            failure = _failure(error, connected=False)
            raise failure from None
        sock.settimeout(STATEMENT_SECONDS)
        opened.pop_all()
    return PostgreSqlSession(made, lambda error: _failure(error, connected=True))


def _secured(server: DatabaseServer, context: ssl.SSLContext) -> BoundedTlsSocket:
    """Return a verified connection. The driver would not close it after a later
    failure.
    """
    where = (server.host, server.port)
    with ExitStack() as opened:
        sock = opened.enter_context(socket.create_connection(where, CONNECT_SECONDS))
        sock.sendall(_TLS_REQUEST)
        if sock.recv(1) != b"S":
            raise ServerError("the server offers no TLS", trouble="tls")
        secured = with_bound(context).wrap_socket(sock, server_hostname=server.host)
        opened.pop_all()
    return cast("BoundedTlsSocket", secured)


def _failure(error: Exception, *, connected: bool) -> ServerError:
    from pg8000.exceptions import DatabaseError

    if isinstance(error, DatabaseError) and error.args:
        said = error.args[0]
        if isinstance(said, dict):
            return _refusal(said)
    if isinstance(error, ssl.SSLError):
        return ServerError(f"TLS failed: {error}", trouble="tls")
    if isinstance(error, ServerError):
        return error
    cause = error.__cause__ or error
    if isinstance(cause, TimeoutError | socket.timeout):
        seconds = STATEMENT_SECONDS if connected else CONNECT_SECONDS
        return ServerError(
            f"no answer within {seconds:.0f} s",
            trouble="lost" if connected else "unreachable",
        )
    text = str(cause) if isinstance(cause, OSError) else str(error)
    return ServerError(
        text or type(error).__name__, trouble="lost" if connected else "unreachable"
    )


def _refusal(said: dict[str, str]) -> ServerError:
    """Convert an ErrorResponse: C is its code, M the message, D the detail."""
    code, message = said.get("C", ""), said.get("M", "")
    if detail := said.get("D"):
        message = f"{message}: {detail}"
    trouble: Trouble = _TROUBLE.get(code, "refused")
    if _NO_ENTRY in message:
        trouble = "firewall"
    return ServerError(message, trouble=trouble, code=code)
