"""A server, how to sign in to it, and what may go wrong there."""

import hashlib
from collections.abc import Sequence
from typing import Any, Literal, Protocol

import attrs

from asoreconcile.azure.sql_users.statement import Statement
from asoreconcile.base.errors import AsoreconcileError

Trouble = Literal[
    "unreachable", "tls", "firewall", "sign-in", "lost", "owns", "refused"
]

CONNECT_SECONDS = 10.0
STATEMENT_SECONDS = 20.0
# A server may say megabytes; what it says is shown in conditions.
_MAX_TEXT = 4096


@attrs.frozen
class DatabaseServer:
    """Where a server is. database: the one to sign in to."""

    host: str
    port: int
    database: str

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


@attrs.frozen
class SignIn:
    """Whom the operator signs in as. secret: a password, or a token. is_token: which.
    holder: whose token it is: tokens change, and a session outlives them.
    """

    user: str
    secret: str = attrs.field(repr=False)
    is_token: bool = False
    holder: str = ""

    @property
    def digest(self) -> str:
        """Another for another credential; says nothing of it."""
        said = self.holder if self.is_token else self.secret
        text = "\0".join((self.user, str(self.is_token), said))
        return hashlib.sha256(text.encode()).hexdigest()


class ServerError(AsoreconcileError):
    """A server that did not do what it was asked.

    trouble: unreachable (nobody answers), tls (it is not verified), firewall (it does
    not let this address in), sign-in (it does not let the credential in), lost (the
    connection broke), owns (the user cannot go while it owns something), refused.
    code: the server's own, or "".
    """

    def __init__(self, message: str, *, trouble: Trouble, code: str = "") -> None:
        super().__init__(
            message if len(message) <= _MAX_TEXT else message[:_MAX_TEXT] + "..."
        )
        self.trouble: Trouble = trouble
        self.code = code


class Session(Protocol):
    """A connection that is signed in. Not for sharing between threads. Each call blocks
    for STATEMENT_SECONDS at most, and raises ServerError.
    """

    def query(self, sql: str, **values: str) -> Sequence[Sequence[Any]]:
        """The rows of a query. sql: with `:name` for each value."""

    def execute(self, statement: Statement) -> None:
        """Run one statement; it is done when this returns."""

    def close(self) -> None:
        """Never raises."""


class OpenSession(Protocol):
    """Opens a session. Blocks for CONNECT_SECONDS, and for as long or STATEMENT_SECONDS
    for each answer to the sign-in. Raises ServerError.
    """

    def __call__(self, server: DatabaseServer, sign_in: SignIn, /) -> Session: ...
