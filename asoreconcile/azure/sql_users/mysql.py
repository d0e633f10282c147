"""Users of MySQL: compute the statements for an account's spec. Pure.

An account is a name and a host. A user of Entra ID is created by Azure's own statement,
for any host, and has its alias as its name if there is one.
"""

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

import attrs

from asoreconcile.azure.arm.condition_error import unusable
from asoreconcile.azure.sql_users.dialect import Dialect, queries_of
from asoreconcile.azure.sql_users.quoting import mysql_account, mysql_identifier, text
from asoreconcile.azure.sql_users.server import Session
from asoreconcile.azure.sql_users.statement import Secret, Statement
from asoreconcile.azure.sql_users.user import UserIdentity
from asoreconcile.base.objects import JsonObject

_QUERIES = queries_of("mysql")
_ANYWHERE = "%"
_ALL = "ALL PRIVILEGES"
_GRANT_OPTION = "GRANT OPTION"
_PRIVILEGE = re.compile(r"[A-Z][A-Z_]*( [A-Z_]+)*")
# On the whole server, in the keys of `Account.privileges`.
_SERVER = ""
_ENTRA_PLUGINS = frozenset({"aad_auth"})
_SERVER_FACTS = "SELECT VERSION(), CURRENT_USER(), @@lower_case_table_names"
_MARIADB = "mariadb"
# Rights on the whole server with which an account can make itself any other one.
_POWERS = frozenset(
    {
        *(_ALL, _GRANT_OPTION, "CREATE USER", "FILE", "SET USER", "SUPER"),
        *("ROLE_ADMIN", "SET_ANY_DEFINER", "SET_USER_ID", "SYSTEM_USER"),
        *("SYSTEM_VARIABLES_ADMIN", "READ_ONLY ADMIN", "CONNECTION ADMIN"),
    }
)
# A role may be granted to a role, and so on.
_MOST_ROLES = 100
_RESERVED = frozenset(
    {
        *("azure_superuser", "mariadb.sys", "mysql", "mysql.infoschema"),
        *("mysql.session", "mysql.sys", "root"),
    }
)


@attrs.frozen
class Account:
    """An account as its spec describes it.

    entra: the name of its user in Entra ID; "" for an account with a password.
    privileges: privileges by database; "" for the whole server.
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
    """The facts about an account on the server, see `Dialect.facts`."""

    plugin: str
    privileges: Mapping[str, frozenset[str]]
    name: str = ""
    host: str = ""
    is_signed_in: bool = False
    barred: str = ""
    server_id: str = ""  # MySQL identifies accounts by name and host only


class MySql(Dialect):
    """The dialect of MySQL."""

    name: ClassVar[str] = "MySQL"
    port: ClassVar[int] = 3306
    read_only: ClassVar[str] = "SET SESSION TRANSACTION READ ONLY"

    def identity(self, name: str, spec: JsonObject) -> UserIdentity:
        """Return name and host; for a user of Entra ID the alias."""
        entra = spec.get("aadUser")
        if entra is not None:
            return {"name": str(entra.get("alias") or name), "host": _ANYWHERE}
        host = str(spec.get("hostname") or _ANYWHERE).lower()  # as the server has it
        return {"name": name, "host": host}

    def is_same(self, one: UserIdentity, other: UserIdentity) -> bool:
        """Return whether two identities are one account: the server drops blanks at the
        end, and compares hosts without letter case.
        """
        hosts = [each["host"].rstrip(" ").lower() for each in (one, other)]
        return super().is_same(one, other) and hosts[0] == hosts[1]

    def kept(self, name: str) -> str:
        """Return a name without blanks at the end, as the server compares names."""
        return name.rstrip(" ")

    def desired(self, name: str, spec: JsonObject, *, password: str) -> Account:
        """Return the account that a spec describes.

        Raises ConditionError for a bad privilege, and for a name that the server would
        change.
        """
        given = {_SERVER: spec.get("privileges") or ()}
        given.update(spec.get("databasePrivileges") or {})
        identity = self.identity(name, spec)
        for one in (*identity.values(), *given):
            _require_kept(one)
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

    def prepared(self, session: Session, desired: Account) -> Account:
        """Return the account with names of databases as the server keeps them
        (`lower_case_table_names`).
        """
        ((_, _, folds),) = session.query(_SERVER_FACTS)
        if not int(folds):
            return desired
        merged: dict[str, frozenset[str]] = {}
        for place, privileges in desired.privileges.items():
            kept = place.lower()
            merged[kept] = merged.get(kept, frozenset()) | privileges
        return attrs.evolve(desired, privileges=merged)

    def facts(self, session: Session, identity: UserIdentity) -> AccountFacts | None:
        """Return the account as the server has it; None if there is none."""
        ((version, signed_in, _),) = session.query(_SERVER_FACTS)
        found = session.query(
            _query("account", version),
            name=identity["name"],
            host=identity["host"],
        )
        if not found:
            return None
        name, host, plugin, is_locked, is_expired, is_limited = found[0]
        barred = ""
        if _is_on(is_limited):
            barred = "its limit of connections keeps it out (MAX_USER_CONNECTIONS)"
        if _is_on(is_expired):
            barred = "its password has expired (ALTER USER ... PASSWORD EXPIRE)"
        if _is_on(is_locked):
            barred = "it is locked (ALTER USER ... ACCOUNT UNLOCK unlocks it)"
        return AccountFacts(
            plugin=str(plugin or ""),
            privileges=_granted(session, str(name), str(host)),
            name=str(name),
            host=str(host),
            is_signed_in=f"{name}@{host}" == str(signed_in),
            barred=barred,
        )

    def refusal(self, identity: UserIdentity, facts: AccountFacts | None) -> str:  # noqa: ARG002
        """Return why the operator must not manage an account, or ""."""
        if identity["name"].lower() in _RESERVED:
            return "it is an account of the server's own"
        return ""

    def powers(
        self, session: Session, desired: Account, facts: AccountFacts, *, unasked: bool
    ) -> str:
        """Return the rights by which an account is an administrator, its own or those
        of its roles; "" if it has none.
        """
        asked = desired.privileges.get(_SERVER, frozenset()) if unasked else ()
        own = _POWERS & facts.privileges.get(_SERVER, frozenset())
        if _ALL not in asked:
            own = own - set(asked)
        elif _GRANT_OPTION not in asked:
            own = own & {_GRANT_OPTION}
        else:
            own = frozenset()
        found = sorted(own)
        ((version, _, _),) = session.query(_SERVER_FACTS)
        query = _query("roles", version)
        waiting, seen = [(facts.name, facts.host)], {(facts.name, facts.host)}
        while waiting and len(seen) < _MOST_ROLES:
            name, host = waiting.pop()
            for role in session.query(query, name=name, host=host):
                above = (str(role[0]), str(role[1]))
                if above in seen:
                    continue
                seen.add(above)
                waiting.append(above)
                held = _granted(session, *above).get(_SERVER, frozenset())
                rows = session.query(
                    _QUERIES["role_powers"], name=above[0], host=above[1]
                )
                if _POWERS & held or any(_is_on(row[0]) for row in rows):
                    found.append(f"role {above[0]}")
        return ", ".join(found)

    def create(self, desired: Account) -> Statement:
        """Return the statement that creates the account, with its password."""
        if desired.entra:
            alias = f" AS {text(desired.name)}" if desired.name != desired.entra else ""
            return Statement.of(f"CREATE AADUSER {text(desired.entra)}{alias}")
        account = mysql_account(desired.name, desired.host)
        start = f"CREATE USER {account} IDENTIFIED BY "
        return Statement.of(start, Secret(text(desired.password)))

    def created(self, desired: Account) -> AccountFacts:
        """Return the facts of the account right after its creation."""
        plugin = next(iter(_ENTRA_PLUGINS)) if desired.entra else ""
        return AccountFacts(plugin, {}, name=desired.name, host=desired.host)

    def passwords(self, desired: Account) -> Sequence[Statement]:
        """Return the statement that sets the password; none for a user of Entra ID."""
        if desired.entra:
            return ()
        account = mysql_account(desired.name, desired.host)
        start = f"ALTER USER {account} IDENTIFIED BY "
        return (Statement.of(start, Secret(text(desired.password))),)

    def differences(self, desired: Account, facts: AccountFacts) -> Sequence[Statement]:
        """Return the statements still needed, without the password, which cannot be
        read.

        Raises ConditionError if an account of the other type has the name.
        """
        is_entra = facts.plugin in _ENTRA_PLUGINS
        if is_entra != bool(desired.entra):
            has, wants = ("Entra ID", "a password")[:: 1 if is_entra else -1]
            raise unusable(
                f"{mysql_account(desired.name, desired.host)} signs in with {has}, and "
                f"the spec wants {wants}: a user stays of its type; drop it by hand, "
                "or choose another name"
            )
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

    def _grants(self, desired: Account, facts: AccountFacts) -> list[Statement]:
        account = mysql_account(desired.name, desired.host)
        before = facts.privileges
        said: list[Statement] = []
        for place in sorted({*before, *desired.privileges}):
            had = before.get(place, frozenset())
            want = desired.privileges.get(place, frozenset())
            # ALL includes every privilege of a place except GRANT OPTION.
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


def _granted(session: Session, name: str, host: str) -> Mapping[str, frozenset[str]]:
    """Return the privileges of an account or role by database."""
    grantee = f"'{name}'@'{host}'"
    privileges: dict[str, set[str]] = {}
    for whose, place, granted, grantable in session.query(
        _QUERIES["granted"], grantee=grantee
    ):
        if whose != grantee:
            continue  # these views compare letter case aside, accounts do not
        held = privileges.setdefault(str(place), set())
        if granted:
            held.add(str(granted).upper())
        if grantable == "YES":
            held.add(_GRANT_OPTION)
    return {place: frozenset(found) for place, found in privileges.items()}


def _query(name: str, version: object) -> str:
    """Return the query of a name for the version of a server, which names MariaDB."""
    return _QUERIES[f"{name}_of_mariadb" if _MARIADB in str(version).lower() else name]


def _is_on(value: object) -> bool:
    """Return whether a truth value of the server, a number or text, is true."""
    return str(value) not in ("0", "", "None")


def _require_kept(name: str) -> None:
    if name != name.rstrip(" "):
        raise unusable(
            f"{name!r} ends with a blank: MySQL would keep {name.rstrip(' ')!r} of it, "
            "which is another name"
        )


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
