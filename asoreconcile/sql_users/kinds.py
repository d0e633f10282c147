"""The three kinds of users put together: dialect, driver, and how to sign in."""

import ssl
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from asoreconcile import tls
from asoreconcile.azure.reconcile_scope import ReconcileScope
from asoreconcile.clock import Clock
from asoreconcile.fencing import Fence
from asoreconcile.objects import spec
from asoreconcile.sql_users.azure_sql import AzureSql
from asoreconcile.sql_users.mysql import MySql
from asoreconcile.sql_users.owner import database_of, server_of
from asoreconcile.sql_users.postgresql import PostgreSql
from asoreconcile.sql_users.quoting import unusable
from asoreconcile.sql_users.resource import DatabaseUsers
from asoreconcile.sql_users.server import DatabaseServer, Session, SignIn
from asoreconcile.sql_users.sessions import Sessions

_POSTGRESQL_DATABASE = "postgres"
_MYSQL_DATABASE = "mysql"
# Whom a token for a server of MySQL is meant for, by the cloud that the server is in.
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


def postgresql_users(
    *, clock: Clock, fence: Fence | None = None, trust: MakeContext = tls.client_context
) -> DatabaseUsers:
    """Users of PostgreSQL. trust: what servers are verified by."""

    def connect(server: DatabaseServer, sign_in: SignIn) -> Session:
        from asoreconcile.sql_users.drivers import postgresql

        return postgresql.connect(server, sign_in, context())

    context = cache(trust)
    return DatabaseUsers(
        PostgreSql(),
        Sessions(connect, clock=clock),
        find_server=partial(
            server_of, port=PostgreSql.port, database=_POSTGRESQL_DATABASE
        ),
        find_sign_in=_by_password,
        fence=fence,
    )


def mysql_users(
    *,
    clock: Clock,
    fence: Fence | None = None,
    trust: MakeContext = tls.client_context,
    scope_of: Callable[[DatabaseServer], str] | None = None,
) -> DatabaseUsers:
    """scope_of: whom a token for a server is meant for; by default by its cloud."""

    def connect(server: DatabaseServer, sign_in: SignIn) -> Session:
        from asoreconcile.sql_users.drivers import mysql

        return mysql.connect(server, sign_in, context())

    context = cache(trust)
    return DatabaseUsers(
        MySql(),
        Sessions(connect, clock=clock),
        find_server=partial(server_of, port=MySql.port, database=_MYSQL_DATABASE),
        find_sign_in=partial(_by_password_or_token, scope_of=scope_of or entra_scope),
        fence=fence,
    )


def azure_sql_users(*, clock: Clock, fence: Fence | None = None) -> DatabaseUsers:
    """Users of Azure SQL. fence: asked before each write."""

    def connect(server: DatabaseServer, sign_in: SignIn) -> Session:
        from asoreconcile.sql_users.drivers import azure_sql

        return azure_sql.connect(server, sign_in)

    return DatabaseUsers(
        AzureSql(),
        Sessions(connect, clock=clock),
        find_server=partial(database_of, port=AzureSql.port),
        find_sign_in=_by_password,
        fence=fence,
    )


def entra_scope(server: DatabaseServer) -> str:
    """Raises ConditionError for a host that is none of Azure's: a token goes nowhere
    else.
    """
    for suffix, scope in ENTRA_SCOPES.items():
        if server.host.lower().endswith(suffix):
            return scope
    raise unusable(
        f"{server.host!r} is no server of Azure Database for MySQL: no token is sent "
        "to it; sign in with localUser.serverAdminPassword"
    )


def _by_password(scope: ReconcileScope, server: DatabaseServer) -> SignIn:  # noqa: ARG001
    local: dict[str, Any] = spec(scope.obj).get("localUser") or {}
    reference = local.get("serverAdminPassword")
    if not reference:
        raise unusable("spec.localUser.serverAdminPassword is missing: name a Secret")
    return SignIn(_administrator(local), scope.references.secret(reference))


def _by_password_or_token(
    scope: ReconcileScope,
    server: DatabaseServer,
    *,
    scope_of: Callable[[DatabaseServer], str],
) -> SignIn:
    content = spec(scope.obj)
    local = content.get("localUser") or {}
    if local.get("serverAdminPassword"):
        return _by_password(scope, server)
    user = _administrator(content.get("aadUser") or local)
    audience = scope_of(server)
    connection = scope.connection
    return SignIn(
        user,
        connection.client.token(audience),
        is_token=True,
        holder=f"{connection.source} {connection.content}",
    )


def _administrator(given: dict[str, Any]) -> str:
    name = str(given.get("serverAdminUsername") or "")
    if not name:
        raise unusable("serverAdminUsername is missing: name an administrator")
    return name
