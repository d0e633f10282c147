"""The interface of a dialect: the queries and statements about a user for one type of
server.
"""

import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, ClassVar, Protocol

from asoreconcile.azure.sql_users.server import Session
from asoreconcile.azure.sql_users.statement import Statement
from asoreconcile.azure.sql_users.user import UserIdentity
from asoreconcile.base.objects import JsonObject


class Dialect(Protocol):
    """One type of server; `postgresql`, `mysql` and `azure_sql` have one each.

    name: name of the type, for messages.
    port: the server's default port.
    renames: whether a user's name may change.
    read_only: the statement that makes a session refuse writes; "" if there is none.

    All methods are pure except those that take a session, which raise ServerError.
    """

    name: ClassVar[str]
    port: ClassVar[int]
    renames: ClassVar[bool] = False
    read_only: ClassVar[str] = ""

    def kept(self, name: str) -> object:
        """Return a name in the form in which the server compares names."""

    def identity(self, name: str, spec: JsonObject) -> UserIdentity:  # noqa: ARG002
        """Return the identity of the user that a spec describes. name: the
        Azure name.
        """
        return {"name": name}

    def is_same(self, one: UserIdentity, other: UserIdentity) -> bool:
        """Return whether the server takes both for one user."""
        return self.kept(one["name"]) == self.kept(other["name"])

    def desired(self, name: str, spec: JsonObject, *, password: str) -> Any:
        """Return the user that a spec describes.

        Raises ConditionError, also for a name that the server would change.
        """

    def prepared(self, session: Session, desired: Any) -> Any:  # noqa: ARG002
        """Return the user with values that only the server knows."""
        return desired

    def facts(self, session: Session, identity: UserIdentity) -> Any | None:
        """Return the facts about the user on the server; None if the server has no such
        user.

        The facts of each server have these members. server_id: the server's own
        identifier, "" if it has none: a user that is dropped and made again has another
        one. name: the name that the server stores. is_signed_in: whether the operator
        is signed in as this user. barred: why the user cannot sign in although its spec
        says so, or "".
        """

    def refusal(self, identity: UserIdentity, facts: Any | None) -> str:
        """Return why the operator must never manage a user, or ""."""

    def powers(
        self, session: Session, desired: Any, facts: Any, *, unasked: bool
    ) -> str:
        """Return the rights by which a user is an administrator, or "".

        unasked: whether only rights count that its spec does not ask for.
        """

    def is_user(self, identity: UserIdentity, name: str) -> bool:
        """Return whether an administrator's name means this user."""
        return self.kept(identity["name"]) == self.kept(name)

    def create(self, desired: Any) -> Statement:
        """Return the statement that creates the user, with its password and without
        rights. It fails if there is such a user.
        """

    def created(self, desired: Any) -> Any:
        """Return the facts of the user right after its creation, for plans."""

    def passwords(self, desired: Any) -> Sequence[Statement]:
        """Return the statements that set the password; none for a user without one."""

    def differences(self, desired: Any, facts: Any) -> Sequence[Statement]:
        """Return the statements that make the user match, without the password.

        Raises ConditionError if that cannot be.
        """

    def unread(self, desired: Any, facts: Any) -> Sequence[str]:  # noqa: ARG002
        """Return the paths of the spec that cannot be read from the server and are
        not compared.
        """
        return ("localUser.password",)

    def rename(self, former: UserIdentity, now: UserIdentity) -> Sequence[Statement]:
        """Return the statements that rename the user and keep its privileges."""

    def drop(self, identity: UserIdentity) -> Sequence[Statement]:
        """Return the statements that drop the user, if it exists."""


def queries_of(dialect: str) -> Mapping[str, str]:
    """Return the queries of a file in `queries` by their names, without comments."""
    file = files("asoreconcile.azure.sql_users") / "queries" / f"{dialect}.sql"
    _, *parts = re.split(r"^-- name: (\w+)$", file.read_text(), flags=re.MULTILINE)
    texts = (re.sub(r"^--.*\n", "", text, flags=re.MULTILINE) for text in parts[1::2])
    return dict(zip(parts[::2], texts, strict=True))


def creation(dialect: Dialect, desired: Any) -> Sequence[Statement]:
    """Return all statements for a user that does not exist yet. Pure."""
    rights = dialect.differences(desired, dialect.created(desired))
    return (dialect.create(desired), *rights)
