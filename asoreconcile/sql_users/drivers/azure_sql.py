"""Sessions with Azure SQL, by python-tds."""

import os
import ssl

import certifi

from asoreconcile.sql_users.drivers.dbapi import DbApiSession
from asoreconcile.sql_users.server import (
    CONNECT_SECONDS,
    STATEMENT_SECONDS,
    DatabaseServer,
    ServerError,
    SignIn,
    Trouble,
)

_TROUBLE: dict[int, Trouble] = {
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


def connect(server: DatabaseServer, sign_in: SignIn) -> DbApiSession:
    """Sign in. Raises ServerError.

    TDS wraps TLS in packets of its own, and the driver makes its context of a file of
    authorities. That is SSL_CERT_FILE, else the system's.
    """
    import pytds

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
    except Exception as error:  # noqa: BLE001 - told apart by `_failure`
        failure = _failure(error, connected=False)
        raise failure from None
    return DbApiSession(made, lambda error: _failure(error, connected=True))


def authorities() -> str:
    """The file of the authorities that certificates are checked by."""
    found = ssl.get_default_verify_paths().cafile
    stated = os.environ.get("SSL_CERT_FILE")
    return stated or found or certifi.where()


def _failure(error: Exception, *, connected: bool) -> ServerError:
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
