"""What a spec asks for, and what is to be changed for it."""

import pytest

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.entra.desired import changes_of, creation_body
from asoreconcile.azure.entra.groups import SECURITY_GROUP, desired_group
from asoreconcile.azure.entra.kinds import status_of
from asoreconcile.azure.entra.links import link_changes, object_ids

ID = "11111111-2222-3333-4444-555555555555"
SPEC = {"displayName": "Team", "mailNickname": "team"}
GROUP = {
    "id": ID,
    "displayName": "Team",
    "mailNickname": "team",
    "description": None,
    "securityEnabled": True,
    "groupTypes": [],
    "isAssignableToRole": None,
}
MADE = {
    "displayName": "Team",
    "mailNickname": "team",
    "mailEnabled": False,
    "securityEnabled": True,
    "groupTypes": [],
}


@pytest.mark.parametrize(
    ("changed", "body"),
    [
        ({}, {}),
        ({"description": "d"}, {"description": "d"}),
        ({"description": ""}, {}),
        ({"isAssignableToRole": False}, {"isAssignableToRole": False}),
        ({"membershipType": "enabled"}, {}),
        (
            {"membershipType": "enabledm365"},
            {"mailEnabled": True, "groupTypes": ["Unified"]},
        ),
        ({"mailNickname": "a@example.com"}, {"mailNickname": "a"}),
    ],
)
def test_a_group_as_it_is_made(changed, body):
    assert creation_body(desired_group({**SPEC, **changed}), "m", {}) == {
        **MADE,
        **body,
    }


def test_links_are_bound_where_there_are_some():
    body = creation_body(desired_group(SPEC), "m", {"members": ["m"], "owners": []})
    assert body == {**MADE, "members@odata.bind": ["m"]}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *((field, value) for field in SPEC for value in (None, "", 7)),
        ("mailNickname", "@example.com"),
    ],
)
def test_a_group_needs_its_names(field, value):
    with pytest.raises(ConditionError, match=field):
        desired_group({**SPEC, field: value})


@pytest.mark.parametrize(
    ("spec", "group", "changes"),
    [
        ({}, {}, {}),
        ({}, {"description": "of somebody"}, {}),
        ({"description": ""}, {"description": "x"}, {"description": None}),
        ({"description": ""}, {}, {}),
        ({}, {"displayName": "TEAM"}, {"displayName": "Team"}),
        ({}, {"securityEnabled": False}, {"securityEnabled": True}),
    ],
)
def test_only_what_differs_is_changed(spec, group, changes):
    desired = desired_group({**SPEC, **spec})
    assert changes_of(desired, {**GROUP, **group}) == changes


@pytest.mark.parametrize(
    ("spec", "group", "text"),
    [
        ({"isAssignableToRole": True}, {}, "isAssignableToRole"),
        ({"isAssignableToRole": False}, {"isAssignableToRole": True}, "cannot change"),
        ({"membershipType": "assignedm365"}, {}, "no Microsoft 365 group"),
        ({"membershipType": "assigned"}, {"groupTypes": ["Unified"]}, "365"),
        ({}, {"onPremisesSyncEnabled": True, "displayName": "x"}, "on premises"),
    ],
)
def test_what_graph_cannot_do_is_told(spec, group, text):
    with pytest.raises(ConditionError, match=text) as refused:
        SECURITY_GROUP.require_possible({**SPEC, **spec}, {**GROUP, **group})
    assert refused.value.severity == "Error"


@pytest.mark.parametrize(
    ("spec", "group"),
    [
        ({"isAssignableToRole": False}, {}),
        ({"membershipType": "enabledm365"}, {}),
        ({}, {"groupTypes": ["Unified"]}),
        ({}, {"onPremisesSyncEnabled": True}),
    ],
)
def test_what_is_as_wanted_or_left_to_graph_is_possible(spec, group):
    SECURITY_GROUP.require_possible({**SPEC, **spec}, {**GROUP, **group})


def test_the_status_leaves_out_what_graph_does_not_say():
    assert status_of({"kind": "SecurityGroup"}, GROUP) == {
        "entraID": ID,
        "displayName": "Team",
        "groupEmailAddress": "team",
    }


def test_ids_are_each_taken_once_without_case():
    spec = {
        "members": [
            {"objectID": ID.upper()},
            {"objectIDFromConfig": {"name": "n", "key": "k"}},
        ]
    }
    assert object_ids(spec, "members", lambda _ref: f" {ID}\n") == (ID,)
    assert object_ids(spec, "owners", lambda _ref: "") is None
    assert object_ids({"owners": []}, "owners", lambda _ref: "") == ()


@pytest.mark.parametrize(
    "entry", [{}, {"objectID": ID, "objectIDFromConfig": {}}, {"objectID": "../x"}]
)
def test_what_is_no_object_id_is_told_with_its_place(entry):
    def config_map(_ref):
        return ID

    if entry.get("objectIDFromConfig") is not None:
        entry = {**entry, "objectIDFromConfig": {"name": "n", "key": "k"}}
    with pytest.raises(ConditionError, match=r"spec.members\[0\]"):
        object_ids({"members": [entry]}, "members", config_map)


@pytest.mark.parametrize(
    ("desired", "present", "added", "removed", "more"),
    [
        ("", "", "", "", False),
        ("ab", "ab", "", "", False),
        ("ab", "bc", "a", "c", False),
        ("abcd", "", "abc", "", True),
        ("", "abcd", "", "abc", True),
        ("abc", "xy", "abc", "xy", False),
        ("abcd", "wxyz", "abc", "wxy", True),
    ],
)
def test_additions_come_first_and_some_at_a_time(
    desired, present, added, removed, more
):
    changes = link_changes(desired, present, most=3)
    assert changes.added == tuple(added)
    assert changes.removed == tuple(removed)
    assert changes.more is more


def test_what_failed_before_comes_last_and_is_not_waited_for():
    changes = link_changes("abcd", "", failed={"a", "b"}, most=3)
    assert changes.added == ("c", "d", "a")
    assert not changes.more
