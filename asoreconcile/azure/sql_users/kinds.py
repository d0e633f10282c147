"""The three kinds of users: each with its dialect, driver and sign-in."""

import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from typing import Any

from asoreconcile.azure.arm.condition_error import unusable
from asoreconcile.azure.catalogue.kinds import Catalogue
from asoreconcile.azure.catalogue.names import azure_name
from asoreconcile.azure.reconcile.model.owner import owner_target, waiting
from asoreconcile.azure.sql_users.addresses import ServerAddresses
from asoreconcile.azure.sql_users.azure_sql import AzureSql
from asoreconcile.azure.sql_users.lookups import UserKind, UserLookups
from asoreconcile.azure.sql_users.mysql import MySql
from asoreconcile.azure.sql_users.planning import FindLookups, UserPlanner
from asoreconcile.azure.sql_users.postgresql import PostgreSql
from asoreconcile.azure.sql_users.resource import DatabaseUsers
from asoreconcile.azure.sql_users.server import DatabaseServer, Session, SignIn
from asoreconcile.azure.sql_users.sessions import Sessions
from asoreconcile.base import tls
from asoreconcile.base.clock import Clock
from asoreconcile.base.fencing import Fence
from asoreconcile.base.objects import GroupKind, JsonObject, gvk_of, key_of, spec

_MAX_PORT = 65_535


def server_of(lookups: UserLookups, *, port: int, database: str) -> DatabaseServer:
    """Return the server of a user whose owner is the server.

    database: the database to sign in to.

    Raises ConditionError `WaitingForOwner` while the server has no address.
    """
    return DatabaseServer(*_address(lookups, _owner(lookups), port), database)


def database_of(lookups: UserLookups, *, port: int) -> DatabaseServer:
    """Return the server of a user whose owner is a database. Raises as `server_of`."""
    database = _owner(lookups)
    catalogue = lookups.catalogue
    version = catalogue.version(gvk_of(database))
    owner = owner_target(version, database)
    if owner is None:
        raise unusable(
            f"the database {key_of(database).name!r} names its server by armId: give "
            "it a server of this namespace by name, which knows its address"
        )
    server = lookups.find(*owner)
    if server is None:
        what = f"{owner.group_kind.kind} {owner.key.name!r}"
        raise waiting(f"{what}, the owner of the database, is not there")
    return DatabaseServer(*_address(lookups, server, port), _name(catalogue, database))


def _owner(lookups: UserLookups) -> JsonObject:
    owner = lookups.owner()
    if owner is None:
        raise unusable("spec.owner must name an object of this namespace")
    return owner


def _name(catalogue: Catalogue, database: JsonObject) -> str:
    return azure_name(catalogue.version(gvk_of(database)), database)


def _address(lookups: UserLookups, server: JsonObject, port: int) -> tuple[str, int]:
    host = str(lookups.status(server).get("fullyQualifiedDomainName") or "")
    if not host:
        raise waiting(
            f"{server.get('kind')} {key_of(server).name!r} has no "
            "status.fullyQualifiedDomainName yet: Azure reports it once it is made"
        )
    name, colon, stated = host.partition(":")
    if colon and stated.isdigit() and 0 < int(stated) <= _MAX_PORT:
        return name, int(stated)
    return host, port


_POSTGRESQL_DATABASE = "postgres"
_MYSQL_DATABASE = "mysql"
# The audience of a token for a MySQL server, by the cloud of the server.
ENTRA_SCOPES = {
    ".mysql.database.azure.com": "https://ossrdbms-aad.database.windows.net/.default",
    ".mysql.database.chinacloudapi.cn": (
        "https://ossrdbms-aad.database.chinacloudapi.cn/.default"
    ),
    ".mysql.database.usgovcloudapi.net": (
        "https://ossrdbms-aad.database.usgovcloudapi.net/.default"
    ),
}


MakeContext = Callable[[], ssl.SSLContext]
"""Makes what servers are verified by; called once, when it is needed."""


def postgresql_kind(trust: MakeContext = tls.client_context) -> UserKind:
    """Return the kind for PostgreSQL. trust: makes the TLS context that verifies
    servers.
    """

    def connect(server: DatabaseServer, sign_in: SignIn) -> Session:
        from asoreconcile.azure.sql_users.drivers import postgresql

        return postgresql.connect(server, sign_in, context())

    context = cache(trust)
    dialect = PostgreSql()
    find = partial(server_of, port=dialect.port, database=_POSTGRESQL_DATABASE)
    return UserKind(dialect, connect, find, _by_password)


def mysql_kind(
    trust: MakeContext = tls.client_context,
    scope_of: Callable[[DatabaseServer], str] | None = None,
) -> UserKind:
    """Return the kind for MySQL.

    scope_of: returns the audience of a token for a server; by default by its cloud.
    """

    def connect(server: DatabaseServer, sign_in: SignIn) -> Session:
        from asoreconcile.azure.sql_users.drivers import mysql

        return mysql.connect(server, sign_in, context())

    context = cache(trust)
    dialect = MySql()
    find = partial(server_of, port=dialect.port, database=_MYSQL_DATABASE)
    sign_in = partial(_by_password_or_token, scope_of=scope_of or entra_scope)
    return UserKind(dialect, connect, find, sign_in)


def azure_sql_kind() -> UserKind:
    """Return the kind for Azure SQL; its driver trusts SSL_CERT_FILE, else the system's
    CAs.
    """

    def connect(server: DatabaseServer, sign_in: SignIn) -> Session:
        from asoreconcile.azure.sql_users.drivers import azure_sql

        return azure_sql.connect(server, sign_in)

    dialect = AzureSql()
    find = partial(database_of, port=dialect.port)
    return UserKind(dialect, connect, find, _by_password)


USER_KINDS: Mapping[GroupKind, Callable[[], UserKind]] = {
    GroupKind("dbformysql.azure.com", "User"): mysql_kind,
    GroupKind("dbforpostgresql.azure.com", "User"): postgresql_kind,
    GroupKind("sql.azure.com", "User"): azure_sql_kind,
}


def database_users(
    kind: UserKind, *, clock: Clock, fence: Fence | None = None
) -> DatabaseUsers:
    """Return the users of a kind. fence: called before each write."""
    sessions = Sessions(kind.connect, clock=clock)
    return DatabaseUsers(kind, sessions, ServerAddresses(clock), fence=fence)


@contextmanager
def user_planners(
    lookups: FindLookups, clock: Clock
) -> Iterator[Mapping[GroupKind, UserPlanner]]:
    """Return the planners by kind; their connections are closed at the end of the
    block.

    lookups: returns the lookups for an object.
    """
    with ExitStack() as opened:
        planners: dict[GroupKind, UserPlanner] = {}
        for group_kind, make in USER_KINDS.items():
            kind = make()
            sessions = Sessions(kind.connect, clock=clock)
            opened.callback(sessions.close)
            planners[group_kind] = UserPlanner(kind, sessions, lookups)
        yield planners


def entra_scope(server: DatabaseServer) -> str:
    """Return the audience of a token for a server.

    Raises ConditionError for a host outside of Azure: tokens are not sent there.
    """
    for suffix, scope in ENTRA_SCOPES.items():
        if server.host.lower().endswith(suffix):
            return scope
    raise unusable(
        f"{server.host!r} is no server of Azure Database for MySQL: no token is sent "
        "to it; sign in with localUser.serverAdminPassword"
    )


def _by_password(lookups: UserLookups, server: DatabaseServer) -> SignIn:  # noqa: ARG001
    local: dict[str, Any] = spec(lookups.obj).get("localUser") or {}
    reference = local.get("serverAdminPassword")
    if not reference:
        raise unusable("spec.localUser.serverAdminPassword is missing: name a Secret")
    return SignIn(_administrator(local), lookups.secret(reference))


def _by_password_or_token(
    lookups: UserLookups,
    server: DatabaseServer,
    *,
    scope_of: Callable[[DatabaseServer], str],
) -> SignIn:
    content = spec(lookups.obj)
    local = content.get("localUser") or {}
    if local.get("serverAdminPassword"):
        return _by_password(lookups, server)
    user = _administrator(content.get("aadUser") or local)
    token, holder = lookups.token(scope_of(server))
    return SignIn(user, token, is_token=True, holder=holder)


def _administrator(given: dict[str, Any]) -> str:
    name = str(given.get("serverAdminUsername") or "")
    if not name:
        raise unusable("serverAdminUsername is missing: name an administrator")
    return name
