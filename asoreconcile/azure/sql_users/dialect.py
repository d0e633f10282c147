"""The questions and statements about a user for one type of server."""

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

from asoreconcile.azure.sql_users.server import Session
from asoreconcile.azure.sql_users.statement import Statement
from asoreconcile.azure.sql_users.user import UserIdentity
from asoreconcile.base.objects import JsonObject


class Dialect(Protocol):
    """One type of server; `postgresql`, `mysql` and `azure_sql` have one each.

    name: for messages.
    port: the server's default port.
    renames: whether a user's name may change.
    read_only: the statement that makes a session refuse writes; "" if there is none.

    All methods are pure except `prepared` and `facts`, which use a session.
    """

    name: ClassVar[str]
    port: ClassVar[int]
    renames: ClassVar[bool]
    read_only: ClassVar[str]

    def identity(self, name: str, spec: JsonObject) -> UserIdentity:
        """Return the identity of the user that a spec describes. name: the
        Azure name.
        """

    def desired(self, name: str, spec: JsonObject, *, password: str) -> Any:
        """Return the user that a spec describes. Raises ConditionError."""

    def prepared(self, session: Session, desired: Any) -> Any:
        """Return the user with values that only the server knows."""

    def facts(self, session: Session, identity: UserIdentity) -> Any | None:
        """Return the user as the server has it; None if there is none. Raises
        ServerError.
        """

    def refusal(self, identity: UserIdentity, facts: Any | None) -> str:
        """Return why the operator must not manage a user, or ""."""

    def is_user(self, identity: UserIdentity, name: str) -> bool:
        """Return whether an administrator's name means this user."""

    def changes(self, desired: Any, facts: Any | None) -> Sequence[Statement]:
        """Return the statements that make a user match, including its password."""

    def differences(self, desired: Any, facts: Any) -> Sequence[Statement]:
        """Return the statements that are still needed, without the password."""

    def unread(self, desired: Any, facts: Any) -> Sequence[str]:
        """Return the paths of the spec that cannot be read from the server and are
        always written.
        """

    def rename(self, former: UserIdentity, now: UserIdentity) -> Sequence[Statement]:
        """Return the statements that rename the user and keep its privileges."""

    def drop(self, identity: UserIdentity) -> Sequence[Statement]:
        """Return the statements that drop the user, if it exists."""
