"""Sessions with MySQL, by PyMySQL."""

import socket
import ssl
import time
from typing import Any

from asoreconcile.azure.sql_users import quoting
from asoreconcile.azure.sql_users.drivers.bounded import BoundedSocket, with_bound
from asoreconcile.azure.sql_users.drivers.dbapi import DbApiSession
from asoreconcile.azure.sql_users.server import (
    CONNECT_SECONDS,
    LOCKS_PER_STATEMENT,
    STATEMENT_SECONDS,
    DatabaseServer,
    ServerError,
    SignIn,
    Trouble,
)

# So that a quote is all that ends a text (`quoting`), and a lock is not waited for for
# long.
_FIRST = (
    "SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES', lock_wait_timeout = {0}, "
    "innodb_lock_wait_timeout = {0}"
)
_OF_DRIVER = range(2000, 3000)
_TROUBLE: dict[int, Trouble] = {
    1040: "unreachable",  # ER_CON_COUNT_ERROR
    1044: "refused",  # ER_DBACCESS_DENIED_ERROR
    1045: "sign-in",  # ER_ACCESS_DENIED_ERROR
    1130: "firewall",  # ER_HOST_NOT_PRIVILEGED
    1205: "locked",  # ER_LOCK_WAIT_TIMEOUT
    2002: "unreachable",  # CR_CONNECTION_ERROR
    2003: "unreachable",  # CR_CONN_HOST_ERROR
    2006: "lost",  # CR_SERVER_GONE_ERROR
    2013: "lost",  # CR_SERVER_LOST
    2026: "tls",  # CR_SSL_CONNECTION_ERROR
    4006: "owns",  # ER_CANNOT_USER_REFERENCED_AS_DEFINER
    9000: "firewall",  # Azure's
}


class _Greeting(BoundedSocket):
    """A connection that limits the time before TLS to CONNECT_SECONDS, and its bytes.

    The driver alone would start a new time limit for each byte that an unverified
    server sends.
    """

    def __init__(self, connected: socket.socket) -> None:
        super().__init__(connected)
        self._until = time.monotonic() + CONNECT_SECONDS

    def recv_into(self, *args: Any, **options: Any) -> int:
        """Receive like a socket, and restore the socket's time limit before
        returning.
        """
        before, left = self.gettimeout(), self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self.settimeout(left)
        try:
            return super().recv_into(*args, **options)
        finally:
            self.settimeout(before)


def connect(
    server: DatabaseServer, sign_in: SignIn, context: ssl.SSLContext
) -> DbApiSession:
    """Sign in. Raises ServerError.

    A token is sent as a password in clear text, but only within TLS and only to a
    server whose certificate was verified.
    """
    import pymysql

    try:
        made = pymysql.Connection(
            host=server.host,
            port=server.port,
            user=sign_in.user,
            password=sign_in.secret,
            database=server.database,
            ssl=with_bound(context),
            charset="utf8mb4",
            autocommit=True,
            connect_timeout=CONNECT_SECONDS,
            read_timeout=STATEMENT_SECONDS,
            write_timeout=STATEMENT_SECONDS,
            # Whole seconds, and at least one.
            init_command=_FIRST.format(
                max(int(STATEMENT_SECONDS / LOCKS_PER_STATEMENT), 1)
            ),
            program_name="asoreconcile",
            defer_connect=True,
        )
        made.connect(_connected(server))
        # The driver has no name for its present connection.
        made._sock.bound.signed_in()  # noqa: SLF001
    except ServerError:
        raise
    except Exception as error:  # noqa: BLE001 - told apart by `_failure`
        failure = _failure(error, connected=False)
        raise failure from None
    return DbApiSession(
        made, lambda error: _failure(error, connected=True), quote=quoting.text
    )


def _connected(server: DatabaseServer) -> socket.socket:
    """Open a TCP connection. Raises ServerError."""
    try:
        made = socket.create_connection((server.host, server.port), CONNECT_SECONDS)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    except OSError as error:
        text = f"cannot connect ({error})"
        raise ServerError(text, trouble="unreachable") from None
    return _Greeting(made)


def _failure(error: Exception, *, connected: bool) -> ServerError:
    if isinstance(error, ServerError):
        return error
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return ServerError(f"TLS failed: {cause}", trouble="tls")
        cause = (
            getattr(cause, "original_exception", None)
            or cause.__cause__
            or cause.__context__
        )
    lost: Trouble = "lost" if connected else "unreachable"
    if isinstance(error, TimeoutError):
        return ServerError("no answer in time", trouble=lost)
    code = error.args[0] if error.args and isinstance(error.args[0], int) else 0
    text = str(error.args[1]) if code and len(error.args) > 1 else str(error)
    if code == 0:
        # InterfaceError(0, ''): the connection is closed already.
        return ServerError(text or type(error).__name__, trouble=lost)
    trouble = _TROUBLE.get(code, "refused")
    if trouble == "lost" and not connected:
        trouble = "unreachable"
    if trouble == "sign-in" and connected:
        trouble = "refused"  # the administrator may not do that
    if "IP address" in text and "not allowed" in text:
        trouble = "firewall"
    # The driver's own codes are not the server's.
    shown = "" if code in _OF_DRIVER else str(code)
    return ServerError(text, trouble=trouble, code=shown)
