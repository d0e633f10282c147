"""Users of PostgreSQL on a real server, over TLS, by reconciles of their objects."""

import contextlib
import threading

import pytest
import servers
from pg8000.exceptions import DatabaseError, InterfaceError
from pg8000.native import Connection

from asoreconcile.azure.reconcile.model.annotations import RECONCILE_POLICY
from asoreconcile.azure.sql_users.drivers import postgresql as driver
from asoreconcile.azure.sql_users.user import NOTE
from asoreconcile.base.errors import StoppedError

NASTY = [
    'quo"te',
    "apos'trophe",
    'x"; DROP TABLE t; --',
    "a; b -- c /* d */",
    "back\\slash",
    "$$dollar$$",
    "per%cent :colon ?",
    "Ünïcødé ☃",
    "new\nline",
    " space at both ends ",
]


@pytest.fixture(scope="session", autouse=True)
def _administrator(postgresql_server):
    """As Azure's: neither a superuser, nor let into what is not its own."""
    with superuser(postgresql_server) as connection:
        quoted = servers.ADMIN_PASSWORD.replace("'", "''")
        connection.execute_simple(
            f"CREATE ROLE {servers.ADMIN} LOGIN CREATEROLE CREATEDB PASSWORD '{quoted}'"
            if "\\" not in quoted
            else f"CREATE ROLE {servers.ADMIN} LOGIN CREATEROLE CREATEDB PASSWORD "
            f"E'{quoted.replace(chr(92), chr(92) * 2)}'"
        )
        connection.run("CREATE ROLE readers")
        connection.run("CREATE ROLE writers")


@contextlib.contextmanager
def signed_in(server, user, password):
    connection = Connection(
        user,
        password=password,
        host="localhost",
        port=server.port,
        database="postgres",
        ssl_context=server.trust(),
    )
    try:
        yield connection
    finally:
        connection.close()


def superuser(server):
    return signed_in(server, "postgres", servers.SUPERUSER_PASSWORD)


def rows(world, sql, **values):
    with superuser(world.server) as connection:
        return connection.run(sql, **values)


def member_of(world, name):
    found = rows(
        world,
        "SELECT g.rolname FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid "
        "JOIN pg_roles u ON u.oid = m.member WHERE u.rolname = :n",
        n=name,
    )
    return {row[0] for row in found}


def options_of(world, name):
    return rows(
        world,
        "SELECT rolcanlogin, rolcreaterole, rolcreatedb, rolreplication FROM pg_roles "
        "WHERE rolname = :n",
        n=name,
    )


def lets_in(world, user, password):
    try:
        with signed_in(world.server, user, password) as connection:
            return connection.run("SELECT current_user") == [[user]]
    except (DatabaseError, InterfaceError):
        return False


def test_a_user_is_made_with_its_password_options_and_roles(postgresql):
    world = postgresql
    user = world.user(
        "app", roles=["readers", "writers"], roleOptions={"createDb": True}
    )
    world.settled(user)
    assert world.ready(user)["status"] == "True"
    assert lets_in(world, "app", "first-password")
    assert member_of(world, "app") == {"readers", "writers"}
    assert options_of(world, "app") == [[True, False, True, False]]
    assert world.events_of("UserCreated") == ["Created user app"]


def test_rights_are_taken_back_to_exactly_what_the_spec_says(postgresql):
    world = postgresql
    user = world.settled(
        world.user(roles=["readers"], roleOptions={"createDb": True, "login": True})
    )
    name = user["metadata"]["name"]
    rows(world, f'GRANT writers TO "{name}"')  # by hand, in another's name
    rows(world, f'ALTER ROLE "{name}" CREATEROLE')
    user["spec"]["roles"] = []
    user["spec"]["roleOptions"] = {"login": False}
    world.apply(user)
    world.settle(user)
    assert member_of(world, name) == set()
    assert options_of(world, name) == [[False, False, False, False]]
    assert not lets_in(world, name, "first-password")


def test_a_new_password_in_the_secret_is_set(postgresql):
    world = postgresql
    user = world.settled(world.user())
    name = user["metadata"]["name"]
    world.set_secret(user="second 'pass\\word\"", admin=servers.ADMIN_PASSWORD)
    world.settle(user)
    world.run(user)
    assert lets_in(world, name, "second 'pass\\word\"")
    assert not lets_in(world, name, "first-password")


@pytest.mark.parametrize("password", ["ungewöhnlich-ﬁ-☃", "I\u00adX", "\u2168", "a b"])
def test_a_password_in_any_script_lets_in(postgresql, password):
    world = postgresql
    world.set_secret(user=password, admin=servers.ADMIN_PASSWORD)
    user = world.settled(world.user())
    assert lets_in(world, user["metadata"]["name"], password)


def test_a_server_that_stores_md5_gets_md5(postgresql):
    world = postgresql
    rows(world, f"ALTER ROLE {servers.ADMIN} SET password_encryption = 'md5'")
    try:
        user = world.settled(world.user())
    finally:
        rows(world, f"ALTER ROLE {servers.ADMIN} RESET password_encryption")
    stored = rows(
        world,
        "SELECT rolpassword FROM pg_authid WHERE rolname = :n",
        n=user["metadata"]["name"],
    )
    assert stored[0][0].startswith("md5")


@pytest.mark.parametrize("name", NASTY)
def test_names_are_names_whatever_is_in_them(postgresql, name):
    world = postgresql
    rows(world, "CREATE ROLE " + '"' + ("r" + name).replace('"', '""') + '"')
    before = rows(world, "SELECT count(*) FROM pg_roles")
    user = world.settled(world.user(azure_name=name, roles=["r" + name]))
    assert rows(world, "SELECT count(*) FROM pg_roles") == [[before[0][0] + 1]]
    assert member_of(world, name) == {"r" + name}
    world.delete(user)
    assert world.settle(user) is None
    assert rows(world, "SELECT count(*) FROM pg_roles") == before


def test_no_password_reaches_the_server_s_log_or_a_condition(postgresql):
    world = postgresql
    user = world.user(roles=["no-such-role"])
    world.apply(user)
    reason, message = world.reason(user)
    assert reason == "RefusedByServer"
    assert 'GRANT "no-such-role" TO' in message
    assert "does not exist" in message
    log = world.server.log.read_text()
    assert "CREATE ROLE" in log  # all statements are in it
    assert "first-password" not in log
    assert "first-password" not in str(world.events)


def test_a_renamed_user_keeps_what_it_owns(postgresql):
    world = postgresql
    user = world.settled(world.user(azure_name="before"))
    rows(world, "CREATE TABLE of_user ()")
    rows(world, "ALTER TABLE of_user OWNER TO before")
    user["spec"]["azureName"] = "after"
    world.apply(user)
    world.settle(user)
    owner = rows(world, "SELECT tableowner FROM pg_tables WHERE tablename = 'of_user'")
    assert owner == [["after"]]
    assert options_of(world, "before") == []
    assert lets_in(world, "after", "first-password")
    assert world.events_of("UserRenamed") == ["Renamed user before to after"]
    rows(world, "DROP TABLE of_user")


def test_a_user_does_not_take_the_name_of_one_that_is_there(postgresql):
    world = postgresql
    rows(world, "CREATE ROLE somebody LOGIN")
    user = world.settled(world.user(azure_name="nobody-yet"))
    user["spec"]["azureName"] = "somebody"
    world.apply(user)
    reason, message = world.reason(user)
    assert (reason, world.ready(user)["severity"]) == ("Failed", "Error")
    assert "cannot become somebody" in message


def test_a_user_that_is_there_is_taken_over(postgresql):
    world = postgresql
    rows(world, "CREATE ROLE grown LOGIN PASSWORD 'x'")
    user = world.settled(world.user(azure_name="grown", roles=["readers"]))
    assert lets_in(world, "grown", "first-password")
    assert world.events_of("UserCreated") == []
    world.delete(user)
    assert world.settle(user) is None
    assert options_of(world, "grown") == []


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (servers.ADMIN, "the administrator that the operator signs in as"),
        ("postgres", "superuser"),
        ("pg_monitor", "the server's own"),
        ("azure_pg_admin", "the server's own"),
    ],
)
def test_what_is_not_ours_is_neither_taken_over_nor_dropped(postgresql, name, why):
    world = postgresql
    user = world.user(azure_name=name)
    world.apply(user)
    reason, message = world.reason(user)
    assert reason == "Failed"
    assert why in message
    world.delete(user)
    assert world.settle(user) is None
    assert lets_in(world, servers.ADMIN, servers.ADMIN_PASSWORD)


def test_a_note_that_names_somebody_else_drops_nobody(postgresql):
    world = postgresql
    user = world.settled(world.user())
    world.annotate(user, **{NOTE: '{"name":"postgres"}'})
    world.delete(user)
    assert world.settle(user) is None
    assert len(options_of(world, "postgres")) == 1
    assert "superuser" in world.events_of("NotDeletedInDatabase")[0]


def test_what_a_user_owns_keeps_it_and_is_said(postgresql):
    world = postgresql
    user = world.settled(world.user(azure_name="owning"))
    rows(world, "CREATE TABLE kept ()")
    rows(world, "ALTER TABLE kept OWNER TO owning")
    world.delete(user)
    reason, message = world.reason(user)
    assert reason == "UserOwnsObjects"
    assert "owner of table kept" in message
    assert "detach-on-delete" in message
    rows(world, f"REASSIGN OWNED BY owning TO {servers.ADMIN}")
    assert world.settle(user) is None
    assert options_of(world, "owning") == []
    rows(world, "DROP TABLE kept")


def test_skip_says_what_is_missing_and_changes_nothing(postgresql):
    world = postgresql
    user = world.user()
    user["metadata"]["annotations"] = {RECONCILE_POLICY: "skip"}
    world.apply(user)
    assert world.reason(user)[0] == "AzureResourceNotFound"
    name = user["metadata"]["name"]
    rows(world, f'CREATE ROLE "{name}" NOLOGIN')
    world.settle(user)
    assert options_of(world, name) == [[False, False, False, False]]


def test_of_two_objects_for_one_user_the_older_one_manages_it(postgresql):
    world = postgresql
    older = world.settled(world.user("one", azure_name="shared"))
    younger = world.user("two", azure_name="shared", roles=["readers"])
    world.apply(younger)
    first, second = (world.read(o)["metadata"] for o in (older, younger))
    if first["creationTimestamp"] == second["creationTimestamp"]:
        older, younger = sorted(
            (older, younger), key=lambda o: world.read(o)["metadata"]["uid"]
        )
        world.settle(older)
    reason, message = world.reason(younger)
    assert reason == "AlreadyManaged"
    assert older["metadata"]["name"] in message
    world.delete(younger)
    assert world.settle(younger) is None
    assert len(options_of(world, "shared")) == 1


def test_a_wrong_password_of_the_administrator_is_said(postgresql):
    world = postgresql
    world.set_secret(user="x", admin="wrong")
    user = world.user()
    world.apply(user)
    reason, message = world.reason(user)
    assert reason == "AdministratorSignInFailed"
    assert "serverAdminUsername" in message
    assert "wrong" not in message.replace("wrong password", "")


def test_a_server_that_cannot_be_verified_gets_nothing(postgresql):
    world = postgresql
    world.users._sessions._connect = lambda server, sign_in: driver.connect(
        server, sign_in, __import__("ssl").create_default_context()
    )
    user = world.user()
    world.apply(user)
    before = world.server.log.read_text()
    reason, message = world.reason(user)
    assert reason == "ServerNotVerified"
    assert "certificate verify failed" in message
    assert "CREATE ROLE" not in world.server.log.read_text()[len(before) :]


def test_a_server_that_is_not_there_is_said(postgresql):
    world = postgresql
    with __import__("socket").socket() as unused:
        unused.bind(("127.0.0.1", 0))
        world.make_owner(f"localhost:{unused.getsockname()[1]}")
        user = world.user()
        world.apply(user)
        reason, message = world.reason(user)
    assert reason == "ServerUnreachable"
    assert "refused" in message
    assert "network policies" in message


def test_an_address_that_the_server_does_not_let_in_is_said(postgresql):
    world = postgresql
    rows(world, "SELECT 1")
    hba = world.server.log.parent / "data" / "pg_hba.conf"
    before = hba.read_text()
    hba.write_text("hostssl all postgres 127.0.0.1/32 scram-sha-256\n")
    rows(world, "SELECT pg_reload_conf()")
    try:
        user = world.user()
        world.apply(user)
        reason, message = world.reason(user)
    finally:
        hba.write_text(before)
        rows(world, "SELECT pg_reload_conf()")
    assert reason == "BlockedByFirewall"
    assert "no pg_hba.conf entry" in message


def test_a_server_that_hangs_ends_within_the_time_limit(postgresql, monkeypatch):
    world = postgresql
    monkeypatch.setattr(driver, "CONNECT_SECONDS", 0.5)
    users = [world.user() for _ in range(3)]
    for user in users:
        world.apply(user)
        world.run_once(user)  # claimed
    world.server.pause()
    try:
        reasons = [world.reason(user)[0] for user in users]
    finally:
        world.server.go_on()
    assert reasons == ["ServerUnreachable"] * 3
    assert world.users._sessions.count() == 0
    world.clock.advance(60)
    for user in users:
        world.settle(user)


def test_connections_are_few_and_closed_with_the_last_user(postgresql):
    world = postgresql
    users = [world.settled(world.user()) for _ in range(5)]
    assert world.users._sessions.count() == 1
    for user in users:
        world.delete(user)
        assert world.settle(user) is None
    assert world.users._sessions.count() == 0
    for thread in threading.enumerate():
        if thread.name == "database-close":
            thread.join(5)
    mine = "SELECT count(*) FROM pg_stat_activity WHERE usename = :n"
    assert rows(world, mine, n=servers.ADMIN) == [[0]]


def test_a_connection_that_the_server_ended_is_made_again(postgresql):
    world = postgresql
    user = world.settled(world.user())
    rows(
        world,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = :n",
        n=servers.ADMIN,
    )
    assert world.reason(user)[0] == "ServerUnreachable"
    world.clock.advance(60)
    world.settle(user)


def test_a_server_without_an_address_is_waited_for(postgresql):
    world = postgresql
    user = world.user()
    world.apply(user)
    world.run_once(user)
    world.make_owner("")
    assert world.reason(user)[0] == "WaitingForOwner"


def test_an_empty_password_is_none(postgresql):
    world = postgresql
    world.set_secret(user="", admin=servers.ADMIN_PASSWORD)
    user = world.user()
    world.apply(user)
    reason, message = world.reason(user)
    assert reason == "Failed"
    assert "is empty" in message


def test_a_process_that_may_not_write_says_nothing_to_the_server(postgresql):
    world = postgresql

    def fence():
        raise StoppedError("another process leads")

    world.users._fence = fence
    user = world.user()
    world.apply(user)
    world.run_once(user)
    with pytest.raises(StoppedError):
        world.run_once(user)
    assert options_of(world, user["metadata"]["name"]) == []
