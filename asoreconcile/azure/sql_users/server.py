"""A database server, the sign-in to it, and its errors."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

import attrs

from asoreconcile.azure.sql_users.statement import Statement
from asoreconcile.base.errors import AsoreconcileError

Trouble = Literal[
    "unreachable", "tls", "firewall", "sign-in", "lost", "owns", "locked", "refused"
]

CONNECT_SECONDS = 10.0
STATEMENT_SECONDS = 20.0
# A server waits less long for a lock than the operator waits for the server, so that
# the server's answer states the reason and the connection stays usable.
LOCKS_PER_STATEMENT = 4
# A server may send megabytes of text, and the text is shown in conditions.
_MAX_TEXT = 4096


@attrs.frozen
class DatabaseServer:
    """The address of a server. database: the database to sign in to."""

    host: str
    port: int
    database: str

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def place(self) -> str:
        """The server and database in one text, for records."""
        return f"{self.host.lower()}:{self.port}/{self.database}"


@attrs.frozen
class SignIn:
    """The account with which the operator signs in.

    secret: a password, or a token.
    is_token: whether the secret is a token.
    holder: the identity of the token's holder: tokens change, and a session outlives
    them.
    """

    user: str
    secret: str = attrs.field(repr=False)
    is_token: bool = False
    holder: str = ""

    @property
    def digest(self) -> str:
        """A text that differs for each credential and reveals nothing of it."""
        said = self.holder if self.is_token else self.secret
        text = "\0".join((self.user, str(self.is_token), said))
        return hashlib.sha256(text.encode()).hexdigest()


class ServerError(AsoreconcileError):
    """A request to a database server failed.

    trouble: unreachable (no response), tls (the server is not verified), firewall (the
    server refuses this address), sign-in (the server refuses the credential), lost (the
    connection broke), owns (the user cannot be dropped while it owns objects), locked
    (another transaction holds a lock), refused.
    code: error code of the server, or "".
    """

    def __init__(self, message: str, *, trouble: Trouble, code: str = "") -> None:
        super().__init__(
            message if len(message) <= _MAX_TEXT else message[:_MAX_TEXT] + "..."
        )
        self.trouble: Trouble = trouble
        self.code = code


class Session(Protocol):
    """A signed-in connection, for one thread at a time.

    Each call blocks for STATEMENT_SECONDS at most, and raises ServerError.
    """

    def query(self, sql: str, **values: str) -> Sequence[Sequence[Any]]:
        """Return the rows of a query. sql: with `:name` for each value."""

    def execute(self, statement: Statement) -> None:
        """Run one statement, which is complete when this returns."""

    def close(self) -> None:
        """Close the connection; never raises."""


OpenSession = Callable[[DatabaseServer, SignIn], Session]
"""Connects and signs in; blocking. Raises ServerError."""
