"""Users of a database of Azure SQL: compute the statements for a spec. Pure.

They are contained users: each belongs to one database, without a login of the server.
"""

from collections.abc import Sequence
from typing import ClassVar

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass, unusable
from asoreconcile.azure.sql_users.dialect import Dialect, queries_of
from asoreconcile.azure.sql_users.quoting import (
    tsql_identifier,
    tsql_text,
)
from asoreconcile.azure.sql_users.server import Session
from asoreconcile.azure.sql_users.statement import Secret, Statement
from asoreconcile.azure.sql_users.user import UserIdentity
from asoreconcile.base.objects import JsonObject

_QUERIES = queries_of("azure_sql")
_MOST_NAME_CHARACTERS = 128
_POWERFUL_ROLES = frozenset({"db_accessadmin", "db_owner", "db_securityadmin"})
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
    """The facts about a principal in the database, see `Dialect.facts`.

    type: `S` is a user with a password. server_id: its security identifier.
    has_power: whether it may control the database, its users or its roles.
    """

    type: str
    authentication: str
    member_of: frozenset[str]
    name: str = ""
    server_id: str = ""
    is_signed_in: bool = False
    barred: str = ""
    has_power: bool = False


class AzureSql(Dialect):
    """The dialect of Azure SQL."""

    name: ClassVar[str] = "Azure SQL"
    port: ClassVar[int] = 1433

    def kept(self, name: str) -> str:
        """Return a name in lower case and without blanks at the end, as the server
        compares names.

        A database with another collation may tell such names apart.
        """
        return name.rstrip(" ").casefold()

    def desired(self, name: str, spec: JsonObject, *, password: str) -> DatabaseUser:
        """Return the user that a spec describes. Raises ConditionError for a name that
        the server would change.
        """
        if name != name.rstrip(" ") or len(name) > _MOST_NAME_CHARACTERS:
            raise unusable(
                f"{name!r} ends with a blank or has more than {_MOST_NAME_CHARACTERS} "
                "characters: Azure SQL would keep another name"
            )
        return DatabaseUser(name, password, frozenset(spec.get("roles") or ()))

    def facts(
        self, session: Session, identity: UserIdentity
    ) -> DatabaseUserFacts | None:
        """Return the user and its roles as the server has them; None if there is no
        such user.

        Raises ConditionError if the database hides users from the operator.
        """
        name = identity["name"]
        found = session.query(_QUERIES["user"], name=name)
        if not found:
            ((sees_users,),) = session.query(_QUERIES["sees_users"])
            if not sees_users:
                raise ConditionError(
                    "the database hides its users from the one that the operator signs "
                    "in as, so it cannot be known whether the user exists: GRANT ALTER "
                    "ANY USER to the one that signs in",
                    reason="RefusedByServer",
                    retry=RetryClass.SLOW,
                )
            return None
        kind, authentication, kept, sid, is_signed_in, connects, has_power = found[0]
        rows = session.query(_QUERIES["member_of"], name=name)
        lacks = "it lacks the permission to connect (GRANT CONNECT TO ...)"
        return DatabaseUserFacts(
            type=str(kind).strip(),
            authentication=str(authentication or ""),
            member_of=frozenset(str(row[0]) for row in rows),
            name=str(kept),
            server_id=str(sid),
            is_signed_in=bool(is_signed_in),
            barred="" if connects else lacks,
            has_power=bool(has_power),
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

    def powers(
        self,
        session: Session,
        desired: DatabaseUser,
        facts: DatabaseUserFacts,
        *,
        unasked: bool,
    ) -> str:
        """Return the roles and permissions that make a user an administrator, or "".

        unasked: leave out memberships in the roles that the object declares.
        """
        asked = {r.casefold() for r in desired.member_of} if unasked else set()
        via = {
            str(via)
            for via, name in session.query(_QUERIES["above"], name=facts.name)
            if str(name).casefold() in _POWERFUL_ROLES
            and str(via).casefold() not in asked
        }
        found = [f"membership of {name}" for name in sorted(via)]
        if facts.has_power:
            found.append("CONTROL, ALTER ANY USER or ALTER ANY ROLE")
        return ", ".join(found)

    def create(self, desired: DatabaseUser) -> Statement:
        """Return the statement that creates the user with its password."""
        return _with_password("CREATE", desired)

    def created(self, desired: DatabaseUser) -> DatabaseUserFacts:
        """Return the facts of the user right after its creation."""
        return DatabaseUserFacts(_SQL_USER, "DATABASE", frozenset(), name=desired.name)

    def passwords(self, desired: DatabaseUser) -> Sequence[Statement]:
        """Return the statement that sets the password."""
        return (_with_password("ALTER", desired),)

    def differences(
        self, desired: DatabaseUser, facts: DatabaseUserFacts
    ) -> Sequence[Statement]:
        """Return the statements still needed, without the password, which cannot be
        read.
        """
        return self._memberships(desired, facts)

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
        self, desired: DatabaseUser, facts: DatabaseUserFacts
    ) -> list[Statement]:
        """Return the statements for the roles; names are compared without
        letter case.
        """
        user = tsql_identifier(desired.name)
        had = {r.casefold(): r for r in facts.member_of}
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


def _with_password(verb: str, desired: DatabaseUser) -> Statement:
    user = tsql_identifier(desired.name)
    password = Secret(tsql_text(desired.password))
    return Statement.of(f"{verb} USER {user} WITH PASSWORD = ", password)
