"""`asoctl plan` for users of databases: reads real servers, and changes nothing
there.
"""

import json
from contextlib import closing, contextmanager

import pymysql
import pytest
import servers
import yaml
from click.testing import CliRunner
from kubeapi import kube_server
from pg8000.native import Connection

from asoreconcile.azure.catalogue.crd import crd
from asoreconcile.azure.cmd.asoctl import main
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.reconcile.model.annotations import RECONCILE_POLICY
from asoreconcile.azure.sql_users.kinds import mysql_kind, postgresql_kind
from asoreconcile.azure.sql_users.server import DatabaseServer, ServerError, SignIn
from asoreconcile.azure.sql_users.statement import Statement
from asoreconcile.azure.sql_users.user import NOTE
from asoreconcile.base.objects import GroupKind, gvk_of
from asoreconcile.testing.arm import ArmServer

# Not that of the other files, whose servers these are, too.
ADMIN, PASSWORD = "planner", "plan'\"s \\ hunter2"
POSTGRESQL = "dbforpostgresql.azure.com"
MYSQL = "dbformysql.azure.com"
VERSIONS = {POSTGRESQL: "v20250801", MYSQL: "v20241230"}


class PostgreSqlCatalogue:
    """The server as its superuser sees it."""

    group = POSTGRESQL

    def __init__(self, server):
        self.server = server

    def rows(self, sql):
        with closing(
            Connection(
                "postgres",
                password=servers.SUPERUSER_PASSWORD,
                host="localhost",
                port=self.server.port,
                database="postgres",
                ssl_context=self.server.trust(),
            )
        ) as connection:
            return connection.run(sql)

    def dump(self):
        tables = "pg_authid pg_auth_members pg_db_role_setting pg_database pg_shdepend"
        return {
            table: self.rows(f"SELECT t.*, t.xmin FROM {table} t ORDER BY t::text")
            for table in tables.split()
        }


class MySqlCatalogue:
    """The same of MariaDB."""

    group = MYSQL

    def __init__(self, server):
        self.server = server

    def rows(self, sql):
        with (
            closing(
                pymysql.connect(
                    host="localhost",
                    port=self.server.port,
                    user="super",
                    password=servers.SUPERUSER_PASSWORD,
                    ssl=self.server.trust(),
                    autocommit=True,
                )
            ) as connection,
            connection.cursor() as cursor,
        ):
            cursor.execute(sql)
            return [*cursor.fetchall()]

    def dump(self):
        tables = "global_priv db tables_priv columns_priv procs_priv roles_mapping"
        return {
            table: sorted(map(repr, self.rows(f"SELECT * FROM mysql.{table}")))
            for table in tables.split()
        }


@pytest.fixture(scope="session")
def postgresql_catalogue(postgresql_server):
    catalogue = PostgreSqlCatalogue(postgresql_server)
    text = "E'" + PASSWORD.replace("\\", "\\\\").replace("'", "''") + "'"
    for sql in (
        f"CREATE ROLE {ADMIN} LOGIN CREATEROLE CREATEDB PASSWORD {text}",
        "CREATE ROLE plan_readers",
        "CREATE ROLE plan_same LOGIN IN ROLE plan_readers",
        "CREATE ROLE plan_other LOGIN CREATEDB IN ROLE pg_monitor",
        "CREATE ROLE plan_super SUPERUSER",
    ):
        catalogue.rows(sql)
    return catalogue


@pytest.fixture(scope="session")
def mysql_catalogue(mariadb_server):
    catalogue = MySqlCatalogue(mariadb_server)
    text = pymysql.converters.escape_string(PASSWORD)
    for sql in (
        f"CREATE USER {ADMIN}@'%' IDENTIFIED BY '{text}'",
        f"GRANT ALL ON *.* TO {ADMIN}@'%' WITH GRANT OPTION",
        "CREATE USER plan_same@'%' IDENTIFIED BY 'x'",
        "GRANT SELECT ON planned.* TO plan_same@'%'",
        "CREATE USER plan_other@'%' IDENTIFIED BY 'x'",
        "GRANT RELOAD ON *.* TO plan_other@'%'",
    ):
        catalogue.rows(sql)
    return catalogue


@pytest.fixture
def azure(tmp_path, monkeypatch):
    with ArmServer() as server:
        server.write_ca(tmp_path / "ca.pem")
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "ca.pem"))
        for name, value in server.settings().items():
            monkeypatch.setenv(name, value)
        group = f"/subscriptions/{server.subscription_id}/resourceGroups/rg"
        server.seed(group, {"location": "westeurope"})
        yield server


@pytest.fixture
def trusted(tmp_path, monkeypatch):
    """Has asoctl trust a database's authority."""

    def trust(server):
        (tmp_path / "database.pem").write_text(server.ca)
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "database.pem"))

    return trust


@pytest.fixture(params=[POSTGRESQL, MYSQL])
def catalogue(request, azure, trusted):
    name = "postgresql" if request.param == POSTGRESQL else "mysql"
    found = request.getfixturevalue(f"{name}_catalogue")
    trusted(found.server)
    return found


@pytest.fixture
def postgresql_only(azure, trusted, postgresql_catalogue):
    trusted(postgresql_catalogue.server)
    return postgresql_catalogue


def manifests(catalogue, name, *, port=None, password=PASSWORD, notes=None, **spec):
    """All that a plan needs; the owners change nothing."""
    group = catalogue.group
    local = {
        "password": {"name": "passwords", "key": "user"},
        "serverAdminPassword": {"name": "passwords", "key": "admin"},
        "serverAdminUsername": spec.pop("admin", ADMIN),
    }
    host = f"localhost:{port or catalogue.server.port}"
    return [
        {
            "apiVersion": "resources.azure.com/v1api20200601",
            "kind": "ResourceGroup",
            "metadata": {"name": "rg"},
            "spec": {"location": "westeurope"},
        },
        {
            "apiVersion": f"{group}/{VERSIONS[group]}",
            "kind": "FlexibleServer",
            "metadata": {"name": "server", "annotations": {RECONCILE_POLICY: "skip"}},
            "spec": {"owner": {"name": "rg"}, "location": "westeurope"},
            "status": {"fullyQualifiedDomainName": host},
        },
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "passwords"},
            "stringData": {"admin": password, "user": "hunter3"},
        },
        {
            "apiVersion": f"{group}/v1",
            "kind": "User",
            "metadata": {"name": "user", "annotations": notes or {}},
            "spec": {
                "azureName": name,
                "owner": {"name": "server"},
                "localUser": local,
                **spec,
            },
        },
    ]


def run(objects, *arguments):
    text = yaml.safe_dump_all(objects)
    done = CliRunner().invoke(main, ["plan", "-f", "-", *arguments], input=text)
    assert "hunter" not in done.output, done.output
    return done


def planned(objects):
    """The user's change, and the exit code."""
    done = run(objects, "-o", "json")
    changes = [json.loads(line) for line in done.stdout.splitlines()]
    assert changes[-1]["kind"].startswith("User.")
    return changes[-1], done.exit_code


@contextmanager
def unchanged(catalogue):
    """The catalogue's rows are as they were, to the byte."""
    before = catalogue.dump()
    yield
    assert catalogue.dump() == before


def test_a_user_that_is_not_there_would_be_created(catalogue):
    spec, expected = {
        POSTGRESQL: (
            {"roles": ["plan_readers"], "roleOptions": {"createDb": True}},
            [
                "CREATE ROLE \"plan_new\" WITH LOGIN PASSWORD '***'",
                'ALTER ROLE "plan_new" WITH CREATEDB',
                'GRANT "plan_readers" TO "plan_new"',
            ],
        ),
        MYSQL: (
            {"databasePrivileges": {"planned": ["select"]}},
            [
                "CREATE USER 'plan_new'@'%' IDENTIFIED BY '***'",
                "GRANT SELECT ON `planned`.* TO 'plan_new'@'%'",
            ],
        ),
    }[catalogue.group]
    with unchanged(catalogue):
        change, code = planned(manifests(catalogue, "plan_new", **spec))
        done = run(manifests(catalogue, "plan_new", **spec))
    assert (change["action"], code) == ("create", 2), change
    assert change["statements"] == expected
    assert done.exit_code == 2
    assert all(f"    {statement}\n" in done.stdout for statement in expected)


def test_a_user_in_order_would_not_change(catalogue):
    spec = {
        POSTGRESQL: {"roles": ["plan_readers"]},
        MYSQL: {"databasePrivileges": {"planned": ["SELECT"]}},
    }[catalogue.group]
    with unchanged(catalogue):
        change, code = planned(manifests(catalogue, "plan_same", **spec))
    assert (change["action"], code) == ("no change", 0), change
    assert change["statements"] == []
    assert change["writeOnly"] == ["localUser.password"]


def test_a_user_that_differs_would_be_brought_in_line(catalogue):
    spec, expected = {
        POSTGRESQL: (
            {"roles": ["plan_readers"]},
            [
                'ALTER ROLE "plan_other" WITH NOCREATEDB',
                'REVOKE "pg_monitor" FROM "plan_other"',
                'GRANT "plan_readers" TO "plan_other"',
                "ALTER ROLE \"plan_other\" WITH PASSWORD '***'",
            ],
        ),
        MYSQL: (
            {"databasePrivileges": {"planned": ["ALL"]}},
            [
                "REVOKE RELOAD ON *.* FROM 'plan_other'@'%'",
                "GRANT ALL PRIVILEGES ON `planned`.* TO 'plan_other'@'%'",
                "ALTER USER 'plan_other'@'%' IDENTIFIED BY '***'",
            ],
        ),
    }[catalogue.group]
    with unchanged(catalogue):
        change, code = planned(manifests(catalogue, "plan_other", **spec))
    assert (change["action"], code) == ("update", 2), change
    assert change["statements"] == expected


def test_a_renamed_user_would_keep_its_rights(postgresql_only):
    rows = postgresql_only.rows("SELECT oid FROM pg_roles WHERE rolname = 'plan_same'")
    notes = {NOTE: f'{{"name":"plan_same","state":"made","id":"{rows[0][0]}"}}'}
    objects = manifests(
        postgresql_only, "plan_after", roles=["plan_readers"], notes=notes
    )
    with unchanged(postgresql_only):
        change, _ = planned(objects)
    assert change["action"] == "update", change
    assert change["statements"] == [
        'ALTER ROLE "plan_same" RENAME TO "plan_after"',
        "ALTER ROLE \"plan_after\" WITH PASSWORD '***'",
    ]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"password": "wrong"}, "administrator of the server"),
        ({"port": 1}, "cannot be used"),
        ({"name": "plan_super"}, "superuser"),
        ({"name": ADMIN}, "administrator that the operator signs in as"),
        ({"without": "Secret"}, "Secret 'passwords' is not among the manifests"),
    ],
)
def test_what_nobody_can_tell_says_why(postgresql_only, change, why):
    without, name = change.pop("without", ""), change.pop("name", "plan_new")
    objects = manifests(postgresql_only, name, **change)
    with unchanged(postgresql_only):
        found, code = planned([obj for obj in objects if obj["kind"] != without])
    assert (found["action"], code) == ("cannot tell", 1), found
    assert why in found["why"]
    assert found["statements"] == []


def test_azure_says_where_a_server_of_a_manifest_is(azure, postgresql_only):
    objects = manifests(postgresql_only, "plan_same", roles=["plan_readers"])
    host = objects[1].pop("status")
    assert planned(objects)[0]["why"].startswith("404 ")
    azure.seed(
        f"/subscriptions/{azure.subscription_id}/resourceGroups/rg/providers/"
        "Microsoft.DBforPostgreSQL/flexibleServers/server",
        {"location": "westeurope", "properties": host},
    )
    change, code = planned(objects)
    assert (change["action"], code) == ("no change", 0), change


def test_a_cluster_has_the_administrator_s_password(
    azure, postgresql_only, tmp_path, monkeypatch
):
    """It is sent to the server that Azure names, and not to that of a status."""
    objects = manifests(postgresql_only, "plan_same", roles=["plan_readers"])
    server = next(one for one in objects if "status" in one)
    found = dict(server["status"])
    server["status"] = {"fullyQualifiedDomainName": "stranger.example.com:1"}
    azure.seed(
        f"/subscriptions/{azure.subscription_id}/resourceGroups/rg/providers/"
        "Microsoft.DBforPostgreSQL/flexibleServers/server",
        {"location": "westeurope", "properties": found},
    )
    with kube_server() as (kube, client):
        kube.write_kubeconfig(tmp_path / "kubeconfig")
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
        for obj in objects:
            post(client, obj)
        done = CliRunner().invoke(main, ["plan", "--cluster"])
        assert done.exit_code == 0, done.output
        assert "Plan: 3 no change" in done.stdout
        client.delete("/api/v1/namespaces/default/secrets/passwords").expect(200)
        done = CliRunner().invoke(main, ["plan", "--cluster"])
    assert done.exit_code == 1
    assert 'secrets "passwords" not found' in done.stdout


def post(client, obj):
    """Apply an object as kubectl does, and its kind's CRD."""
    if obj["kind"] == "Secret":
        client.post("/api/v1/namespaces/default/secrets", obj).expect(201)
        return
    gvk = gvk_of(obj)
    kind = builtin().kind(GroupKind(gvk.group, gvk.kind))
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    client.post(definitions, crd(kind, versions=[gvk.version])).expect(201)
    path = f"/apis/{obj['apiVersion']}/namespaces/default/{kind.plural}"
    made = client.post(path, obj).expect(201)
    if "status" in obj:
        path = f"{path}/{obj['metadata']['name']}/status"
        client.put(path, {**made.json, "status": obj["status"]}).expect(200)


def test_a_session_of_a_plan_cannot_write(catalogue):
    server = catalogue.server
    kind, database, statement = {
        POSTGRESQL: (postgresql_kind, "postgres", "CREATE ROLE never"),
        MYSQL: (mysql_kind, "mysql", "CREATE USER never IDENTIFIED BY 'x'"),
    }[catalogue.group]
    made = kind(server.trust)
    where = DatabaseServer("localhost", server.port, database)
    with closing(made.connect(where, SignIn(ADMIN, PASSWORD))) as session:
        session.execute(Statement.of(made.dialect.read_only))
        with unchanged(catalogue), pytest.raises(ServerError, match=r"(?i)read.only"):
            session.execute(Statement.of(statement))
