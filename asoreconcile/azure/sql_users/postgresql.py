"""Users of PostgreSQL: compute the statements for a role's spec. Pure.

A role's options are changed one by one: for some (REPLICATION) the server requires more
rights even if the statement only mentions them. Passwords are sent in the form in which
the server stores them, so that neither its log nor its statistics can show one.
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from typing import ClassVar

import attrs

from asoreconcile.azure.sql_users.quoting import ansi_identifier, postgresql_text
from asoreconcile.azure.sql_users.server import Session
from asoreconcile.azure.sql_users.statement import Secret, Statement
from asoreconcile.azure.sql_users.user import UserIdentity
from asoreconcile.base.objects import JsonObject

_OPTIONS = {
    "login": "LOGIN",
    "createRole": "CREATEROLE",
    "createDb": "CREATEDB",
    "replication": "REPLICATION",
}
_DEFAULTS = dict.fromkeys(_OPTIONS, False) | {"login": True}
_ITERATIONS = 4096
_ROLE = """
SELECT rolcanlogin, rolcreaterole, rolcreatedb, rolreplication, rolsuper
FROM pg_catalog.pg_roles WHERE rolname = :name
"""
_MEMBER_OF = """
SELECT DISTINCT granted.rolname
FROM pg_catalog.pg_auth_members AS membership
JOIN pg_catalog.pg_roles AS granted ON granted.oid = membership.roleid
JOIN pg_catalog.pg_roles AS member ON member.oid = membership.member
WHERE member.rolname = :name
"""


@attrs.frozen
class Role:
    """A role as its spec describes it. options: by the names of the spec."""

    name: str
    password: str = attrs.field(repr=False)
    options: Mapping[str, bool]
    member_of: frozenset[str]

    @property
    def identity(self) -> UserIdentity:
        """The role's identity on the server."""
        return {"name": self.name}


@attrs.frozen
class RoleFacts:
    """A role as the server has it."""

    options: Mapping[str, bool]
    member_of: frozenset[str]
    is_superuser: bool


class PostgreSql:
    """`dialect.Dialect` of PostgreSQL."""

    name: ClassVar[str] = "PostgreSQL"
    port: ClassVar[int] = 5432
    renames: ClassVar[bool] = True
    read_only: ClassVar[str] = "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY"

    def identity(self, name: str, spec: JsonObject) -> UserIdentity:  # noqa: ARG002
        """Return the role's name on the server."""
        return {"name": name}

    def desired(self, name: str, spec: JsonObject, *, password: str) -> Role:
        """Return the role that a spec describes."""
        stated = spec.get("roleOptions") or {}
        options = {o: bool(stated.get(o, default)) for o, default in _DEFAULTS.items()}
        return Role(name, password, options, frozenset(spec.get("roles") or ()))

    def prepared(self, session: Session, desired: Role) -> Role:
        """Return the role with its password in the form that the server stores."""
        ((method,),) = session.query("SHOW password_encryption")
        stored = stored_password(desired.name, desired.password, str(method))
        return attrs.evolve(desired, password=stored)

    def facts(self, session: Session, identity: UserIdentity) -> RoleFacts | None:
        """Return the role as the server has it; None if there is none."""
        found = session.query(_ROLE, name=identity["name"])
        if not found:
            return None
        *options, is_superuser = found[0]
        rows = session.query(_MEMBER_OF, name=identity["name"])
        names = ("login", "createRole", "createDb", "replication")
        return RoleFacts(
            options={n: bool(v) for n, v in zip(names, options, strict=True)},
            member_of=frozenset(str(row[0]) for row in rows),
            is_superuser=bool(is_superuser),
        )

    def refusal(self, identity: UserIdentity, facts: RoleFacts | None) -> str:
        """Return why the operator must not manage a role, or ""."""
        name = identity["name"]
        if name.startswith("pg_") or name in _RESERVED:
            return "it is a role of the server's own"
        if facts is not None and facts.is_superuser:
            return "it is a superuser"
        return ""

    def is_user(self, identity: UserIdentity, name: str) -> bool:
        """Return whether an administrator's name means this user."""
        return identity["name"] == name

    def changes(self, desired: Role, facts: RoleFacts | None) -> Sequence[Statement]:
        """Return all statements for the role, including its password."""
        role = ansi_identifier(desired.name)
        before = facts.options if facts is not None else _NEW
        options = [
            f" {'' if on else 'NO'}{_OPTIONS[name]}"
            for name, on in desired.options.items()
            if on != before[name]
        ]
        verb = "CREATE" if facts is None else "ALTER"
        made = Statement.of(
            f"{verb} ROLE {role} WITH{''.join(options)} PASSWORD ",
            Secret(postgresql_text(desired.password)),
        )
        return (made, *self._memberships(desired, facts))

    def differences(self, desired: Role, facts: RoleFacts) -> Sequence[Statement]:
        """Return the statements still needed, without the password, which cannot be
        read.
        """
        role = ansi_identifier(desired.name)
        options = [
            Statement.of(f"ALTER ROLE {role} WITH {'' if on else 'NO'}{_OPTIONS[name]}")
            for name, on in desired.options.items()
            if on != facts.options[name]
        ]
        return (*options, *self._memberships(desired, facts))

    def unread(self, desired: Role, facts: RoleFacts) -> Sequence[str]:  # noqa: ARG002
        """Return the path of the password."""
        return ("localUser.password",)

    def rename(self, former: UserIdentity, now: UserIdentity) -> Sequence[Statement]:
        """Return the statement that renames the role; it keeps its objects and
        memberships.
        """
        old, new = ansi_identifier(former["name"]), ansi_identifier(now["name"])
        return (Statement.of(f"ALTER ROLE {old} RENAME TO {new}"),)

    def drop(self, identity: UserIdentity) -> Sequence[Statement]:
        """Return the statement that drops the role; it fails if the role owns
        objects.
        """
        role = ansi_identifier(identity["name"])
        return (Statement.of(f"DROP ROLE IF EXISTS {role}"),)

    def _memberships(self, desired: Role, facts: RoleFacts | None) -> list[Statement]:
        role = ansi_identifier(desired.name)
        before = facts.member_of if facts is not None else frozenset()
        return [
            *(
                Statement.of(f"REVOKE {ansi_identifier(one)} FROM {role}")
                for one in sorted(before - desired.member_of)
            ),
            *(
                Statement.of(f"GRANT {ansi_identifier(one)} TO {role}")
                for one in sorted(desired.member_of - before)
            ),
        ]


# What CREATE ROLE gives where nothing is said.
_NEW = dict.fromkeys(_DEFAULTS, False)
_RESERVED = frozenset(
    {"azure_pg_admin", "azure_superuser", "azuresu", "none", "public", "replication"}
)


def stored_password(
    role: str, password: str, method: str, *, salt: bytes | None = None
) -> str:
    """Return a password as the server stores it: a SCRAM verifier, or for `md5` a
    digest.

    Raises ConditionError for a password that SCRAM does not accept.
    """
    if method == "md5":
        # The protocol's own form, which an old server asks for.
        return "md5" + hashlib.md5((password + role).encode()).hexdigest()  # noqa: S324
    import secrets

    salt = salt or secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", _prepared(password), salt, _ITERATIONS)
    client = hmac.digest(salted, b"Client Key", "sha256")
    stored = hashlib.sha256(client).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    parts = [base64.b64encode(part).decode() for part in (salt, stored, server)]
    return f"SCRAM-SHA-256${_ITERATIONS}:{parts[0]}${parts[1]}:{parts[2]}"


def _prepared(password: str) -> bytes:
    """Return the password after SASLprep, or unchanged if SASLprep refuses it, as libpq
    does.
    """
    if password.isascii():
        return password.encode()
    from scramp.utils import saslprep

    try:
        return str(saslprep(password)).encode()
    except Exception:  # noqa: BLE001 - of several types; the text has the password
        return password.encode()
