"""Convert a server's refusal to a condition: reason, message and advice."""

from collections.abc import Mapping, Sequence

from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass
from asoreconcile.azure.sql_users.server import DatabaseServer, ServerError, Trouble
from asoreconcile.azure.sql_users.statement import Statement
from asoreconcile.base.log import Logger

_REASONS: Mapping[Trouble, str] = {
    "unreachable": "ServerUnreachable",
    "lost": "ServerUnreachable",
    "tls": "ServerUnreachable",
    "firewall": "BlockedByFirewall",
    "sign-in": "AdministratorSignInFailed",
    "owns": "UserOwnsObjects",
    "locked": "LockedOnServer",
    "refused": "RefusedByServer",
}
_ADVICE: Mapping[Trouble, str] = {
    "lost": "it is tried again",
    "firewall": "add a firewall rule for the address from which the operator connects",
    "sign-in": "see that serverAdminUsername, and the password or the identity, are "
    "those of an administrator of the server",
    "owns": "give it to another user (REASSIGN OWNED, ALTER AUTHORIZATION), or drop it",
    "locked": "another transaction on the server holds a lock; it is tried again",
    "refused": "",
}


_NO_CONNECTION = (
    "no verified connection to it could be made. See that it runs, that its name "
    "resolves here, that network policies and firewalls on the way let the operator "
    "out on this port, and that its certificate is for this name and of a trusted "
    "authority. The operator's log has the error"
)
_log = Logger(__name__)


class RefusedStatementError(ServerError):
    """A server error with the statement that failed."""

    def __init__(
        self, error: ServerError, statement: Statement, message: str = ""
    ) -> None:
        """message: message in place of the server's own."""
        super().__init__(message or str(error), trouble=error.trouble, code=error.code)
        self.statement = statement


def refused_together(refused: Sequence[RefusedStatementError]) -> RefusedStatementError:
    """Return one error for several refused statements."""
    first, *others = refused
    if not others:
        return first
    more = "; ".join(f"{one.statement}: {one}" for one in others[:_MOST_SHOWN])
    left = len(others) - _MOST_SHOWN
    tail = f"; and {left} more" if left > 0 else ""
    text = f"{first} (refused as well: {more}{tail})"
    failure = RefusedStatementError(first, first.statement, text)
    failure.__cause__ = first.__cause__
    return failure


_MOST_SHOWN = 4


def condition_of(
    error: ServerError, server: DatabaseServer, doing: str = ""
) -> ConditionError:
    """Return the condition of a failure. doing: the statement, without its secrets."""
    if error.trouble in ("unreachable", "tls") and not error.code:
        # The error itself would tell an author which ports of the network answer.
        _log.warning(
            "A database server cannot be used", server=str(server), error=str(error)
        )
        failed = ConditionError(
            f"server {server} cannot be used: {_NO_CONNECTION}",
            reason=_REASONS["unreachable"],
            retry=RetryClass.SLOW,
        )
        failed.is_unread = not doing
        return failed
    code = f" ({error.code})" if error.code else ""
    what = f" to {doing!r}" if doing else ""
    advice = _ADVICE.get(error.trouble, "")
    message = f"server {server} said{what}: {error}{code}"
    if error.trouble == "unreachable":
        message = f"server {server} cannot be used: {error}{code}"
    failed = ConditionError(
        f"{message}: {advice}" if advice else message,
        reason=_REASONS[error.trouble],
        retry=RetryClass.SLOW,
    )
    failed.is_unread = error.trouble in _UNREAD and not doing
    return failed


_UNREAD = frozenset({"unreachable", "lost"})
