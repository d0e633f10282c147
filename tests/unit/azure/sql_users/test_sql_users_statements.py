"""Which statements each server is told, in their order, from facts alone."""

import pytest

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.sql_users.azure_sql import AzureSql, DatabaseUserFacts
from asoreconcile.azure.sql_users.dialect import creation
from asoreconcile.azure.sql_users.mysql import AccountFacts, MySql
from asoreconcile.azure.sql_users.postgresql import (
    PostgreSql,
    RoleFacts,
    stored_password,
)
from asoreconcile.azure.sql_users.quoting import (
    ansi_identifier,
    mysql_account,
    mysql_identifier,
    postgresql_text,
    text,
    tsql_identifier,
    tsql_text,
)
from asoreconcile.azure.sql_users.statement import Secret, Statement

INJECTION = "x]\"`'; DROP TABLE t; --"


def sql(statements):
    return [one.sql for one in statements]


def changes(dialect, desired, facts):
    """All that may be said of a user: its rights, and then its password."""
    if facts is None:
        return sql(creation(dialect, desired))
    said = (*dialect.differences(desired, facts), *dialect.passwords(desired))
    return sql(said)


# Azure SQL, which no test has a server of.


def azure_sql(facts, *, roles=(), name="app", password="it's"):
    dialect = AzureSql()
    desired = dialect.desired(name, {"roles": list(roles)}, password=password)
    return changes(dialect, desired, facts)


def database_user(*member_of, type_="S"):
    return DatabaseUserFacts(type_, "DATABASE", frozenset(member_of))


@pytest.mark.parametrize(
    ("facts", "roles", "expected"),
    [
        (None, [], ["CREATE USER [app] WITH PASSWORD = N'it''s'"]),
        (
            None,
            ["db_datareader", "app role"],
            [
                "CREATE USER [app] WITH PASSWORD = N'it''s'",
                "ALTER ROLE [app role] ADD MEMBER [app]",
                "ALTER ROLE [db_datareader] ADD MEMBER [app]",
            ],
        ),
        (
            database_user("db_owner", "db_datareader"),
            ["db_datareader"],
            [
                "ALTER ROLE [db_owner] DROP MEMBER [app]",
                "ALTER USER [app] WITH PASSWORD = N'it''s'",
            ],
        ),
        (
            # Most databases compare names letter case aside.
            database_user("DB_DataReader"),
            ["db_datareader"],
            ["ALTER USER [app] WITH PASSWORD = N'it''s'"],
        ),
    ],
)
def test_a_user_of_azure_sql_is_brought_in_line(facts, roles, expected):
    assert azure_sql(facts, roles=roles) == expected


def test_names_of_azure_sql_are_names_whatever_is_in_them():
    assert azure_sql(None, name=INJECTION, roles=[INJECTION], password=INJECTION) == [
        (
            "CREATE USER [x]]\"`'; DROP TABLE t; --] WITH PASSWORD = "
            "N'x]\"`''; DROP TABLE t; --'"
        ),
        "ALTER ROLE [x]]\"`'; DROP TABLE t; --] ADD MEMBER [x]]\"`'; DROP TABLE t; --]",
    ]


def test_a_user_of_azure_sql_is_dropped_and_renamed():
    dialect = AzureSql()
    assert sql(dialect.drop({"name": "a]b"})) == ["DROP USER IF EXISTS [a]]b]"]
    renamed = dialect.rename({"name": "a"}, {"name": "b"})
    assert sql(renamed) == ["ALTER USER [a] WITH NAME = [b]"]


@pytest.mark.parametrize(
    ("name", "facts", "why"),
    [
        ("DBO", None, "the database's own"),
        ("sys", None, "the database's own"),
        ("##MS_agent##", None, "the database's own"),
        ("db_owner", database_user(type_="R"), "no user with a password"),
        ("someone", database_user(type_="E"), "no user with a password"),
        ("app", database_user(), ""),
        ("app", None, ""),
    ],
)
def test_what_of_azure_sql_is_not_ours(name, facts, why):
    refusal = AzureSql().refusal({"name": name}, facts)
    assert why in refusal
    assert bool(refusal) == bool(why)


def test_the_administrator_of_azure_sql_is_known_in_any_letter_case():
    assert AzureSql().is_user({"name": "SqlAdmin"}, "sqladmin")


# PostgreSQL.


def role(*member_of, superuser=False, **on):
    options = {"login": True, "createRole": False, "createDb": False}
    return RoleFacts(
        {**options, "replication": False, **on}, frozenset(member_of), superuser
    )


@pytest.mark.parametrize(
    ("facts", "spec", "expected"),
    [
        (None, {}, ["CREATE ROLE \"app\" WITH LOGIN PASSWORD 'p'"]),
        (
            None,
            {"roleOptions": {"login": False, "replication": True}},
            [
                "CREATE ROLE \"app\" WITH PASSWORD 'p'",
                'ALTER ROLE "app" WITH REPLICATION',
            ],
        ),
        (role(), {}, ["ALTER ROLE \"app\" WITH PASSWORD 'p'"]),
        (
            role("old", createDb=True),
            {"roles": ["new"], "roleOptions": {"createRole": True}},
            [
                'ALTER ROLE "app" WITH CREATEROLE',
                'ALTER ROLE "app" WITH NOCREATEDB',
                'REVOKE "old" FROM "app"',
                'GRANT "new" TO "app"',
                "ALTER ROLE \"app\" WITH PASSWORD 'p'",
            ],
        ),
    ],
)
def test_a_role_of_postgresql_is_brought_in_line(facts, spec, expected):
    dialect = PostgreSql()
    desired = dialect.desired("app", spec, password="p")
    assert changes(dialect, desired, facts) == expected


def test_what_differs_still_is_named_without_the_password():
    dialect = PostgreSql()
    desired = dialect.desired("app", {"roles": ["r"]}, password="p")
    left = dialect.differences(desired, role(createDb=True))
    assert sql(left) == ['ALTER ROLE "app" WITH NOCREATEDB', 'GRANT "r" TO "app"']
    assert dialect.differences(desired, role("r")) == ()


def test_a_password_is_stored_as_rfc_5802_and_7677_say():
    """The example of RFC 7677, with its salt and its 4096 rounds."""
    import base64

    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    stored = stored_password("user", "pencil", "scram-sha-256", salt=salt)
    assert stored == (
        "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$"
        "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:"
        "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
    )


def test_two_passwords_are_never_stored_alike():
    made = {stored_password("u", "p", "scram-sha-256") for _ in range(3)}
    assert len(made) == 3


# MySQL.


def account(plugin="mysql_native_password", **privileges):
    held = {place.strip("_"): frozenset(names) for place, names in privileges.items()}
    return AccountFacts(plugin, held)


@pytest.mark.parametrize(
    ("facts", "spec", "expected"),
    [
        (None, {}, ["CREATE USER 'app'@'%' IDENTIFIED BY 'p'"]),
        (
            None,
            {"hostname": "10.0.0.%", "privileges": ["process", "SHOW  databases"]},
            [
                "CREATE USER 'app'@'10.0.0.%' IDENTIFIED BY 'p'",
                "GRANT PROCESS, SHOW DATABASES ON *.* TO 'app'@'10.0.0.%'",
            ],
        ),
        (
            account(shop={"SELECT", "INSERT"}, stock={"SELECT"}),
            {"databasePrivileges": {"shop": ["SELECT", "UPDATE"]}},
            [
                "REVOKE INSERT ON `shop`.* FROM 'app'@'%'",
                "GRANT UPDATE ON `shop`.* TO 'app'@'%'",
                "REVOKE SELECT ON `stock`.* FROM 'app'@'%'",
                "ALTER USER 'app'@'%' IDENTIFIED BY 'p'",
            ],
        ),
        (
            account(_={"GRANT OPTION"}),
            {"privileges": ["ALL"]},
            [
                "REVOKE GRANT OPTION ON *.* FROM 'app'@'%'",
                "GRANT ALL PRIVILEGES ON *.* TO 'app'@'%'",
                "ALTER USER 'app'@'%' IDENTIFIED BY 'p'",
            ],
        ),
    ],
)
def test_an_account_of_mysql_is_brought_in_line(facts, spec, expected):
    dialect = MySql()
    desired = dialect.desired("app", spec, password="p")
    assert changes(dialect, desired, facts) == expected


@pytest.mark.parametrize(
    ("entra", "plugin"), [(True, "caching_sha2_password"), (False, "aad_auth")]
)
def test_an_account_of_mysql_keeps_its_type(entra, plugin):
    dialect = MySql()
    spec = {"aadUser": {}} if entra else {}
    desired = dialect.desired("app", spec, password="p")
    with pytest.raises(ConditionError, match="stays of its type"):
        dialect.differences(desired, account(plugin))


# Names, as the servers compare them.


@pytest.mark.parametrize(
    ("dialect", "name", "spec", "why"),
    [
        (PostgreSql(), "é" * 32, {}, "more than 63 bytes"),
        (PostgreSql(), "app", {"roles": ["r" * 64]}, "more than 63 bytes"),
        (MySql(), "dbadmin ", {}, "ends with a blank"),
        (MySql(), "app", {"hostname": "10.% "}, "ends with a blank"),
        (MySql(), "app", {"databasePrivileges": {"shop ": []}}, "ends with a blank"),
        (MySql(), "x", {"aadUser": {"alias": "short "}}, "ends with a blank"),
        (AzureSql(), "app ", {}, "ends with a blank"),
        (AzureSql(), "a" * 129, {}, "more than 128"),
    ],
)
def test_a_name_that_the_server_would_change_is_refused(dialect, name, spec, why):
    with pytest.raises(ConditionError, match=why) as refused:
        dialect.desired(name, spec, password="p")
    assert refused.value.severity == "Error"


@pytest.mark.parametrize(
    ("dialect", "one", "other", "same"),
    [
        (PostgreSql(), {"name": "App"}, {"name": "app"}, False),
        (PostgreSql(), {"name": "a" * 63}, {"name": "a" * 64}, True),
        (MySql(), {"name": "a", "host": "%"}, {"name": "a ", "host": "%"}, True),
        (MySql(), {"name": "a", "host": "H"}, {"name": "a", "host": "h"}, True),
        (MySql(), {"name": "a", "host": "%"}, {"name": "A", "host": "%"}, False),
        (MySql(), {"name": "a", "host": "%"}, {"name": "a", "host": "h"}, False),
        (AzureSql(), {"name": "App"}, {"name": "app "}, True),
        (AzureSql(), {"name": "App"}, {"name": "apps"}, False),
    ],
)
def test_names_are_compared_as_the_server_compares_them(dialect, one, other, same):
    assert dialect.is_same(one, other) is same


class Answers:
    """A session that answers each query with the rows of the first text that it has."""

    def __init__(self, **rows):
        self.rows = rows

    def query(self, sql, **_values):
        return next((rows for text, rows in self.rows.items() if text in sql), [])


MYSQL = [["8.0.40", "super@%", 1]]


def test_databases_of_mysql_are_compared_as_its_setting_says():
    dialect = MySql()
    spec = {"databasePrivileges": {"Shop": ["SELECT"], "SHOP": ["INSERT"]}}
    desired = dialect.desired("app", spec, password="p")
    folded = dialect.prepared(Answers(VERSION=MYSQL), desired)
    assert dialect.differences(folded, account(shop={"SELECT", "INSERT"})) == []
    kept = dialect.prepared(Answers(VERSION=[["8.0.40", "super@%", 0]]), desired)
    assert kept == desired


# Administrators, by the server's answers.


def powers(dialect, facts, spec, *, unasked=False, **rows):
    desired = dialect.desired("app", spec, password="p")
    return dialect.powers(Answers(**rows), desired, facts, unasked=unasked)


ABOVE_ADMIN = {"above": [["azure_pg_admin", "azure_pg_admin", False]]}
ASO_SAMPLE = {"roles": ["azure_pg_admin"], "roleOptions": {"createRole": True}}


@pytest.mark.parametrize(
    ("facts", "spec", "rows", "unasked", "found"),
    [
        (role(), {}, {}, False, ""),
        (role(createDb=True), {}, {}, False, ""),
        (role(createRole=True), {}, {}, False, "CREATEROLE"),
        (role(), {}, {"above": [["a", "b", True]]}, False, "membership of a"),
        (role(), {}, {"above": [["pg_monitor", "pg_monitor", False]]}, False, ""),
        (role(), {}, ABOVE_ADMIN, False, "membership of azure_pg_admin"),
        (role(createRole=True), ASO_SAMPLE, ABOVE_ADMIN, True, ""),
        (role(replication=True), ASO_SAMPLE, ABOVE_ADMIN, True, "REPLICATION"),
    ],
)
def test_an_administrator_of_postgresql_is_known(facts, spec, rows, unasked, found):
    assert powers(PostgreSql(), facts, spec, unasked=unasked, **rows) == found


@pytest.mark.parametrize(
    ("held", "spec", "unasked", "found"),
    [
        ({"SELECT", "INSERT"}, {}, False, ""),
        ({"SELECT", "GRANT OPTION"}, {}, False, "GRANT OPTION"),
        ({"CREATE USER", "SUPER"}, {}, False, "CREATE USER, SUPER"),
        ({"CREATE USER"}, {"privileges": ["create user"]}, True, ""),
        ({"CREATE USER"}, {"privileges": ["create user"]}, False, "CREATE USER"),
        ({"SUPER", "GRANT OPTION"}, {"privileges": ["ALL"]}, True, "GRANT OPTION"),
        ({"SUPER", "GRANT OPTION"}, {"privileges": ["ALL", "GRANT OPTION"]}, True, ""),
    ],
)
def test_an_administrator_of_mysql_is_known(held, spec, unasked, found):
    facts = account(_=held)
    assert powers(MySql(), facts, spec, unasked=unasked, VERSION=MYSQL) == found


@pytest.mark.parametrize(
    ("above", "spec", "unasked", "found"),
    [
        ([["db_datareader", "db_datareader"]], {}, False, ""),
        ([["team", "db_owner"]], {}, False, "membership of team"),
        ([["Team", "db_owner"]], {"roles": ["team"]}, True, ""),
    ],
)
def test_an_administrator_of_azure_sql_is_known(above, spec, unasked, found):
    rows = {"above": above}
    facts = database_user()
    assert powers(AzureSql(), facts, spec, unasked=unasked, **rows) == found


# Quoting, and what is shown.


@pytest.mark.parametrize(
    ("quoted", "expected"),
    [
        (ansi_identifier('a"b'), '"a""b"'),
        (mysql_identifier("a`b"), "`a``b`"),
        (tsql_identifier("a]b"), "[a]]b]"),
        (text("a'b\\"), "'a''b\\'"),
        (postgresql_text("a'b\\"), "E'a''b\\\\'"),
        (tsql_text("a'b"), "N'a''b'"),
        (mysql_account("o'x", "%"), "'o''x'@'%'"),
    ],
)
def test_what_ends_a_text_is_doubled(quoted, expected):
    assert quoted == expected


@pytest.mark.parametrize("quote", [ansi_identifier, mysql_identifier, tsql_identifier])
@pytest.mark.parametrize("name", ["", "a\0b"])
def test_what_no_name_can_be_is_refused(quote, name):
    with pytest.raises(ConditionError) as caught:
        quote(name)
    assert caught.value.severity == "Error"


def test_a_value_that_sql_cannot_say_is_not_quoted_in_the_refusal():
    with pytest.raises(ConditionError) as caught:
        text("hunter2\0")
    assert "hunter2" not in str(caught.value)


def test_a_statement_shows_no_secret_wherever_it_is_printed():
    said = Statement.of("ALTER USER [a] WITH PASSWORD = ", Secret("N'hunter2'"))
    assert "hunter2" in said.sql
    assert "hunter2" not in f"{said} {said!r} {said.shown}"
    assert said.shown == "ALTER USER [a] WITH PASSWORD = '***'"
