"""Users of Entra ID in MySQL: the token as a password in the clear, within TLS alone.

Only Azure has such users: the server here is a double (`mysql_double`).
"""

import ssl

import pytest
from databaseworlds import MySqlWorld, prepared
from mysql_double import MySqlDouble

from asoreconcile.azure.sql_users.kinds import database_users, entra_scope, mysql_kind
from asoreconcile.azure.sql_users.server import DatabaseServer
from asoreconcile.testing.throwaway_certificates import certificate_authority

SCOPE = "https://ossrdbms-aad.database.windows.net/.default"


@pytest.fixture
def world(tmp_path):
    authority = certificate_authority("mysql")
    certificate, key = authority.issue(["localhost"])
    (tmp_path / "server.pem").write_bytes(certificate)
    (tmp_path / "server.key").write_bytes(key)
    with MySqlWorld(tmp_path) as world:
        token = world.arm.token(SCOPE)
        with MySqlDouble(
            tmp_path / "server.pem", tmp_path / "server.key", token=token
        ) as double:
            world.server = double
            kind = mysql_kind(
                trust=lambda: ssl.create_default_context(cadata=authority.pem.decode()),
                scope_of=lambda _: SCOPE,
            )
            users = database_users(kind, clock=world.clock)
            with prepared(world, users) as ready:
                yield ready


def entra_user(world, **aad):
    user = world.user(
        "workload-identity", databasePrivileges={"shop": ["SELECT"]}, privileges=[]
    )
    del user["spec"]["localUser"]
    user["spec"]["aadUser"] = {"serverAdminUsername": "admins", **aad}
    return user


def test_a_user_of_entra_is_made_by_azure_s_own_statement(world):
    world.settled(entra_user(world))
    assert world.server.statements == [
        "CREATE AADUSER 'workload-identity'",
        "GRANT SELECT ON `shop`.* TO 'workload-identity'@'%'",
    ]
    assert world.server.users == ["admins"]
    assert len(world.server.passwords) == 1
    assert world.server.passwords[0] not in str(world.events)


def test_its_alias_is_its_name_in_mysql(world):
    user = world.settled(entra_user(world, alias="short"))
    assert world.server.statements == [
        "CREATE AADUSER 'workload-identity' AS 'short'",
        "GRANT SELECT ON `shop`.* TO 'short'@'%'",
    ]
    world.delete(user)
    assert world.settle(user) is None
    assert world.server.statements[-1] == "DROP USER IF EXISTS 'short'@'%'"


def test_it_is_made_once(world):
    user = world.settled(entra_user(world))
    before = list(world.server.statements)
    world.run(user)
    assert world.server.statements == before


def test_a_user_with_a_password_may_be_made_by_an_identity(world):
    user = world.user("plain")
    del user["spec"]["localUser"]["serverAdminPassword"]
    world.apply(user)
    world.run(user)
    assert "CREATE USER 'plain'@'%' IDENTIFIED BY 'first-password'" in (
        world.server.statements
    )


def test_a_user_does_not_change_its_type(world):
    world.server.users_plugins["plain"] = "aad_auth"
    user = world.user("plain")
    del user["spec"]["localUser"]["serverAdminPassword"]
    world.apply(user)
    reason, message = world.reason(user)
    assert reason == "Failed"
    assert "signs in with Entra ID, and the spec wants a password" in message


def test_a_token_that_the_server_refuses_is_said(world):
    world.server._token = "another"
    user = entra_user(world)
    world.apply(user)
    reason, message = world.reason(user)
    assert reason == "AdministratorSignInFailed"
    assert world.server.passwords[0] not in message


@pytest.mark.parametrize(
    ("host", "scope"),
    [
        ("db.mysql.database.azure.com", SCOPE),
        (
            "DB.mysql.database.chinacloudapi.cn",
            "https://ossrdbms-aad.database.chinacloudapi.cn/.default",
        ),
        (
            "db.mysql.database.usgovcloudapi.net",
            "https://ossrdbms-aad.database.usgovcloudapi.net/.default",
        ),
    ],
)
def test_whom_a_token_is_for_depends_on_the_cloud(host, scope):
    assert entra_scope(DatabaseServer(host, 3306, "mysql")) == scope


@pytest.mark.parametrize(
    "host",
    ["localhost", "mysql.database.azure.com.example", "xmysql.database.azure.com"],
)
def test_a_token_goes_to_azure_s_own_hosts_alone(host):
    with pytest.raises(Exception, match="no token is sent"):
        entra_scope(DatabaseServer(host, 3306, "mysql"))
