"""What a plan says of a user, from facts alone: the action, and the statements."""

import pytest

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.reconcile.model.existence import (
    IfExists,
)
from asoreconcile.azure.sql_users.azure_sql import AzureSql, DatabaseUserFacts
from asoreconcile.azure.sql_users.mysql import AccountFacts, MySql
from asoreconcile.azure.sql_users.planning import (
    Found,
    Known,
    LoginStanding,
    decided,
    standing,
    why_left,
)
from asoreconcile.azure.sql_users.postgresql import PostgreSql, RoleFacts
from asoreconcile.azure.sql_users.user import UserRecord, UserState

LOGIN = {"login": True, "createRole": False, "createDb": False, "replication": False}
ROLE = RoleFacts(LOGIN, frozenset({"readers"}), is_superuser=False, server_id="7")


def known(identity, state=UserState.MADE, server_id="7"):
    record = UserRecord("db:1/x", identity, "2026", state, server_id)
    return Known(record, is_from_aso=False)


def postgresql(facts, *, roles=("readers",), former="app", before=None):
    dialect = PostgreSql()
    desired = dialect.desired("app", {"roles": [*roles]}, password="***")
    found = Found(desired, facts, before)
    action, said = decided(dialect, found, known({"name": former}))
    return action, [one.shown for one in said]


def mysql(privileges, *, had):
    dialect = MySql()
    spec = {"databasePrivileges": {"shop": privileges}}
    desired = dialect.desired("app", spec, password="***")
    facts = AccountFacts("x", {"shop": frozenset(had)})
    found = Found(desired, facts)
    action, _ = decided(dialect, found, known(desired.identity, server_id=""))
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


def test_one_that_differs_is_updated():
    action, said = postgresql(ROLE, roles=[])
    assert action == "update"
    assert said == ['REVOKE "readers" FROM "app"']


def test_one_of_another_name_is_renamed_first():
    action, said = postgresql(None, former="old", before=ROLE)
    assert action == "update"
    assert said[0] == 'ALTER ROLE "old" RENAME TO "app"'


def test_a_former_user_that_is_gone_changes_nothing():
    assert postgresql(ROLE, former="old") == ("no change", [])


@pytest.mark.parametrize(
    ("facts", "before"),
    [
        (
            RoleFacts(LOGIN, frozenset(), is_superuser=False, server_id="8"),
            ROLE,
        ),  # the new name is taken
        (RoleFacts(LOGIN, frozenset(), is_superuser=True), None),
        (None, RoleFacts(LOGIN, frozenset(), is_superuser=True, server_id="7")),
    ],
)
def test_what_a_reconcile_refuses_is_refused(facts, before):
    with pytest.raises(ConditionError):
        postgresql(facts, former="old", before=before)


FOUND = Known(None, is_from_aso=False)


@pytest.mark.parametrize(
    ("choice", "roles", "powers", "expected"),
    [
        (IfExists.ADOPT, [], "", "update"),
        (IfExists.ADOPT, [], "CREATEROLE", "is an administrator"),
        (IfExists.ADOPT_IF_SAME, ["readers"], "", "no change"),
        (IfExists.ADOPT_IF_SAME, [], "", "differs from the spec"),
        (IfExists.OBSERVE, [], "CREATEROLE", "no change"),
        (IfExists.FAIL, ["readers"], "", "is fail"),
    ],
)
def test_a_user_that_was_there_is_taken_as_the_object_says(
    choice, roles, powers, expected
):
    dialect = PostgreSql()
    desired = dialect.desired("app", {"roles": roles}, password="***")
    found = Found(desired, ROLE, powers=powers)
    try:
        action, _ = decided(dialect, found, FOUND, choice)
    except ConditionError as refused:
        action = str(refused)
    assert expected in action


def test_a_claim_alone_makes_no_user_ones_own():
    """The process died before the creation, and another one made the user."""
    dialect = MySql()
    desired = dialect.desired("app", {}, password="***")
    facts = AccountFacts("x", {}, name="app", host="%")
    claim = known(desired.identity, UserState.CLAIMED, "")
    assert standing(dialect, claim, desired.identity, facts) is LoginStanding.FOUND
    made = known(desired.identity, UserState.MADE, "")
    assert standing(dialect, made, desired.identity, facts) is LoginStanding.OURS


def test_a_user_of_that_name_with_another_identifier_is_another_user():
    dialect, identity = PostgreSql(), {"name": "app"}
    again = RoleFacts(LOGIN, frozenset(), is_superuser=False, server_id="8")
    assert standing(dialect, known(identity), identity, again) is LoginStanding.FOUND
    assert "another user" in why_left(dialect, known(identity), identity, again)
    assert why_left(dialect, known(identity), identity, ROLE) == ""


@pytest.mark.parametrize("state", [UserState.CLAIMED, UserState.ADOPTED])
def test_without_the_record_of_a_creation_nothing_is_dropped(state):
    identity = {"name": "app"}
    left = why_left(PostgreSql(), known(identity, state), identity, ROLE)
    assert "no record" in left


def test_a_principal_of_another_type_is_refused():
    dialect = AzureSql()
    desired = dialect.desired("app", {}, password="***")
    found = Found(desired, DatabaseUserFacts("R", "", frozenset()))
    with pytest.raises(ConditionError, match="type 'R'"):
        decided(dialect, found, known(desired.identity))


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
