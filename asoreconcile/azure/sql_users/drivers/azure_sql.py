"""Sessions with Azure SQL, by python-tds."""

import os
import ssl
from collections.abc import Callable
from contextvars import ContextVar
from functools import cache
from typing import Any

import certifi
from cryptography import x509

from asoreconcile.azure.sql_users.drivers.bounded import BoundedSocket, ByteBound
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
from asoreconcile.base.certificates import hosts_of

_TROUBLE: dict[int, Trouble] = {
    1222: "locked",  # the time for a lock is up
    4060: "sign-in",  # the login may not open the database
    10928: "unreachable",  # a limit of the database: sessions
    15138: "owns",  # owns a schema
    15421: "owns",  # owns a role
    18456: "sign-in",
    40197: "unreachable",  # Azure is busy with the server
    40501: "unreachable",
    40613: "unreachable",  # not available at the moment; serverless ones wake up
    40615: "firewall",
    40914: "firewall",
}


# The connections that a sign-in opens: one, and one more if the server sends it on.
_BOUNDS: ContextVar[list[ByteBound]] = ContextVar("bounds")


def connect(server: DatabaseServer, sign_in: SignIn) -> DbApiSession:
    """Sign in. Raises ServerError.

    TDS wraps TLS in packets of its own, and the driver makes its TLS context from a
    file of authorities. The file is SSL_CERT_FILE, else the system's.
    """
    import pytds
    import pytds.tls
    import pytds.utils

    # The driver's own function strips letters from names, trusts the subject, and calls
    # functions that pyOpenSSL is about to drop. The driver calls this one before it
    # signs in.
    pytds.tls.validate_host = _is_of_host
    # The driver's own function waits until the time is up before it reports the
    # server's error.
    pytds.utils.exponential_backoff = _once
    _own_connect()  # before it is replaced
    pytds._connect = _connected  # noqa: SLF001
    bounds: list[ByteBound] = []
    opening = _BOUNDS.set(bounds)
    try:
        made = pytds.connect(
            dsn=server.host,
            port=server.port,
            database=server.database,
            user=sign_in.user,
            password=sign_in.secret,
            timeout=STATEMENT_SECONDS,
            login_timeout=CONNECT_SECONDS,
            appname="asoreconcile",
            autocommit=True,
            cafile=authorities(),
            validate_host=True,
            disable_connect_retry=True,
        )
        limit = STATEMENT_SECONDS / LOCKS_PER_STATEMENT
        with made.cursor() as cursor:
            cursor.execute(f"SET LOCK_TIMEOUT {limit * 1000:.0f}")
        bounds[-1].signed_in()
    except Exception as error:  # noqa: BLE001 - told apart by `_failure`
        failure = _failure(error, connected=False)
        raise failure from None
    finally:
        _BOUNDS.reset(opening)
    return DbApiSession(made, lambda error: _failure(error, connected=True))


def _connected(login: Any, host: str, port: int, **options: Any) -> Any:
    """Open a bounded connection and sign in, in place of the driver's own function.

    The driver calls it again for the host to which a server sends it on.
    """
    stated = str(login.servers[0][0])
    if not is_same_or_beside(host, stated):
        raise ServerError(
            f"sends sign-ins on to {host!r}, which is not of its domain",
            trouble="unreachable",
        )
    sock = BoundedSocket.to(host, port)
    _BOUNDS.get().append(sock.bound)
    options["sock"] = sock
    return _own_connect()(login=login, host=host, port=port, **options)


@cache
def _own_connect() -> Callable[..., Any]:
    """Return the driver's own function."""
    import pytds

    own: Callable[..., Any] = pytds._connect  # noqa: SLF001
    return own


def is_same_or_beside(host: str, stated: str) -> bool:
    """Return whether a host is the stated one or in the same domain: Azure SQL sends
    sign-ins on to a worker below `database.windows.net`.
    """
    one, other = host.lower().rstrip("."), stated.lower().rstrip(".")
    _, _, domain = other.partition(".")
    return one == other or ("." in domain and one.endswith(f".{domain}"))


def authorities() -> str:
    """Return the file of the authorities that certificates are verified against."""
    found = ssl.get_default_verify_paths().cafile
    stated = os.environ.get("SSL_CERT_FILE")
    return stated or found or certifi.where()


def is_for_host(certificate: x509.Certificate, host: str) -> bool:
    """Return whether a certificate is for a host, by its alternative names.

    A first label `*` in a name matches any one label.
    """
    wanted = host.lower().rstrip(".")
    names = {name.lower() for name in hosts_of(certificate)}
    first, _, rest = wanted.partition(".")
    return wanted in names or (bool(first and "." in rest) and f"*.{rest}" in names)


def _once(
    work: Callable[[float], Any],
    ex_handler: object,  # noqa: ARG001
    max_time_sec: float,
    first_attempt_time_sec: float,  # noqa: ARG001
) -> Any:
    """Make one attempt. There is no retry here, because the work queue retries and no
    worker waits.
    """
    return work(max_time_sec)


def _is_of_host(cert: Any, name: bytes) -> bool:
    return is_for_host(cert.to_cryptography(), name.decode("ascii"))


def _failure(error: Exception, *, connected: bool) -> ServerError:
    if isinstance(error, ServerError):
        return error
    text = str(error) or type(error).__name__
    lost: Trouble = "lost" if connected else "unreachable"
    name = f"{type(error).__module__}.{type(error).__name__}"
    if name.startswith("OpenSSL.") or "certificate" in text.lower():
        return ServerError(f"TLS failed: {text}", trouble="tls")
    number = getattr(error, "msg_no", None) or getattr(error, "number", None)
    if isinstance(number, int) and number:
        trouble = _TROUBLE.get(number, "refused")
        return ServerError(text, trouble=trouble, code=str(number))
    if type(error).__name__ == "LoginError":
        return ServerError(text, trouble="sign-in")
    if isinstance(error, OSError) or type(error).__name__ in _LOST:
        return ServerError(text, trouble=lost)
    return ServerError(text, trouble="refused" if connected else lost)


_LOST = frozenset({"ClosedConnectionError", "InterfaceError", "TimeoutError"})
