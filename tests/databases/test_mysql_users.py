"""Users of MySQL on a real MariaDB, over TLS, by reconciles of their objects.

MariaDB has no users of Entra ID, as Azure has: `test_mysql_entra_users` tests those.
"""

import contextlib
import ssl

import pymysql
import pytest
import servers

from asoreconcile.azure.sql_users.drivers import mysql as driver

NASTY = [
    "apos'trophe",
    "x'@'%'; DROP DATABASE shop; --",
    "back\\slash",
    "back\\'tick`",
    "per%cent %s",
    "under_score",
    'quo"te',
    "Ünïcödé",
]


@pytest.fixture(scope="session")
def superusers(mariadb_server):
    """The superuser's cursor; it makes an administrator."""
    with superuser(mariadb_server) as cursor:
        cursor.execute(
            "CREATE USER %s@'%%' IDENTIFIED BY %s",
            (servers.ADMIN, servers.ADMIN_PASSWORD),
        )
        # As Azure's: all that it has it may give on.
        cursor.execute(
            "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, RELOAD, PROCESS, "
            "REFERENCES, INDEX, ALTER, SHOW DATABASES, CREATE TEMPORARY TABLES, "
            "LOCK TABLES, EXECUTE, CREATE VIEW, SHOW VIEW, CREATE ROUTINE, "
            "ALTER ROUTINE, CREATE USER, EVENT, TRIGGER ON *.* TO %s@'%%' "
            "WITH GRANT OPTION",
            (servers.ADMIN,),
        )
        for name in ("shop", "stock"):
            cursor.execute(f"CREATE DATABASE {name}")
        yield cursor


@pytest.fixture
def mysql(mysql, superusers):
    mysql.superusers = superusers
    return mysql


@contextlib.contextmanager
def signed_in(server, user, password, **options):
    connection = pymysql.connect(
        host="localhost",
        port=server.port,
        user=user,
        password=password,
        ssl=server.trust(),
        autocommit=True,
        **options,
    )
    try:
        with connection.cursor() as cursor:
            yield cursor
    finally:
        connection.close()


def superuser(server):
    return signed_in(server, "super", servers.SUPERUSER_PASSWORD)


def rows(world, sql, *values):
    world.superusers.execute(sql, values or None)
    return list(world.superusers.fetchall())


def lets_in(world, user, password):
    try:
        with signed_in(world.server, user, password) as cursor:
            cursor.execute("SELECT current_user()")
            return cursor.fetchall()[0][0].startswith(user)
    except pymysql.Error:
        return False


def grants(world, name, host="%"):
    return sorted(
        row[0].partition(" TO ")[0] + ("+" if "GRANT OPTION" in row[0] else "")
        for row in rows(world, "SHOW GRANTS FOR %s@%s", name, host)
    )


def accounts(world):
    return set(rows(world, "SELECT User, Host FROM mysql.user"))


def test_a_user_is_made_with_its_password_and_privileges(mysql):
    world = mysql
    user = world.user(
        "app",
        privileges=["PROCESS", "show databases"],
        databasePrivileges={"shop": ["SELECT", "insert"], "stock": ["SELECT"]},
    )
    world.settled(user)
    assert lets_in(world, "app", "first-password")
    assert grants(world, "app") == [
        "GRANT PROCESS, SHOW DATABASES ON *.*",
        "GRANT SELECT ON `stock`.*",
        "GRANT SELECT, INSERT ON `shop`.*",
    ]


def test_privileges_are_taken_back_to_exactly_what_the_spec_says(mysql):
    world = mysql
    user = world.settled(
        world.user(privileges=["PROCESS"], databasePrivileges={"shop": ["SELECT"]})
    )
    name = user["metadata"]["name"]
    by_hand = "GRANT RELOAD ON *.* TO %s@'%%' WITH GRANT OPTION"
    rows(world, by_hand, name)
    rows(world, "GRANT DELETE ON stock.* TO %s@'%%'", name)
    user["spec"]["privileges"] = []
    world.apply(user)
    world.settle(user)
    assert grants(world, name) == ["GRANT SELECT ON `shop`.*", "GRANT USAGE ON *.*"]


def test_all_privileges_of_a_database_and_the_right_to_give_them_on(mysql):
    world = mysql
    rows(
        world, "GRANT ALL PRIVILEGES ON *.* TO %s@'%%' WITH GRANT OPTION", servers.ADMIN
    )
    user = world.settled(
        world.user(databasePrivileges={"shop": ["ALL", "GRANT OPTION"]})
    )
    name = user["metadata"]["name"]
    assert grants(world, name)[0] == "GRANT ALL PRIVILEGES ON `shop`.*+"
    user["spec"]["databasePrivileges"] = {"shop": ["ALL PRIVILEGES"]}
    world.apply(user)
    world.settle(user)
    assert grants(world, name)[0] == "GRANT ALL PRIVILEGES ON `shop`.*"


def test_a_new_password_in_the_secret_is_set(mysql):
    world = mysql
    user = world.settled(world.user())
    name = user["metadata"]["name"]
    new = "second 'pass\\word\" %s"
    world.set_secret(user=new, admin=servers.ADMIN_PASSWORD)
    world.run(user)
    assert lets_in(world, name, new)
    assert not lets_in(world, name, "first-password")


@pytest.mark.parametrize("name", NASTY)
def test_names_are_names_whatever_is_in_them(mysql, name):
    world = mysql
    before = accounts(world)
    user = world.settled(
        world.user(azure_name=name, databasePrivileges={name: ["SELECT"]})
    )
    assert accounts(world) - before == {(name, "%")}
    assert lets_in(world, name, "first-password")
    user["spec"]["databasePrivileges"] = {}
    world.apply(user)
    world.settle(user)
    assert grants(world, name) == ["GRANT USAGE ON *.*"]
    world.delete(user)
    assert world.settle(user) is None
    assert accounts(world) == before
    assert len(rows(world, "SHOW DATABASES LIKE 'shop'")) == 1


@pytest.mark.parametrize(
    "stated", ["SELECT ON *.* TO root --", "SELECT;", "SELECT (a)"]
)
def test_a_privilege_that_is_more_than_words_is_refused(mysql, stated):
    world = mysql
    user = world.user(privileges=[stated])
    world.apply(user)
    reason, message = world.reason(user)
    assert (reason, world.ready(user)["severity"]) == ("Failed", "Error")
    assert "is no privilege" in message
    assert (user["metadata"]["name"], "%") not in accounts(world)


def test_a_host_is_part_of_the_user(mysql):
    world = mysql
    user = world.settled(
        world.user(
            "hosted", hostname="10.0.0.%", databasePrivileges={"shop": ["SELECT"]}
        )
    )
    assert grants(world, "hosted", "10.0.0.%")[0] == "GRANT SELECT ON `shop`.*"
    user["spec"]["hostname"] = "10.1.%"
    world.apply(user)
    world.settle(user)
    assert ("hosted", "10.0.0.%") not in accounts(world)
    assert grants(world, "hosted", "10.1.%")[0] == "GRANT SELECT ON `shop`.*"
    world.delete(user)
    assert world.settle(user) is None
    assert not {a for a in accounts(world) if a[0] == "hosted"}


def test_a_user_keeps_its_name_where_no_webhook_says_so(mysql):
    world = mysql
    user = world.settled(world.user(azure_name="named"))
    user["spec"]["azureName"] = "renamed"
    world.apply(user)
    reason, message = world.reason(user)
    assert (reason, world.ready(user)["severity"]) == ("Failed", "Error")
    assert "cannot change from 'named' to 'renamed'" in message
    assert ("renamed", "%") not in accounts(world)
    world.delete(user)
    assert world.settle(user) is None
    assert ("named", "%") not in accounts(world)


@pytest.mark.parametrize("name", [servers.ADMIN, "root", "mariadb.sys"])
def test_what_is_not_ours_is_neither_taken_over_nor_dropped(mysql, name):
    world = mysql
    before = accounts(world)
    user = world.user(azure_name=name)
    world.apply(user)
    assert "not taken over" in world.reason(user)[1]
    world.delete(user)
    assert world.settle(user) is None
    assert accounts(world) == before
    assert lets_in(world, servers.ADMIN, servers.ADMIN_PASSWORD)


def test_an_administrator_with_a_blank_at_the_end_is_refused_and_stays(mysql):
    world = mysql
    before = accounts(world)
    user = world.user(azure_name=f"{servers.ADMIN} ")
    world.apply(user)
    assert "ends with a blank" in world.reason(user)[1]
    world.delete(user)
    assert world.settle(user) is None
    assert accounts(world) == before
    labelled = world.asos(world.user(azure_name=f"{servers.ADMIN} "))
    world.apply(labelled)
    world.delete(labelled)
    assert world.settle(labelled) is None
    assert accounts(world) == before
    assert lets_in(world, servers.ADMIN, servers.ADMIN_PASSWORD)


@pytest.mark.parametrize("way", ["itself", "by a role", "by a role of a role"])
def test_an_administrator_is_not_taken_over(mysql, way):
    world = mysql
    made = ["CREATE USER another_admin IDENTIFIED BY 'x'"]
    grantee = "another_admin"
    if way != "itself":
        made += ["CREATE ROLE inner_role"]
        grantee = "inner_role"
    made.append(f"GRANT CREATE USER ON *.* TO {grantee}")
    if way == "by a role":
        made.append("GRANT inner_role TO another_admin")
    if way == "by a role of a role":
        made += ["CREATE ROLE outer_role", "GRANT inner_role TO outer_role"]
        made.append("GRANT outer_role TO another_admin")
    for sql in made:
        rows(world, sql)
    try:
        user = world.user(azure_name="another_admin")
        world.apply(user)
        assert "it is an administrator" in world.reason(user)[1]
        world.delete(user)
        assert world.settle(user) is None
        assert lets_in(world, "another_admin", "x")
    finally:
        rows(world, "DROP USER another_admin")
        for role in ("inner_role", "outer_role"):
            rows(world, f"DROP ROLE IF EXISTS {role}")


def test_a_user_that_is_there_is_taken_over_and_never_dropped(mysql):
    world = mysql
    rows(world, "CREATE USER grown IDENTIFIED BY 'x'")
    user = world.settled(world.user(azure_name="grown"))
    assert lets_in(world, "grown", "first-password")
    world.delete(user)
    assert world.settle(user) is None
    assert ("grown", "%") in accounts(world)
    rows(world, "DROP USER grown")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("ACCOUNT LOCK", "it is locked"),
        ("PASSWORD EXPIRE", "password has expired"),
        ("WITH MAX_USER_CONNECTIONS -1", "limit of connections"),
    ],
)
def test_a_user_that_cannot_sign_in_is_not_ready(mysql, change, why):
    world = mysql
    user = world.settled(world.user())
    name = user["metadata"]["name"]
    rows(world, f"ALTER USER %s@'%%' {change}", name)
    reason, message = world.reason(user)
    assert reason == "UserCannotSignIn"
    assert why in message


def statements(world, *words):
    log = (world.server.log.parent / "sql").read_text(errors="replace")
    return [line for line in log.splitlines() if all(word in line for word in words)]


def test_an_unchanged_password_is_not_sent_again(mysql):
    world = mysql
    user = world.settled(world.user())
    name = user["metadata"]["name"]
    for _ in range(3):
        world.restart()
        world.settle(user)
    assert not statements(world, "ALTER USER", f"'{name}'")
    world.set_secret(user="second", admin=servers.ADMIN_PASSWORD)
    for _ in range(3):
        world.run(user)
    assert len(statements(world, "ALTER USER", f"'{name}'")) == 1
    assert lets_in(world, name, "second")


def test_a_server_that_folds_names_of_databases_is_told_once(mysql):
    world = mysql
    with (
        servers.mariadb(folds_names=True) as folding,
        superuser(folding) as world.superusers,
    ):
        world.server = folding
        world.make_owner(f"localhost:{folding.port}")
        world.users._sessions._connect = lambda server, sign_in: driver.connect(
            server, sign_in, folding.trust()
        )
        rows(world, "CREATE USER %s@'%%' IDENTIFIED BY %s", *ADMINISTRATOR)
        rows(world, "GRANT ALL ON *.* TO %s@'%%' WITH GRANT OPTION", servers.ADMIN)
        user = world.settled(world.user("app", databasePrivileges={"Shop": ["SELECT"]}))
        for _ in range(6):
            world.settle(user)
        assert grants(world, "app")[0] == "GRANT SELECT ON `shop`.*"
        assert len(statements(world, "GRANT SELECT", "'app'")) == 1
        assert not statements(world, "REVOKE", "'app'")
        world.delete(user)
        assert world.settle(user) is None


ADMINISTRATOR = (servers.ADMIN, servers.ADMIN_PASSWORD)


def test_users_whose_names_differ_in_letter_case_are_two(mysql):
    world = mysql
    lower = world.settled(
        world.user("lower", azure_name="cased", databasePrivileges={"shop": ["SELECT"]})
    )
    world.settled(
        world.user(
            "upper", azure_name="CASED", databasePrivileges={"stock": ["SELECT"]}
        )
    )
    world.settle(lower)
    assert grants(world, "cased")[0] == "GRANT SELECT ON `shop`.*"
    assert grants(world, "CASED")[0] == "GRANT SELECT ON `stock`.*"


def test_what_the_administrator_may_not_give_is_said_without_a_secret(mysql):
    world = mysql
    rows(world, "REVOKE ALL PRIVILEGES, GRANT OPTION FROM %s@'%%'", servers.ADMIN)
    rows(world, "GRANT CREATE USER, SELECT ON *.* TO %s@'%%'", servers.ADMIN)
    try:
        user = world.user(privileges=["PROCESS"])
        world.apply(user)
        reason, message = world.reason(user)
    finally:
        rows(
            world,
            "GRANT ALL PRIVILEGES ON *.* TO %s@'%%' WITH GRANT OPTION",
            servers.ADMIN,
        )
    assert reason == "RefusedByServer"
    assert "GRANT PROCESS ON *.* TO" in message
    assert "first-password" not in message + str(world.events)
    assert servers.ADMIN_PASSWORD not in message + str(world.events)


def test_a_wrong_password_of_the_administrator_is_said(mysql):
    world = mysql
    world.set_secret(user="x", admin="not-the-one")
    user = world.user()
    world.apply(user)
    reason, message = world.reason(user)
    assert reason == "AdministratorSignInFailed"
    assert "Access denied" in message


def test_a_server_that_cannot_be_verified_gets_nothing(mysql):
    world = mysql
    world.users._sessions._connect = lambda server, sign_in: driver.connect(
        server, sign_in, ssl.create_default_context()
    )
    user = world.user()
    world.apply(user)
    reason, message = world.reason(user)
    assert reason == "ServerUnreachable"
    assert "no verified connection" in message


def test_a_server_without_tls_gets_nothing(mysql):
    world = mysql
    with servers.mariadb(tls=False) as plain:
        world.make_owner(f"localhost:{plain.port}")
        user = world.user()
        world.apply(user)
        reason, message = world.reason(user)
    assert reason == "ServerUnreachable"
    assert "no verified connection" in message


def test_a_server_of_another_name_gets_nothing(mysql):
    world = mysql
    with servers.mariadb(hosts=("elsewhere",)) as other:
        world.server = other
        world.make_owner(f"localhost:{other.port}")
        world.users._sessions._connect = lambda server, sign_in: driver.connect(
            server, sign_in, other.trust()
        )
        user = world.user()
        world.apply(user)
        reason, message = world.reason(user)
    assert reason == "ServerUnreachable"
    assert "no verified connection" in message


def test_a_server_that_hangs_ends_within_the_time_limit(mysql, monkeypatch):
    world = mysql
    # The kernel accepts the connection all the same: only the server's greeting hangs.
    monkeypatch.setattr(driver, "CONNECT_SECONDS", 0.5)
    user = world.user()
    world.apply(user)
    world.run_once(user)
    world.server.pause()
    try:
        reason, _ = world.reason(user)
    finally:
        world.server.go_on()
    assert reason == "ServerUnreachable"
    world.clock.advance(60)
    world.settle(user)


def test_a_statement_that_hangs_ends_within_the_time_limit(mysql, monkeypatch):
    world = mysql
    monkeypatch.setattr(driver, "STATEMENT_SECONDS", 0.5)
    monkeypatch.setattr(driver, "CONNECT_SECONDS", 0.5)
    user = world.settled(world.user())
    user["spec"]["privileges"] = ["PROCESS"]
    world.apply(user)
    world.server.pause()
    try:
        reason, _ = world.reason(user)
    finally:
        world.server.go_on()
    assert reason == "ServerUnreachable"
    assert world.users._sessions.count() == 0


def test_an_account_made_again_by_others_is_known_by_its_name_alone(mysql):
    world = mysql
    user = world.settled(world.user(azure_name="again"))
    rows(world, "DROP USER again")
    rows(world, "CREATE USER again")
    world.delete(user)
    assert world.settle(user) is None
    assert not rows(world, "SELECT 1 FROM mysql.user WHERE user = 'again'")


def test_a_deleted_user_that_is_gone_already_is_no_trouble(mysql):
    world = mysql
    user = world.settled(world.user("going"))
    rows(world, "DROP USER going")
    world.delete(user)
    assert world.settle(user) is None
