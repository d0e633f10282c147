"""Users of PostgreSQL: compute the statements for a role's spec. Pure.

A role's options are changed one by one: for some (REPLICATION) the server requires more
rights even if the statement only mentions them. Passwords are sent in the form in which
the server stores them, so that neither its log nor its
statistics can show one.
"""

import base64
import hashlib
import hmac
import secrets
import stringprep
import unicodedata
from collections.abc import Mapping, Sequence
from typing import ClassVar

import attrs

from asoreconcile.azure.arm.condition_error import unusable
from asoreconcile.azure.sql_users.dialect import Dialect, queries_of
from asoreconcile.azure.sql_users.quoting import ansi_identifier, postgresql_text
from asoreconcile.azure.sql_users.server import Session
from asoreconcile.azure.sql_users.statement import Secret, Statement
from asoreconcile.azure.sql_users.user import UserIdentity
from asoreconcile.base.objects import JsonObject

_QUERIES = queries_of("postgresql")
_ITERATIONS = 4096
_PROHIBITED = (
    stringprep.in_table_a1,
    stringprep.in_table_c12,
    stringprep.in_table_c21_c22,
    stringprep.in_table_c3,
    stringprep.in_table_c4,
    stringprep.in_table_c5,
    stringprep.in_table_c6,
    stringprep.in_table_c7,
    stringprep.in_table_c8,
    stringprep.in_table_c9,
)


def stored_password(
    role: str, password: str, method: str, *, salt: bytes | None = None
) -> str:
    """Return a password as the server stores it: a SCRAM verifier, or for `md5` a
    digest.
    """
    if method == "md5":
        # The protocol's own form, which an old server asks for.
        return "md5" + hashlib.md5((password + role).encode()).hexdigest()  # noqa: S324
    salt = salt or secrets.token_bytes(16)
    prepared = prepared_password(password).encode()
    salted = hashlib.pbkdf2_hmac("sha256", prepared, salt, _ITERATIONS)
    client = hmac.digest(salted, b"Client Key", "sha256")
    stored = hashlib.sha256(client).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    parts = [base64.b64encode(part).decode() for part in (salt, stored, server)]
    return f"SCRAM-SHA-256${_ITERATIONS}:{parts[0]}${parts[1]}:{parts[2]}"


def prepared_password(password: str) -> str:
    """Return the password as libpq and the server prepare it; unchanged if SASLprep
    refuses it.

    PostgreSQL differs from RFC 3454 in two ways: a space of another script becomes a
    space before characters are dropped (U+200B is both), and characters are prohibited
    before the normalization, not after it (U+0340 disappears by it).
    """
    if password.isascii():
        return password
    mapped = "".join(
        " " if stringprep.in_table_c12(c) else c
        for c in password
        if stringprep.in_table_c12(c) or not stringprep.in_table_b1(c)
    )
    if not mapped or any(refuses(c) for c in mapped for refuses in _PROHIBITED):
        return password
    if any(map(stringprep.in_table_d1, mapped)):
        ends = mapped[0], mapped[-1]
        if any(map(stringprep.in_table_d2, mapped)) or not all(
            map(stringprep.in_table_d1, ends)
        ):
            return password
    return unicodedata.normalize("NFKC", mapped)


_OPTIONS = {
    "login": "LOGIN",
    "createRole": "CREATEROLE",
    "createDb": "CREATEDB",
    "replication": "REPLICATION",
}
_DEFAULTS = dict.fromkeys(_OPTIONS, False) | {"login": True}
_POWERFUL_OPTIONS = ("createRole", "replication")
_MOST_NAME_BYTES = 63
# Roles whose members can become the server's operating system user or an administrator.
_POWERFUL_ROLES = frozenset(
    {
        *("azure_pg_admin", "azure_superuser", "pg_execute_server_program"),
        *("pg_read_server_files", "pg_write_server_files"),
    }
)


@attrs.frozen
class Role:
    """A role as its spec describes it. options: options by their names in the spec."""

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
    """The facts about a role on the server, see `Dialect.facts`. server_id: oid of the
    role.
    """

    options: Mapping[str, bool]
    member_of: frozenset[str]
    is_superuser: bool
    server_id: str = ""
    name: str = ""
    bypasses_rls: bool = False
    is_signed_in: bool = False
    barred: str = ""


class PostgreSql(Dialect):
    """The dialect of PostgreSQL."""

    name: ClassVar[str] = "PostgreSQL"
    port: ClassVar[int] = 5432
    renames: ClassVar[bool] = True
    read_only: ClassVar[str] = "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY"

    def kept(self, name: str) -> bytes:
        """Return a name, cut at the server's limit. The server compares names byte by
        byte.
        """
        return _kept(name)

    def desired(self, name: str, spec: JsonObject, *, password: str) -> Role:
        """Return the role that a spec describes. Raises ConditionError for a name that
        is too long.
        """
        stated = spec.get("roleOptions") or {}
        options = {o: bool(stated.get(o, default)) for o, default in _DEFAULTS.items()}
        roles = frozenset(spec.get("roles") or ())
        for one in (name, *sorted(roles)):
            _require_kept(one)
        return Role(name, password, options, roles)

    def prepared(self, session: Session, desired: Role) -> Role:
        """Return the role with its password in the form that the server stores."""
        ((method,),) = session.query("SHOW password_encryption")
        stored = stored_password(desired.name, desired.password, str(method))
        return attrs.evolve(desired, password=stored)

    def facts(self, session: Session, identity: UserIdentity) -> RoleFacts | None:
        """Return the role as the server has it; None if there is none."""
        found = session.query(_QUERIES["role"], name=identity["name"])
        if not found:
            return None
        oid, login, *others = found[0]
        options, rest = (login, *others[:3]), others[3:]
        is_superuser, bypasses_rls, is_signed_in, is_limited, is_expired = rest
        rows = session.query(_QUERIES["member_of"], name=identity["name"])
        names = ("login", "createRole", "createDb", "replication")
        barred = ""
        if login and is_limited:
            barred = "its connection limit is 0 (ALTER ROLE ... CONNECTION LIMIT)"
        if login and is_expired:
            barred = "its password has expired (ALTER ROLE ... VALID UNTIL)"
        return RoleFacts(
            options={n: bool(v) for n, v in zip(names, options, strict=True)},
            member_of=frozenset(str(row[0]) for row in rows),
            is_superuser=bool(is_superuser),
            server_id=str(oid),
            name=identity["name"],
            bypasses_rls=bool(bypasses_rls),
            is_signed_in=bool(is_signed_in),
            barred=barred,
        )

    def refusal(self, identity: UserIdentity, facts: RoleFacts | None) -> str:
        """Return why the operator must never manage a role, or ""."""
        name = identity["name"]
        if name.startswith("pg_") or name in _RESERVED:
            return "it is a role of the server's own"
        if facts is not None and facts.is_superuser:
            return "it is a superuser"
        return ""

    def powers(
        self, session: Session, desired: Role, facts: RoleFacts, *, unasked: bool
    ) -> str:
        """Return the options and memberships by which a role is an administrator, or
        "".
        """
        found = [
            _OPTIONS[name]
            for name in _POWERFUL_OPTIONS
            if facts.options[name] and not (unasked and desired.options[name])
        ]
        if facts.bypasses_rls:
            found.append("BYPASSRLS")
        via = sorted(
            {
                str(via)
                for via, name, is_powerful in session.query(
                    _QUERIES["above"], name=facts.name
                )
                if (is_powerful or name in _POWERFUL_ROLES)
                and not (unasked and via in desired.member_of)
            }
        )
        found += [f"membership of {name}" for name in via]
        return ", ".join(found)

    def create(self, desired: Role) -> Statement:
        """Return the statement that creates the role with its password."""
        login = "LOGIN " if desired.options["login"] else ""
        start = f"CREATE ROLE {ansi_identifier(desired.name)} WITH {login}PASSWORD "
        return Statement.of(start, Secret(postgresql_text(desired.password)))

    def created(self, desired: Role) -> RoleFacts:
        """Return the facts of the role right after its creation."""
        options = dict.fromkeys(_DEFAULTS, False) | {"login": desired.options["login"]}
        return RoleFacts(options, frozenset(), is_superuser=False, name=desired.name)

    def passwords(self, desired: Role) -> Sequence[Statement]:
        """Return the statement that sets the password."""
        start = f"ALTER ROLE {ansi_identifier(desired.name)} WITH PASSWORD "
        return (Statement.of(start, Secret(postgresql_text(desired.password))),)

    def differences(self, desired: Role, facts: RoleFacts) -> Sequence[Statement]:
        """Return the statements that are still needed, without the password."""
        role = ansi_identifier(desired.name)
        changed = [
            word if desired.options[name] else f"NO{word}"
            for name, word in _OPTIONS.items()
            if desired.options[name] != facts.options[name]
        ]
        return (
            *(Statement.of(f"ALTER ROLE {role} WITH {word}") for word in changed),
            *(
                Statement.of(f"REVOKE {ansi_identifier(one)} FROM {role}")
                for one in sorted(facts.member_of - desired.member_of)
            ),
            *(
                Statement.of(f"GRANT {ansi_identifier(one)} TO {role}")
                for one in sorted(desired.member_of - facts.member_of)
            ),
        )

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


_RESERVED = frozenset(
    {"azure_pg_admin", "azure_superuser", "azuresu", "none", "public", "replication"}
)


def _kept(name: str) -> bytes:
    """Return the bytes of a name that the server stores."""
    return name.encode()[:_MOST_NAME_BYTES]


def _require_kept(name: str) -> None:
    if len(name.encode()) > _MOST_NAME_BYTES:
        cut = _kept(name).decode(errors="ignore")
        raise unusable(
            f"{name!r} has more than {_MOST_NAME_BYTES} bytes: PostgreSQL would keep "
            f"{cut!r} of it, which is another name"
        )
