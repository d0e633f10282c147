"""Users of a database of Azure SQL: compute the statements for a spec. Pure.

They are contained users: each belongs to one database, without a login of the server.
"""

from collections.abc import Sequence
from typing import ClassVar

import attrs

from asoreconcile.azure.sql_users.quoting import tsql_identifier, tsql_text
from asoreconcile.azure.sql_users.server import Session
from asoreconcile.azure.sql_users.statement import Secret, Statement
from asoreconcile.azure.sql_users.user import UserIdentity
from asoreconcile.base.objects import JsonObject

_USER = """
SELECT type, authentication_type_desc
FROM sys.database_principals WHERE name = :name
"""
_MEMBER_OF = """
SELECT granted.name
FROM sys.database_role_members AS membership
JOIN sys.database_principals AS granted
  ON granted.principal_id = membership.role_principal_id
JOIN sys.database_principals AS member
  ON member.principal_id = membership.member_principal_id
WHERE member.name = :name
"""
_SQL_USER = "S"
_RESERVED = frozenset({"dbo", "guest", "information_schema", "public", "sys"})


@attrs.frozen
class DatabaseUser:
    """A user as its spec describes it."""

    name: str
    password: str = attrs.field(repr=False)
    member_of: frozenset[str]

    @property
    def identity(self) -> UserIdentity:
        """The user's identity in the database."""
        return {"name": self.name}


@attrs.frozen
class DatabaseUserFacts:
    """A principal as the database has it. type: `S` is a user with a password."""

    type: str
    authentication: str
    member_of: frozenset[str]


class AzureSql:
    """`dialect.Dialect` of Azure SQL."""

    name: ClassVar[str] = "Azure SQL"
    port: ClassVar[int] = 1433
    renames: ClassVar[bool] = False
    read_only: ClassVar[str] = ""

    def identity(self, name: str, spec: JsonObject) -> UserIdentity:  # noqa: ARG002
        """Return the user's name in the database."""
        return {"name": name}

    def desired(self, name: str, spec: JsonObject, *, password: str) -> DatabaseUser:
        """Return the user that a spec describes."""
        return DatabaseUser(name, password, frozenset(spec.get("roles") or ()))

    def prepared(self, session: Session, desired: DatabaseUser) -> DatabaseUser:  # noqa: ARG002
        """Return the user unchanged: nothing has to be read from the server."""
        return desired

    def facts(
        self, session: Session, identity: UserIdentity
    ) -> DatabaseUserFacts | None:
        """Return the user and its roles as the server has them; None if there is no
        such user.
        """
        name = identity["name"]
        found = session.query(_USER, name=name)
        if not found:
            return None
        kind, authentication = found[0]
        rows = session.query(_MEMBER_OF, name=name)
        return DatabaseUserFacts(
            type=str(kind).strip(),
            authentication=str(authentication or ""),
            member_of=frozenset(str(row[0]) for row in rows),
        )

    def refusal(self, identity: UserIdentity, facts: DatabaseUserFacts | None) -> str:
        """Return why the operator must not manage a principal, or ""."""
        name = identity["name"].lower()
        if name in _RESERVED or name.startswith("##"):
            return "it is a principal of the database's own"
        if facts is not None and facts.type != _SQL_USER:
            return (
                f"it is no user with a password (type {facts.type!r} of "
                "sys.database_principals)"
            )
        return ""

    def is_user(self, identity: UserIdentity, name: str) -> bool:
        """Return whether an administrator's name means this user, compared without
        letter case.
        """
        return identity["name"].casefold() == name.casefold()

    def changes(
        self, desired: DatabaseUser, facts: DatabaseUserFacts | None
    ) -> Sequence[Statement]:
        """Return all statements for the user, including its password."""
        user = tsql_identifier(desired.name)
        verb = "CREATE" if facts is None else "ALTER"
        made = Statement.of(
            f"{verb} USER {user} WITH PASSWORD = ", Secret(tsql_text(desired.password))
        )
        return (made, *self._memberships(desired, facts))

    def differences(
        self, desired: DatabaseUser, facts: DatabaseUserFacts
    ) -> Sequence[Statement]:
        """Return the statements still needed, without the password, which cannot be
        read.
        """
        return self._memberships(desired, facts)

    def unread(
        self,
        desired: DatabaseUser,  # noqa: ARG002
        facts: DatabaseUserFacts,  # noqa: ARG002
    ) -> Sequence[str]:
        """Return the path of the password."""
        return ("localUser.password",)

    def rename(self, former: UserIdentity, now: UserIdentity) -> Sequence[Statement]:
        """Return the statements that rename the user; it keeps the objects that it
        owns.
        """
        old, new = tsql_identifier(former["name"]), tsql_identifier(now["name"])
        return (Statement.of(f"ALTER USER {old} WITH NAME = {new}"),)

    def drop(self, identity: UserIdentity) -> Sequence[Statement]:
        """Return the statements that drop the user; they fail if it owns a schema or
        role.
        """
        user = tsql_identifier(identity["name"])
        return (Statement.of(f"DROP USER IF EXISTS {user}"),)

    def _memberships(
        self, desired: DatabaseUser, facts: DatabaseUserFacts | None
    ) -> list[Statement]:
        """Return the statements for the roles; names are compared without
        letter case.
        """
        user = tsql_identifier(desired.name)
        had = {r.casefold(): r for r in (facts.member_of if facts else ())}
        want = {r.casefold(): r for r in desired.member_of}
        return [
            *(
                Statement.of(
                    f"ALTER ROLE {tsql_identifier(had[one])} DROP MEMBER {user}"
                )
                for one in sorted(had.keys() - want.keys())
            ),
            *(
                Statement.of(
                    f"ALTER ROLE {tsql_identifier(want[one])} ADD MEMBER {user}"
                )
                for one in sorted(want.keys() - had.keys())
            ),
        ]
