"""What a plan says of a user, from facts alone: the action, and the statements."""

import pytest

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.sql_users.azure_sql import AzureSql, DatabaseUserFacts
from asoreconcile.azure.sql_users.mysql import AccountFacts, MySql
from asoreconcile.azure.sql_users.planning import decided
from asoreconcile.azure.sql_users.postgresql import PostgreSql, RoleFacts

LOGIN = {"login": True, "createRole": False, "createDb": False, "replication": False}
ROLE = RoleFacts(LOGIN, frozenset({"readers"}), is_superuser=False)


def postgresql(facts, *, roles=("readers",), former="app", before=None):
    dialect = PostgreSql()
    desired = dialect.desired("app", {"roles": [*roles]}, password="***")
    action, said = decided(dialect, desired, {"name": former}, facts, before)
    return action, [one.shown for one in said]


def mysql(privileges, *, had):
    dialect = MySql()
    spec = {"databasePrivileges": {"shop": privileges}}
    desired = dialect.desired("app", spec, password="***")
    facts = AccountFacts("x", {"shop": frozenset(had)})
    action, _ = decided(dialect, desired, desired.identity, facts, None)
    return action, dialect.unread(desired, facts)


def test_a_user_that_is_there_already_needs_nothing():
    assert postgresql(ROLE) == ("no change", [])


def test_one_that_is_not_is_created():
    action, said = postgresql(None)
    assert action == "create"
    assert said == [
        "CREATE ROLE \"app\" WITH LOGIN PASSWORD '***'",
        'GRANT "readers" TO "app"',
    ]


def test_one_that_differs_is_updated_with_all_that_is_said_then():
    action, said = postgresql(ROLE, roles=[])
    assert action == "update"
    assert said == [
        "ALTER ROLE \"app\" WITH PASSWORD '***'",
        'REVOKE "readers" FROM "app"',
    ]


def test_one_of_another_name_is_renamed_first():
    action, said = postgresql(None, former="old", before=ROLE)
    assert action == "update"
    assert said[0] == 'ALTER ROLE "old" RENAME TO "app"'


def test_a_former_user_that_is_gone_changes_nothing():
    assert postgresql(ROLE, former="old") == ("no change", [])


@pytest.mark.parametrize(
    ("facts", "before"),
    [
        (ROLE, ROLE),  # the new name is taken
        (RoleFacts(LOGIN, frozenset(), is_superuser=True), None),
        (None, RoleFacts(LOGIN, frozenset(), is_superuser=True)),
    ],
)
def test_what_a_reconcile_refuses_is_refused(facts, before):
    with pytest.raises(ConditionError):
        postgresql(facts, former="old", before=before)


def test_a_principal_of_another_type_is_refused():
    dialect = AzureSql()
    desired = dialect.desired("app", {}, password="***")
    with pytest.raises(ConditionError, match="type 'R'"):
        decided(
            dialect,
            desired,
            desired.identity,
            DatabaseUserFacts("R", "", frozenset()),
            None,
        )


PASSWORD, PLACE = "localUser.password", "databasePrivileges.shop"


@pytest.mark.parametrize(
    ("privileges", "had", "action", "unread"),
    [
        (["SELECT"], ["SELECT"], "no change", (PASSWORD,)),
        # Of a place without any it is known that not all are there.
        (["ALL"], [], "update", (PASSWORD,)),
        (["ALL"], ["GRANT OPTION"], "update", (PASSWORD,)),
        (["ALL"], ["SELECT"], "no change", (PASSWORD, PLACE)),
        (["ALL", "GRANT OPTION"], ["SELECT"], "update", (PASSWORD, PLACE)),
        (["ALL"], ["SELECT", "GRANT OPTION"], "update", (PASSWORD, PLACE)),
    ],
)
def test_all_privileges_are_compared_as_far_as_they_can_be(
    privileges, had, action, unread
):
    assert mysql(privileges, had=had) == (action, unread)
