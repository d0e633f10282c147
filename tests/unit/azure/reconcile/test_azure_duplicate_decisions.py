"""Of several objects with one Azure id, the first to record a claim manages it."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asoreconcile.azure.reconcile.identity.duplicates import (
    Rival,
    age_of,
    already_managed,
    heir_among,
    id_outside_arm,
    manager_among,
    rank_of,
)
from asoreconcile.azure.reconcile.model.annotations import FINALIZER, RESOURCE_ID
from asoreconcile.azure.reconcile.model.claim_record import PutAnswers, new_claim
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.base.objects import GroupKind, ObjectKey

ID = "/subscriptions/s/resourceGroups/rg"
KIND = GroupKind("resources.azure.com", "ResourceGroup")
FIRST, SECOND = (datetime(2026, 1, 1, 0, 0, n, tzinfo=UTC) for n in (1, 2))


def obj(*, uid="a", created="2026-01-01T00:00:00Z", claimed="", seen="", **ready):
    return {
        "metadata": {
            "uid": uid,
            "generation": 1,
            "creationTimestamp": created,
            "annotations": {RESOURCE_ID: claimed} if claimed else {},
            "finalizers": [FINALIZER] if claimed else [],
        },
        "status": {
            "id": seen,
            "conditions": [{"type": "Ready", **ready}] if ready else [],
        },
    }


def claim(standing, at=FIRST, arm_id=ID):
    return new_claim(arm_id, at, standing)


# From the strongest claim to the weakest.
ORDERED = [
    rank_of(obj(), ID, claim(PutAnswers.ACCEPTED)),
    rank_of(obj(), ID, claim(PutAnswers.ACCEPTED, SECOND)),
    rank_of(obj(), ID.upper(), claim(PutAnswers.OPEN)),
    rank_of(obj(uid="b"), ID, claim(PutAnswers.OPEN)),
    rank_of(obj(), ID, claim(PutAnswers.OPEN, SECOND)),
    rank_of(obj(claimed=ID, seen=ID, created="2026-01-09T00:00:00Z"), ID, None),
    rank_of(obj(claimed=ID, created="2026-01-02T00:00:00Z"), ID, None),
    rank_of(obj(claimed=ID, created="2026-01-03T00:00:00Z"), ID, None),
]


def test_a_recorded_claim_comes_before_what_another_operator_managed():
    assert sorted(ORDERED) == ORDERED


@pytest.mark.parametrize(
    "rank",
    [
        rank_of(obj(created="2020-01-01T00:00:00Z"), ID, None),
        rank_of(obj(seen=ID), ID, None),
        rank_of(obj(claimed=f"{ID}2"), ID, None),
        rank_of(obj(claimed=ID), ID, claim(PutAnswers.NONE)),
        rank_of(obj(claimed=ID), ID, claim(PutAnswers.ACCEPTED, arm_id=f"{ID}2")),
    ],
    ids=["only old", "status alone", "other id", "accepted nothing", "other claim"],
)
def test_who_has_claimed_nothing_manages_nothing(rank):
    assert rank is None


STUCK = {
    "severity": "Error",
    "observedGeneration": 1,
    "lastTransitionTime": "2026-01-01T00:00:01Z",
}


@pytest.mark.parametrize(
    ("standing", "ready", "counts"),
    [
        (PutAnswers.OPEN, STUCK, False),
        (PutAnswers.OPEN, {**STUCK, "severity": "Warning"}, True),
        (PutAnswers.OPEN, {**STUCK, "observedGeneration": 0}, True),
        (
            PutAnswers.OPEN,
            {**STUCK, "lastTransitionTime": "2025-12-31T00:00:00Z"},
            True,
        ),
        (PutAnswers.ACCEPTED, STUCK, True),
    ],
    ids=["stuck", "tries again", "was edited", "stuck before", "has a resource"],
)
def test_a_claim_without_a_resource_lapses_when_a_person_must_mend_it(
    standing, ready, counts
):
    assert (rank_of(obj(**ready), ID, claim(standing)) is not None) is counts


def rival(name, rank, *, namespace="default", is_leaving=False, **of):
    node = ObjectReference(KIND, ObjectKey(namespace, name))
    return Rival(node, obj(**of), rank, is_leaving)


RANKS = st.one_of(st.none(), st.sampled_from(ORDERED))


@given(RANKS, st.lists(RANKS, max_size=4))
def test_one_object_manages_and_all_agree_on_it(mine, others):
    ranks = [mine, *(other for other in others if other != mine)]
    ranks = [*dict.fromkeys(ranks)]
    found = {
        one: manager_among(one, [rival("x", r) for r in ranks if r != one])
        for one in ranks
    }
    managers = {one for one, manager in found.items() if manager is None}
    best = min((rank for rank in ranks if rank is not None), default=None)
    # Without any claim no object is kept from claiming.
    assert managers == {best}
    assert {m.rank for m in found.values() if m is not None} <= {best}


YOUNG = {"created": "2026-02-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("rivals", "found"),
    [
        ([], None),
        ([rival("leaves", ORDERED[0], is_leaving=True)], None),
        ([rival("waits", None)], "waits"),
        ([rival("waits", None), rival("managed", ORDERED[-1], **YOUNG)], "managed"),
        ([rival("young", None, **YOUNG), rival("old", None)], "old"),
        ([rival("far", ORDERED[0], namespace="other"), rival("near", None)], "near"),
        ([rival("far", ORDERED[0], namespace="other")], "far"),
    ],
)
def test_which_object_a_deleted_one_leaves_its_resource_to(rivals, found):
    heir = heir_among("default", rivals)
    assert (heir and heir.node.key.name) == found


def test_no_two_objects_are_of_one_age():
    ages = [age_of(obj(uid=uid)) for uid in ("a", "b")]
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


@pytest.mark.parametrize(
    ("namespace", "way"),
    [
        (
            "default",
            "this object takes over before it goes, and nothing is deleted in Azure",
        ),
        ("other", "detach-on-delete on default/first and delete it"),
    ],
)
def test_the_message_names_the_other_object_and_the_ways_out(namespace, way):
    node = ObjectReference(KIND, ObjectKey("default", "first"))
    error = already_managed(ID, node, namespace=namespace)
    assert error.reason == "AlreadyManaged"
    for word in (ID, "ResourceGroup default/first", "Delete this object", "skip", way):
        assert word in str(error)
