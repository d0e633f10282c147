"""Users of MySQL: compute the statements for an account's spec. Pure.

An account is a name and a host. A user of Entra ID is created by Azure's own statement,
for any host, and has its alias as its name if there is one.
"""

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

import attrs

from asoreconcile.azure.sql_users.quoting import (
    mysql_account,
    mysql_identifier,
    text,
    unusable,
)
from asoreconcile.azure.sql_users.server import Session
from asoreconcile.azure.sql_users.statement import Secret, Statement
from asoreconcile.azure.sql_users.user import UserIdentity
from asoreconcile.base.objects import JsonObject

_ANYWHERE = "%"
_ALL = "ALL PRIVILEGES"
_GRANT_OPTION = "GRANT OPTION"
_PRIVILEGE = re.compile(r"[A-Z][A-Z_]*( [A-Z_]+)*")
# On the whole server, in the keys of `Account.privileges`.
_SERVER = ""
_ENTRA_PLUGINS = frozenset({"aad_auth"})
_ACCOUNT = """
SELECT plugin FROM mysql.user WHERE User = :name AND Host = :host
"""
_GRANTED = """
SELECT grantee, '', privilege_type, is_grantable
FROM information_schema.user_privileges
WHERE grantee = :grantee AND privilege_type <> 'USAGE'
UNION ALL
SELECT grantee, table_schema, privilege_type, is_grantable
FROM information_schema.schema_privileges WHERE grantee = :grantee
UNION ALL
SELECT grantee, '', '', is_grantable
FROM information_schema.user_privileges
WHERE grantee = :grantee AND privilege_type = 'USAGE'
"""
_RESERVED = frozenset(
    {
        *("azure_superuser", "mariadb.sys", "mysql", "mysql.infoschema"),
        *("mysql.session", "mysql.sys", "root"),
    }
)


@attrs.frozen
class Account:
    """An account as its spec describes it.

    entra: the name of its user in Entra ID; "" for one with a password.
    privileges: by database; "" is the whole server.
    """

    name: str
    host: str
    password: str = attrs.field(repr=False)
    entra: str
    privileges: Mapping[str, frozenset[str]]

    @property
    def identity(self) -> UserIdentity:
        """The account's identity on the server."""
        return {"name": self.name, "host": self.host}


@attrs.frozen
class AccountFacts:
    """An account as the server has it."""

    plugin: str
    privileges: Mapping[str, frozenset[str]]


class MySql:
    """`dialect.Dialect` of MySQL."""

    name: ClassVar[str] = "MySQL"
    port: ClassVar[int] = 3306
    renames: ClassVar[bool] = False
    read_only: ClassVar[str] = "SET SESSION TRANSACTION READ ONLY"

    def identity(self, name: str, spec: JsonObject) -> UserIdentity:
        """Return name and host; for a user of Entra ID the alias."""
        entra = spec.get("aadUser")
        if entra is not None:
            return {"name": str(entra.get("alias") or name), "host": _ANYWHERE}
        host = str(spec.get("hostname") or _ANYWHERE).lower()  # as the server has it
        return {"name": name, "host": host}

    def desired(self, name: str, spec: JsonObject, *, password: str) -> Account:
        """Return the account that a spec describes. Raises ConditionError for a bad
        privilege.
        """
        given = {_SERVER: spec.get("privileges") or ()}
        given.update(spec.get("databasePrivileges") or {})
        identity = self.identity(name, spec)
        return Account(
            name=identity["name"],
            host=identity["host"],
            password=password,
            entra=name if spec.get("aadUser") is not None else "",
            privileges={
                place: frozenset(map(privilege, names or ()))
                for place, names in given.items()
            },
        )

    def prepared(self, session: Session, desired: Account) -> Account:  # noqa: ARG002
        """Return the account unchanged: nothing has to be read from the server."""
        return desired

    def facts(self, session: Session, identity: UserIdentity) -> AccountFacts | None:
        """Return the account as the server has it; None if there is none."""
        name, host = identity["name"], identity["host"]
        found = session.query(_ACCOUNT, name=name, host=host)
        if not found:
            return None
        grantee = f"'{name}'@'{host}'"
        privileges: dict[str, set[str]] = {}
        for whose, place, granted, grantable in session.query(
            _GRANTED, grantee=grantee
        ):
            if whose != grantee:
                continue  # these views compare letter case aside, accounts do not
            held = privileges.setdefault(str(place), set())
            if granted:
                held.add(str(granted).upper())
            if grantable == "YES":
                held.add(_GRANT_OPTION)
        return AccountFacts(
            plugin=str(found[0][0] or ""),
            privileges={place: frozenset(p) for place, p in privileges.items()},
        )

    def refusal(self, identity: UserIdentity, facts: AccountFacts | None) -> str:  # noqa: ARG002
        """Return why the operator must not manage an account, or ""."""
        if identity["name"].lower() in _RESERVED:
            return "it is an account of the server's own"
        return ""

    def is_user(self, identity: UserIdentity, name: str) -> bool:
        """Return whether an administrator's name means this account."""
        return identity["name"] == name

    def changes(
        self, desired: Account, facts: AccountFacts | None
    ) -> Sequence[Statement]:
        """Return all statements for the account, including its password.

        Raises ConditionError if an account of the other type has the name.
        """
        account = mysql_account(desired.name, desired.host)
        is_entra = facts is not None and facts.plugin in _ENTRA_PLUGINS
        if facts is not None and is_entra != bool(desired.entra):
            has, wants = ("Entra ID", "a password")[:: 1 if is_entra else -1]
            raise unusable(
                f"{account} signs in with {has}, and the spec wants {wants}: a user "
                "stays of its type; drop it by hand, or choose another name"
            )
        made: tuple[Statement, ...] = ()
        if not desired.entra:
            verb = "CREATE" if facts is None else "ALTER"
            start = f"{verb} USER {account} IDENTIFIED BY "
            made = (Statement.of(start, Secret(text(desired.password))),)
        elif facts is None:
            alias = f" AS {text(desired.name)}" if desired.name != desired.entra else ""
            made = (Statement.of(f"CREATE AADUSER {text(desired.entra)}{alias}"),)
        return (*made, *self._grants(desired, facts))

    def differences(self, desired: Account, facts: AccountFacts) -> Sequence[Statement]:
        """Return the statements still needed, without the password, which cannot be
        read.
        """
        given = {
            place: (names - {_ALL}) | _held(facts, place)
            if self._has_some_of_all(desired, facts, place)
            else names
            for place, names in desired.privileges.items()
        }
        return self._grants(attrs.evolve(desired, privileges=given), facts)

    def unread(self, desired: Account, facts: AccountFacts) -> Sequence[str]:
        """Return the paths of the password, and of each ALL that cannot be verified.

        The server lists the privileges, but not whether they are all.
        """
        secret = () if desired.entra else ("localUser.password",)
        places = (
            f"databasePrivileges.{place}" if place else "privileges"
            for place in sorted(desired.privileges)
            if self._has_some_of_all(desired, facts, place)
        )
        return (*secret, *places)

    def rename(self, former: UserIdentity, now: UserIdentity) -> Sequence[Statement]:
        """Return the statement that changes the host of the account; privileges
        stay.
        """
        old = mysql_account(former["name"], former["host"])
        new = mysql_account(now["name"], now["host"])
        return (Statement.of(f"RENAME USER {old} TO {new}"),)

    def drop(self, identity: UserIdentity) -> Sequence[Statement]:
        """Return the statement that drops the account at its host."""
        account = mysql_account(identity["name"], identity["host"])
        return (Statement.of(f"DROP USER IF EXISTS {account}"),)

    def _has_some_of_all(
        self, desired: Account, facts: AccountFacts, place: str
    ) -> bool:
        return _ALL in desired.privileges[place] and bool(_held(facts, place))

    def _grants(self, desired: Account, facts: AccountFacts | None) -> list[Statement]:
        account = mysql_account(desired.name, desired.host)
        before = facts.privileges if facts is not None else {}
        said: list[Statement] = []
        for place in sorted({*before, *desired.privileges}):
            had = before.get(place, frozenset())
            want = desired.privileges.get(place, frozenset())
            # All there are of a place but the right to give them on.
            kept = had - {_GRANT_OPTION} if _ALL in want else frozenset()
            on = "*.*" if place == _SERVER else f"{mysql_identifier(place)}.*"
            if gone := sorted(had - want - kept):
                said.append(
                    Statement.of(f"REVOKE {', '.join(gone)} ON {on} FROM {account}")
                )
            if new := sorted(want - had):
                said.append(
                    Statement.of(f"GRANT {', '.join(new)} ON {on} TO {account}")
                    if new != [_ALL] and _ALL not in new
                    else Statement.of(f"GRANT {_ALL} ON {on} TO {account}")
                )
                if _ALL in new and _GRANT_OPTION in new:
                    said.append(
                        Statement.of(f"GRANT {_GRANT_OPTION} ON {on} TO {account}")
                    )
        return said


def _held(facts: AccountFacts, place: str) -> frozenset[str]:
    """Return the privileges of an account at a place, without the right to
    grant them.
    """
    return facts.privileges.get(place, frozenset()) - {_GRANT_OPTION}


def privilege(stated: str) -> str:
    """Return a privilege as the server writes it. Raises ConditionError for other
    texts.

    Only words may be part of a statement.
    """
    name = " ".join(str(stated).upper().split())
    if name == "ALL":
        name = _ALL
    if not _PRIVILEGE.fullmatch(name):
        raise unusable(
            f"{stated!r} is no privilege: they are words such as SELECT or CREATE VIEW"
        )
    return name
