"""What one kind of server is asked, and told, about a user."""

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

from asoreconcile.azure.sql_users.server import Session
from asoreconcile.azure.sql_users.statement import Statement
from asoreconcile.azure.sql_users.user import UserIdentity
from asoreconcile.base.objects import JsonObject


class Dialect(Protocol):
    """`postgresql`, `mysql` and `azure_sql` have one each. All but `prepared` and
    `facts`, which ask a session, is pure.

    name: for texts. port: the server's. renames: whether a user may get another name.
    read_only: what has a session refuse to write; "" where nothing does.
    """

    name: ClassVar[str]
    port: ClassVar[int]
    renames: ClassVar[bool]
    read_only: ClassVar[str]

    def identity(self, name: str, spec: JsonObject) -> UserIdentity:
        """Which user a spec is for. name: the Azure name."""

    def wanted(self, name: str, spec: JsonObject, *, password: str) -> Any:
        """The user as a spec wants it. Raises ConditionError."""

    def prepared(self, session: Session, wanted: Any) -> Any:
        """With what only the server knows to say."""

    def facts(self, session: Session, identity: UserIdentity) -> Any | None:
        """The user as the server has it; None where it has none. Raises ServerError."""

    def refusal(self, identity: UserIdentity, facts: Any | None) -> str:
        """Why a user is none of ours, or ""."""

    def is_user(self, identity: UserIdentity, name: str) -> bool:
        """Whether an administrator's name means this user."""

    def changes(self, wanted: Any, facts: Any | None) -> Sequence[Statement]:
        """The statements that bring a user in line, its password with it."""

    def differences(self, wanted: Any, facts: Any) -> Sequence[Statement]:
        """Those that are needed still, but for the password."""

    def unread(self, wanted: Any, facts: Any) -> Sequence[str]:
        """Paths of the spec of which nobody can read whether the user has them; they
        are said each time.
        """

    def rename(self, former: UserIdentity, now: UserIdentity) -> Sequence[Statement]:
        """The statements that give the user its new name, without losing what it may
        do.
        """

    def drop(self, identity: UserIdentity) -> Sequence[Statement]:
        """The statements that drop a user, if it is there."""
