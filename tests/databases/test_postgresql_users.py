"""Users of PostgreSQL on a real server, over TLS, by reconciles of their objects."""

import contextlib
import os
import subprocess
import threading

import pytest
import servers
from pg8000.exceptions import DatabaseError, InterfaceError
from pg8000.native import Connection

from asoreconcile.azure.reconcile.model.annotations import RECONCILE_POLICY
from asoreconcile.azure.reconcile.model.existence import (
    IF_EXISTS,
)
from asoreconcile.azure.sql_users.drivers import postgresql as driver
from asoreconcile.azure.sql_users.server import ServerError
from asoreconcile.azure.sql_users.user import NOTE
from asoreconcile.base.errors import StoppedError
from asoreconcile.kube.errors import TransportError
from asoreconcile.testing.fault_injection import InjectedFault

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


@pytest.fixture(scope="session")
def superusers(postgresql_server):
    """The superuser's connection; it makes an administrator like Azure's: no superuser,
    and without access to others' databases.
    """
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
        yield connection


@pytest.fixture
def postgresql(postgresql, superusers):
    postgresql.superusers = superusers
    return postgresql


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
    return world.superusers.run(sql, **values)


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
    assert "never dropped" in world.events_of("UserAdopted")[0]
    world.delete(user)
    assert world.settle(user) is None
    assert lets_in(world, "grown", "first-password")
    assert "no record that this object" in world.events_of("NotDeletedInDatabase")[0]
    rows(world, "DROP ROLE grown")


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
    assert "no record that this object" in world.events_of("NotDeletedInDatabase")[0]


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


def test_after_skip_the_password_is_sent_again(postgresql):
    """Others may set one while the policy is skip, and no server shows it."""
    world = postgresql
    user = world.settled(world.user("back"))
    world.annotate(user, **{RECONCILE_POLICY: "skip"})
    world.settle(user)
    rows(world, "ALTER ROLE back PASSWORD 'another'")
    world.annotate(user, **{RECONCILE_POLICY: None})
    world.settle(user)
    assert lets_in(world, "back", "first-password")


@pytest.mark.parametrize("order", ["older first", "younger first"])
def test_of_two_objects_for_one_user_the_first_one_manages_it(postgresql, order):
    world = postgresql
    both = [world.user(name, azure_name="shared") for name in ("one", "two")]
    for obj in both:
        world.apply(obj)
    first, second = both if order == "older first" else reversed(both)
    world.settle(first)
    for _ in range(2):
        reason, message = world.reason(second)
        assert reason == "AlreadyManaged"
        assert f"default/{first['metadata']['name']}" in message
        # After a restart the other one goes first.
        world.restart()
    world.delete(second)
    assert world.settle(second) is None
    assert len(options_of(world, "shared")) == 1
    again = world.user("three", azure_name="shared")
    world.apply(again)
    assert world.reason(again)[0] == "AlreadyManaged"
    world.delete(first)
    assert world.settle(first) is None
    world.settle(again)
    world.delete(again)
    assert world.settle(again) is None
    assert options_of(world, "shared") == []


def test_an_object_of_aso_is_the_manager_if_nothing_is_recorded(postgresql):
    world = postgresql
    rows(world, "CREATE ROLE theirs LOGIN")
    old = world.asos(world.user(azure_name="theirs"))
    world.apply(old)
    new = world.user(azure_name="theirs")
    world.apply(new)
    assert world.reason(new)[0] == "AlreadyManaged"
    world.settle(old)
    assert world.reason(new)[0] == "AlreadyManaged"
    world.delete(old)
    assert world.settle(old) is None
    world.settle(new)
    world.delete(new)
    assert world.settle(new) is None


@pytest.fixture
def admin_role(postgresql):
    rows(
        postgresql,
        "DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = "
        "'azure_pg_admin') THEN CREATE ROLE azure_pg_admin CREATEROLE; END IF; END $$",
    )
    return "azure_pg_admin"


@pytest.mark.parametrize("seen", [False, True], ids=["at once", "after a reconcile"])
def test_a_user_of_an_object_that_aso_reconciled_is_dropped(
    postgresql, admin_role, seen
):
    """With the rights of ASO's own sample, which its spec asks for."""
    world = postgresql
    rows(world, f"CREATE ROLE sample LOGIN CREATEROLE IN ROLE {admin_role}")
    user = world.asos(
        world.user(
            azure_name="sample", roles=[admin_role], roleOptions={"createRole": True}
        )
    )
    world.apply(user)
    if seen:
        world.settle(user)
    world.delete(user)
    assert world.settle(user) is None
    assert options_of(world, "sample") == []


def test_an_object_of_aso_gets_no_administrator_that_it_does_not_ask_for(postgresql):
    world = postgresql
    rows(world, "CREATE ROLE boss LOGIN CREATEROLE")
    user = world.asos(world.user(azure_name="boss"))
    world.apply(user)
    assert "does not ask for" in world.reason(user)[1]
    world.delete(user)
    assert world.settle(user) is None
    assert len(options_of(world, "boss")) == 1
    rows(world, "DROP ROLE boss")


@pytest.mark.parametrize(
    ("made", "why"),
    [
        ("LOGIN CREATEROLE", "CREATEROLE"),
        ("LOGIN REPLICATION", "REPLICATION"),
        ("LOGIN BYPASSRLS", "BYPASSRLS"),
        ("LOGIN IN ROLE azure_pg_admin", "membership of azure_pg_admin"),
        ("LOGIN IN ROLE within", "membership of within"),
        ("LOGIN IN ROLE pg_execute_server_program", "pg_execute_server_program"),
    ],
)
def test_an_administrator_is_not_taken_over(postgresql, admin_role, made, why):
    world = postgresql
    rows(world, f"CREATE ROLE within IN ROLE {admin_role}")
    rows(world, f"CREATE ROLE another_admin {made}")
    before = rows(world, "SELECT * FROM pg_authid WHERE rolname = 'another_admin'")
    try:
        user = world.user(azure_name="another_admin")
        world.apply(user)
        assert why in world.reason(user)[1]
        world.delete(user)
        assert world.settle(user) is None
        found = rows(world, "SELECT * FROM pg_authid WHERE rolname = 'another_admin'")
        assert found == before
    finally:
        rows(world, "DROP ROLE another_admin")
        rows(world, "DROP ROLE within")


def test_a_user_that_was_there_and_was_refused_is_not_dropped(postgresql):
    world = postgresql
    rows(world, "CREATE ROLE refused LOGIN")
    user = world.user(azure_name="refused", roleOptions={"replication": True})
    world.apply(user)
    assert world.reason(user)[0] == "RefusedByServer"
    world.delete(user)
    assert world.settle(user) is None
    assert len(options_of(world, "refused")) == 1
    rows(world, "DROP ROLE refused")


@pytest.mark.parametrize("drop", ["before", "after"])
@pytest.mark.parametrize("after", range(5))
def test_wherever_the_process_dies_nothing_foreign_is_dropped(postgresql, after, drop):
    """A user that stays is one of which no creation is recorded, and that is said."""
    world = postgresql
    user = world.user(f"dying-{after}-{drop}", roles=["readers"])
    world.apply(user)
    world.cluster.faults.plan(
        InjectedFault(
            verb="patch",
            resource="users.dbforpostgresql.azure.com",
            drop=drop,
            after=after,
        )
    )
    with contextlib.suppress(TransportError):
        for _ in range(3):
            world.run_once(user)
    world.cluster.faults.clear()
    world.restart()
    world.settle(user)
    name = user["metadata"]["name"]
    assert member_of(world, name) == {"readers"}
    world.delete(user)
    assert world.settle(user) is None
    left = bool(options_of(world, name))
    assert left == bool(world.events_of("NotDeletedInDatabase"))
    assert left == bool(world.events_of("UserAdopted"))
    rows(world, f'DROP ROLE IF EXISTS "{name}"')


def test_a_user_that_was_made_again_by_others_is_not_dropped(postgresql):
    world = postgresql
    user = world.settled(world.user(azure_name="again"))
    rows(world, "DROP ROLE again")
    rows(world, "CREATE ROLE again LOGIN")
    world.delete(user)
    assert world.settle(user) is None
    assert len(options_of(world, "again")) == 1
    assert "another user of that name" in world.events_of("NotDeletedInDatabase")[0]
    rows(world, "DROP ROLE again")


@pytest.mark.parametrize("note", [None, "{}", '{"name":"victim","state":"made"}'])
def test_a_record_that_is_lost_or_forged_drops_nothing(postgresql, note):
    world = postgresql
    rows(world, "CREATE ROLE victim LOGIN")
    user = world.settled(world.user(azure_name="victim"))
    world.annotate(user, **{NOTE: note})
    world.delete(user)
    assert world.settle(user) is None
    assert len(options_of(world, "victim")) == 1
    rows(world, "DROP ROLE victim")


def test_a_record_of_another_object_drops_nothing(postgresql):
    world = postgresql
    maker = world.settled(world.user(azure_name="made"))
    note = world.read(maker)["metadata"]["annotations"][NOTE]
    thief = world.user(azure_name="made")
    world.apply(thief)
    world.annotate(thief, **{NOTE: note})
    world.run(thief)
    world.delete(thief)
    assert world.settle(thief) is None
    assert len(options_of(world, "made")) == 1


@pytest.mark.parametrize(
    ("choice", "roles", "reason"),
    [
        ("fail", [], "AlreadyExists"),
        ("adopt-if-same", ["readers"], "AlreadyExists"),
        ("adopt-if-same", [], "Succeeded"),
        ("observe", ["readers"], "Succeeded"),
        ("fial", [], "AlreadyExists"),
    ],
)
def test_a_user_that_is_there_is_taken_as_the_object_says(
    postgresql, choice, roles, reason
):
    world = postgresql
    rows(world, "CREATE ROLE present LOGIN PASSWORD 'before'")
    user = world.user(azure_name="present", roles=roles)
    user["metadata"]["annotations"] = {IF_EXISTS: choice}
    world.apply(user)
    assert world.reason(user)[0] == reason
    is_taken = choice == "adopt-if-same" and reason == "Succeeded"
    assert lets_in(world, "present", "before") != is_taken
    assert member_of(world, "present") == set()
    world.delete(user)
    assert world.settle(user) is None
    assert len(options_of(world, "present")) == 1
    rows(world, "DROP ROLE present")


@pytest.mark.parametrize("choice", ["fail", "observe"])
def test_a_user_of_one_s_own_is_managed_whatever_is_said_of_others(postgresql, choice):
    world = postgresql
    user = world.user()
    user["metadata"]["annotations"] = {IF_EXISTS: choice}
    world.settled(user)
    user["spec"]["roles"] = ["readers"]
    world.apply(user)
    world.settle(user)
    assert member_of(world, user["metadata"]["name"]) == {"readers"}
    world.delete(user)
    assert world.settle(user) is None
    assert options_of(world, user["metadata"]["name"]) == []


def test_a_name_that_the_server_would_cut_is_refused(postgresql):
    world = postgresql
    user = world.user(azure_name="ö" * 32)
    world.apply(user)
    reason, message = world.reason(user)
    assert (reason, world.ready(user)["severity"]) == ("Failed", "Error")
    assert "more than 63 bytes" in message


def passwords_sent(world, name):
    log = world.server.log.read_text()
    return log.count(f'ALTER ROLE "{name}" WITH PASSWORD')


def test_an_unchanged_password_is_not_sent_again(postgresql):
    world = postgresql
    user = world.settled(world.user())
    name = user["metadata"]["name"]
    for _ in range(3):
        world.restart()
        world.settle(user)
    assert passwords_sent(world, name) == 0
    world.set_secret(user="second", admin=servers.ADMIN_PASSWORD)
    for _ in range(3):
        world.run(user)
    assert passwords_sent(world, name) == 1
    assert lets_in(world, name, "second")
    stored = str(world.read(user)["metadata"]["annotations"])
    assert "second" not in stored
    assert "first-password" not in stored


class Refusing:
    """A session on which the server refuses some statements."""

    def __init__(self, session, refused):
        self._session, self._refused = session, refused
        self.query, self.close = session.query, session.close

    def execute(self, statement):
        if self._refused in statement.sql:
            raise ServerError("against the rules", trouble="refused", code="42501")
        self._session.execute(statement)


@pytest.mark.parametrize("refused", ["PASSWORD", "GRANT"])
def test_what_is_refused_holds_nothing_else_up(postgresql, refused):
    world = postgresql
    user = world.settled(world.user(roles=["writers"]))
    name = user["metadata"]["name"]
    connect = world.users._sessions._connect
    world.users._sessions._connect = lambda *where: Refusing(connect(*where), refused)
    world.clock.advance(3600)  # no connection is kept for so long
    world.set_secret(user="second", admin=servers.ADMIN_PASSWORD)
    user["spec"]["roles"] = ["readers"]
    world.apply(user)
    reason, message = world.reason(user)
    assert reason == "RefusedByServer"
    assert refused in message
    assert "second" not in message
    is_granted = {"readers"} if refused == "PASSWORD" else set()
    assert member_of(world, name) == is_granted
    assert lets_in(world, name, "second") == (refused == "GRANT")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("CONNECTION LIMIT 0", "connection limit is 0"),
        ("VALID UNTIL '2020-01-01'", "password has expired"),
    ],
)
def test_a_user_that_cannot_sign_in_is_not_ready(postgresql, change, why):
    world = postgresql
    user = world.settled(world.user())
    name = user["metadata"]["name"]
    rows(world, f'ALTER ROLE "{name}" {change}')
    reason, message = world.reason(user)
    assert reason == "UserCannotSignIn"
    assert why in message
    user["spec"]["roleOptions"] = {"login": False}
    world.apply(user)
    world.settle(user)  # not meant to sign in


def test_a_locked_role_times_out_alone(postgresql, monkeypatch):
    world = postgresql
    monkeypatch.setattr(driver, "STATEMENT_SECONDS", 2.0)
    locked, free = (world.settled(world.user(roles=["readers"])) for _ in "ab")
    world.clock.advance(3600)  # the next connections have the limit
    for user in (locked, free):
        user["spec"]["roleOptions"] = {"createDb": True}
        world.apply(user)
    with superuser(world.server) as other:
        other.run("START TRANSACTION")
        other.run(f'ALTER ROLE "{locked["metadata"]["name"]}" CREATEDB')
        reason, message = world.reason(locked)
        assert world.reason(free)[0] == "Succeeded"
        other.run("ROLLBACK")
    assert reason == "LockedOnServer"
    assert "lock timeout" in message
    world.settle(locked)


def test_a_login_outlives_the_object_of_its_server(postgresql):
    world = postgresql
    user = world.settled(world.user("outlives"))
    world.delete(world.owner)
    world.delete(user)
    reason, message = world.reason(user)
    assert reason == "OwnerDetached"
    assert "User 'outlives' still exists" in message
    assert len(options_of(world, "outlives")) == 1
    world.make_owner(f"localhost:{world.server.port}")
    assert world.settle(user) is None
    assert options_of(world, "outlives") == []


def test_a_login_whose_server_is_gone_from_azure_is_gone(postgresql):
    world = postgresql
    user = world.settled(world.user("goes"))
    world.delete(world.owner)
    world.azure.remove(world.owner_id)
    world.delete(user)
    assert world.settle(user) is None
    assert world.events_of("OwnerGone")
    rows(world, "DROP ROLE goes")


@pytest.mark.parametrize("policy", ["detach-on-delete", "skip"])
def test_an_object_that_lets_go_leaves_the_login(postgresql, policy):
    world = postgresql
    user = world.settled(world.user(f"kept-{policy}"))
    world.annotate(user, **{RECONCILE_POLICY: policy})
    world.delete(user)
    assert world.settle(user) is None
    name = user["metadata"]["name"]
    assert len(options_of(world, name)) == 1
    rows(world, f'DROP ROLE "{name}"')


# Characters that differ between RFC 4013 and PostgreSQL's code, or that are prepared.
PREPARED = [
    *("a\u200bb", "\u200b", "a\u0340", "a\u0341b", "\u1680x", "x\u00a0y"),
    *("\u2168", "I\u00adX", "\u0627a", "\u06271\u0627", "\u0627", "a\u0007\u00e9"),
    *("\ue000\u00e9", "\u0221\u00e9", "\ufb01", "\u212b", "\U0001f600"),
]


@pytest.mark.parametrize("password", PREPARED, ids=ascii)
def test_psql_signs_in_with_each_password(postgresql, tmp_path, password):
    world = postgresql
    psql = servers.postgresql_programs() / "psql"
    if not psql.exists():
        pytest.skip("no psql here")
    world.set_secret(user=password, admin=servers.ADMIN_PASSWORD)
    user = world.settled(world.user())
    (tmp_path / "ca.pem").write_text(world.server.ca)
    where = (
        f"host=localhost port={world.server.port} dbname=postgres sslmode=verify-full "
        f"sslrootcert={tmp_path}/ca.pem user={user['metadata']['name']}"
    )
    libraries = psql.parents[4].glob("usr/lib/*-linux-gnu")
    environment = {
        "PGPASSWORD": password,
        "LC_ALL": "C.UTF-8",
        "PGCLIENTENCODING": "UTF8",
        "PATH": os.environ["PATH"],
        "LD_LIBRARY_PATH": ":".join(map(str, libraries)),
    }
    done = subprocess.run(
        [psql, "--no-psqlrc", "-w", where, "-Atc", "SELECT 1"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("1\n", "")


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
    assert reason == "ServerUnreachable"
    assert "no verified connection" in message
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
    assert "refused" not in message
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


def test_a_server_that_hangs_leaves_ready_at_first_and_names_the_way_out(
    postgresql, monkeypatch
):
    """One failed read says nothing about the user; a deletion may wait for ever."""
    world = postgresql
    monkeypatch.setattr(driver, "CONNECT_SECONDS", 0.3)
    user = world.settled(world.user())
    world.clock.advance(3600)
    world.server.pause()
    try:
        world.run(user)
        shown = world.ready(user)["status"]
        world.delete(user)
        reason, message = world.reason(user)
    finally:
        world.server.go_on()
    assert shown == "True"
    assert reason == "ServerUnreachable"
    assert "detach-on-delete" in message
    world.clock.advance(60)
    assert world.settle(user) is None


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
    assert world.reason(user)[0] == "Succeeded"


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
