"""Of several objects with one Azure id the oldest manages it, as a table."""

import pytest

from asoreconcile.azure.reconcile.identity.duplicates import (
    Rival,
    age_of,
    already_managed,
    id_outside_arm,
    oldest_of,
)
from asoreconcile.azure.reconcile.model.annotations import RESOURCE_ID
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.base.objects import GroupKind, ObjectKey

ID = "/subscriptions/s/resourceGroups/rg"
MINE = ("2026-01-02T00:00:00Z", "m")


def rival(name, created, uid="a", arm_id=ID):
    kind = GroupKind("resources.azure.com", "ResourceGroup")
    node = ObjectReference(kind, ObjectKey("default", name))
    return Rival(node, (created, uid), arm_id)


OLDER = rival("older", "2026-01-01T00:00:00Z")
OLDEST = rival("oldest", "2025-12-31T00:00:00Z", arm_id=ID.upper())
YOUNGER = rival("younger", "2026-01-03T00:00:00Z")
TWIN = rival("twin", MINE[0], "a")
LATER_TWIN = rival("later-twin", MINE[0], "z")


@pytest.mark.parametrize(
    ("rivals", "found"),
    [
        ([], None),
        ([YOUNGER], None),
        ([OLDER, YOUNGER], OLDER),
        ([OLDER, OLDEST], OLDEST),
        # Applied in one second: the uid decides, for both alike.
        ([TWIN], TWIN),
        ([LATER_TWIN], None),
        ([rival("elsewhere", "2026-01-01T00:00:00Z", arm_id=f"{ID}2")], None),
        ([rival("unknown", "2026-01-01T00:00:00Z", arm_id="")], None),
    ],
)
def test_which_manages_it(rivals, found):
    assert oldest_of(ID, MINE, rivals) == (found and found.node)


def test_no_two_objects_are_of_one_age():
    same = {"creationTimestamp": MINE[0]}
    ages = [age_of({"metadata": {**same, "uid": uid}}) for uid in ("a", "b")]
    assert ages[0] < ages[1]
    assert age_of({"metadata": {"uid": "a"}}) < ages[0], "one that has no time yet"


@pytest.mark.parametrize(
    ("claimed", "seen", "counts"),
    [("g1", "g1", "g1"), ("g1", "g2", ""), ("g1", None, ""), ("", "g1", "")],
)
def test_without_arm_annotation_and_status_must_agree(claimed, seen, counts):
    given = {
        "metadata": {"annotations": {RESOURCE_ID: claimed}},
        "status": {"entraID": seen},
    }
    assert id_outside_arm(given) == counts


def test_the_message_names_the_other_object_and_the_way_out():
    error = already_managed(ID, OLDER.node)
    assert error.reason == "AlreadyManaged"
    for word in (ID, "ResourceGroup default/older", "reconcile-policy", "skip"):
        assert word in str(error)
