"""Users of Azure SQL through their driver, against a double of the protocol.

No such server can run here: its answers are taken from Microsoft's documentation.
"""

import json
from unittest import mock

import pytest
import servers
import yaml
from click.testing import CliRunner
from databaseworlds import DatabaseWorld
from taps import CrashError
from tds_double import TdsDouble

from asoreconcile.azure.cmd.asoctl import main
from asoreconcile.azure.reconcile.model.annotations import (
    RECONCILE_POLICY,
    RESOURCE_ID,
)
from asoreconcile.azure.sql_users.kinds import azure_sql_kind, database_users
from asoreconcile.base.objects import GroupKind, key_of
from asoreconcile.kube.errors import TransportError
from asoreconcile.testing.throwaway_certificates import certificate_authority

READY = {
    "type": "Ready",
    "status": "True",
    "reason": "Succeeded",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}


class AzureSqlWorld(DatabaseWorld):
    group = "sql.azure.com"

    def sql_id(self, kind, name):
        group = f"/subscriptions/{self.azure.subscription_id}/resourceGroups/rg"
        server = f"{group}/providers/Microsoft.Sql/servers"
        return (
            f"{server}/{name}" if kind == "Server" else f"{server}/sql/databases/{name}"
        )

    def make_sql_owner(self, kind, name, owner, status):
        obj = {
            "apiVersion": "sql.azure.com/v20250101",
            "kind": kind,
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"owner": {"name": owner}, "location": "westeurope"},
        }
        self.apply(obj)
        self.annotate(
            obj,
            **{RESOURCE_ID: self.sql_id(kind, name)},
        )
        if status:
            self.azure.seed(self.sql_id(kind, name), {"properties": dict(status)})
        self.client.patch(
            self.resource_for(obj),
            key_of(obj),
            {"status": {"conditions": [READY], **status}},
            subresource="status",
        )


@pytest.fixture
def world(tmp_path, monkeypatch):
    authority = certificate_authority("azure sql")
    certificate, key = authority.issue(["localhost"])
    (tmp_path / "server.pem").write_bytes(certificate)
    (tmp_path / "server.key").write_bytes(key)
    (tmp_path / "ca.pem").write_bytes(authority.pem)
    with (
        AzureSqlWorld(tmp_path) as world,
        TdsDouble(
            tmp_path / "server.pem",
            tmp_path / "server.key",
            user=servers.ADMIN,
            password=servers.ADMIN_PASSWORD,
        ) as double,
    ):
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        world.server = double
        world.users = database_users(azure_sql_kind(), clock=world.clock)
        group = world.group
        world.install(*(f"{group}/{k}" for k in ("Server", "ServersDatabase", "User")))
        world.external[GroupKind(group, "User")] = world.users
        host = {"fullyQualifiedDomainName": f"localhost:{double.port}"}
        world.make_sql_owner("Server", "sql", "rg", host)
        world.make_sql_owner("ServersDatabase", "shop", "sql", {})
        world.set_secret(user="it's", admin=servers.ADMIN_PASSWORD)
        yield world
        world.users.close()


def sql_user(world, **spec):
    return world.user("app", owner={"name": "shop"}, **spec)


def test_a_user_of_a_database_is_made_and_brought_in_line(world):
    user = world.settled(sql_user(world, roles=["db_datareader", "db_datawriter"]))
    assert world.server.databases == ["shop"]
    assert world.server.statements == [
        "CREATE USER [app] WITH PASSWORD = N'it''s'",
        "ALTER ROLE [db_datareader] ADD MEMBER [app]",
        "ALTER ROLE [db_datawriter] ADD MEMBER [app]",
    ]
    user["spec"]["roles"] = ["db_datareader"]
    world.apply(user)
    world.settle(user)
    assert world.server.statements[3:] == [
        "ALTER ROLE [db_datawriter] DROP MEMBER [app]",
    ]
    world.delete(user)
    assert world.settle(user) is None
    assert world.server.statements[-1] == "DROP USER IF EXISTS [app]"
    assert world.server.databases == ["shop"]  # by one connection


def test_objects_whose_names_differ_in_letter_case_are_for_one_user(world):
    first = world.settled(sql_user(world))
    second = world.user("other", azure_name="APP", owner={"name": "shop"})
    world.apply(second)
    reason, message = world.reason(second)
    assert reason == "AlreadyManaged"
    assert f"default/{first['metadata']['name']}" in message


@pytest.mark.parametrize("write", ["creation", "deletion"])
def test_r1_18_a_policy_set_while_the_server_is_asked_is_obeyed(world, write):
    """A sign-in may take a minute, and the object may say something else by then."""
    user, policy = (
        sql_user(world),
        "skip" if write == "creation" else "detach-on-delete",
    )
    if write == "creation":
        world.apply(user)
        world.run_once(user)
    else:
        world.settled(user)
        world.delete(user)
    before, sessions = list(world.server.statements), world.users._sessions
    sign_in = sessions.run

    def slow(*arguments):
        world.annotate(user, **{RECONCILE_POLICY: policy})
        return sign_in(*arguments)

    with mock.patch.object(sessions, "run", slow):
        world.run_once(user)
    assert world.server.statements == before


def test_k2_a_user_that_the_database_hides_is_not_taken_for_dropped(world):
    """Without ALTER ANY USER the operator sees no other users."""
    user = world.settled(sql_user(world))
    world.server.hides_users = True
    world.delete(user)
    reason, message = world.reason(user)
    assert (reason, world.read(user) is None) == ("RefusedByServer", False)
    assert "ALTER ANY USER" in message
    world.server.hides_users = False
    assert world.settle(user) is None
    assert world.server.roles == {}


def test_a_deleted_object_hands_its_user_over(world):
    """The heir gets the record of the creation, so its deletion drops the user."""
    first = world.settled(sql_user(world))
    second = world.user("other", azure_name="APP", owner={"name": "shop"})
    world.apply(second)
    assert world.reason(second)[0] == "AlreadyManaged"
    world.delete(first)
    assert world.settle(first) is None
    world.settle(second)
    said = world.server.statements
    assert [one for one in said if one.startswith(("CREATE", "DROP"))] == said[:1]
    assert world.events_of("TakesOver") == [
        "default/app is deleted: this object takes over"
    ]
    world.delete(second)
    assert world.settle(second) is None
    assert world.server.statements[-1] == "DROP USER IF EXISTS [APP]"


@pytest.mark.parametrize("end", ["crash", "lost answer"])
def test_a_hand_over_that_is_cut_off_is_done_again(world, end):
    """The process dies after the PATCH of the heir, or does not get the answer."""
    first = world.settled(sql_user(world))
    second = world.user("other", azure_name="APP", owner={"name": "shop"})
    world.apply(second)
    world.run(second)
    world.delete(first)
    patch = world.client.patch

    def cut_off(resource, key, *arguments, **options):
        patch(resource, key, *arguments, **options)
        assert key == key_of(second)
        raise CrashError if end == "crash" else TransportError("no answer")

    with (
        mock.patch.object(world.client, "patch", cut_off),
        pytest.raises((CrashError, TransportError)),
    ):
        world.run(first)
    assert world.read(first) is not None
    if end == "crash":
        world.restart()
        world.run(second)  # the heir may come first, too
    assert world.settle(first) is None
    world.settle(second)
    said = world.server.statements
    assert [one for one in said if one.startswith(("CREATE", "DROP"))] == said[:1]
    world.delete(second)
    assert world.settle(second) is None
    assert world.server.statements[-1] == "DROP USER IF EXISTS [APP]"


def test_an_administrator_of_the_database_is_not_taken_over(world):
    world.server.roles["app"] = {"db_owner"}
    user = sql_user(world)
    world.apply(user)
    assert "it is an administrator (membership of db_owner)" in world.reason(user)[1]
    world.delete(user)
    assert world.settle(user) is None
    assert world.server.statements == []


@pytest.mark.parametrize(
    ("refusal", "reason"),
    [
        (
            (40615, "Client with IP address '192.0.2.1' is not allowed."),
            "BlockedByFirewall",
        ),
        ((40613, "Database 'shop' is not currently available."), "ServerUnreachable"),
    ],
)
def test_what_the_server_says_at_the_sign_in_is_distinctions_of(world, refusal, reason):
    world.server.refuse["sign-in"] = refusal
    user = sql_user(world)
    world.apply(user)
    found, message = world.reason(user)
    assert found == reason
    assert refusal[1] in message


def test_a_wrong_password_of_the_administrator_is_said(world):
    world.set_secret(user="x", admin="not-the-one")
    user = sql_user(world)
    world.apply(user)
    assert world.reason(user)[0] == "AdministratorSignInFailed"


def test_a_statement_that_is_refused_is_said_without_its_secret(world):
    world.server.refuse["CREATE USER"] = (15118, "The password is not complex enough.")
    user = sql_user(world)
    world.apply(user)
    reason, message = world.reason(user)
    assert reason == "RefusedByServer", message
    assert "CREATE USER [app] WITH PASSWORD = '***'" in message
    assert "not complex enough" in message
    assert "it''s" not in message


def test_what_a_user_owns_keeps_it_and_is_said(world):
    user = world.settled(sql_user(world))
    world.server.refuse["DROP USER"] = (15138, "The principal owns a schema.")
    world.delete(user)
    assert world.reason(user)[0] == "UserOwnsObjects"


def test_a_server_that_cannot_be_verified_gets_no_sign_in(world, tmp_path, monkeypatch):
    other = tmp_path / "other.pem"
    other.write_bytes(certificate_authority("other").pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(other))
    user = sql_user(world)
    world.apply(user)
    assert world.reason(user)[0] == "ServerUnreachable"
    assert world.server.databases == []


def owned(kind, name, owner, **more):
    return {
        "apiVersion": "sql.azure.com/v20250101",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"owner": {"name": owner}, "location": "westeurope"},
        **more,
    }


def planned(world, **spec):
    """Return the output of `asoctl plan` for a user; the double knows each
    statement.
    """
    host = f"localhost:{world.server.port}"
    passwords = {"user": "it's", "admin": servers.ADMIN_PASSWORD}
    objects = [
        owned("Server", "sql", "rg", status={"fullyQualifiedDomainName": host}),
        owned("ServersDatabase", "shop", "sql"),
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "passwords"},
            "stringData": passwords,
        },
        sql_user(world, **spec),
    ]
    text = yaml.safe_dump_all(objects)
    done = CliRunner().invoke(main, ["plan", "-f", "-", "-o", "json"], input=text)
    return json.loads(done.stdout.splitlines()[-1])


def test_a_plan_reads_the_database_and_says_nothing_to_it(world):
    change = planned(world, roles=["db_datareader"])
    assert (change["action"], world.server.statements) == ("create", []), change
    assert change["statements"] == [
        "CREATE USER [app] WITH PASSWORD = '***'",
        "ALTER ROLE [db_datareader] ADD MEMBER [app]",
    ]
    world.settled(sql_user(world, roles=["db_datareader"]))
    said = [*world.server.statements]
    assert planned(world, roles=["db_datareader"])["action"] == "no change"
    assert planned(world)["statements"] == [
        "ALTER ROLE [db_datareader] DROP MEMBER [app]",
        "ALTER USER [app] WITH PASSWORD = '***'",
    ]
    assert world.server.statements == said
