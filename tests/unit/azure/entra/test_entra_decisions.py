"""Which group is an object's, as a table: what is known, and the step that follows."""

from datetime import UTC, datetime

import attrs
import pytest

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.entra.decisions import (
    VISIBLE_SECONDS,
    Ask,
    Create,
    DeleteEntry,
    Facts,
    Gone,
    Leave,
    Manage,
    Refuse,
    Wait,
    decide,
    decide_delete,
    is_another_tenant,
)
from asoreconcile.azure.entra.desired import mark_of
from asoreconcile.azure.entra.groups import desired_group
from asoreconcile.azure.entra.questions import CREATION, facts_of

ID = "11111111-2222-3333-4444-555555555555"
OTHER = "99999999-2222-3333-4444-555555555555"
MARK = mark_of("uid")
WANTED = desired_group({"displayName": "Team", "mailNickname": "team"})
MINE = {"id": ID, "displayName": "Team", "mailNickname": "team", "uniqueName": MARK}
ALIKE = {"id": OTHER, "displayName": "TEAM", "mailNickname": "x", "uniqueName": None}
STRANGE = {"id": ID, "displayName": "Strange", "uniqueName": None}
NEW = {"claimed": "", "seen": "", "mark": MARK}
KNOWN = {"claimed": ID, "seen": ID, "mark": MARK}


def facts(*, adopts=True, **known):
    desired = attrs.evolve(WANTED, adopts=adopts)
    return Facts(desired=desired, **known)


STEPS = {
    "a new one is looked for by its mark": (facts(**NEW), Ask.BY_MARK),
    "its mark is its own": (facts(**NEW, by_mark=MINE), Manage(MINE)),
    "without the mark its name is looked for": (
        facts(**NEW, by_mark=None),
        Ask.BY_SEARCH,
    ),
    "nobody has the name": (facts(**NEW, by_mark=None, alike=()), Create()),
    "one has the name": (
        facts(**NEW, by_mark=None, alike=(ALIKE,)),
        Manage(ALIKE),
    ),
    "of two the nickname tells": (
        facts(**NEW, by_mark=None, alike=(ALIKE, MINE)),
        Manage(MINE),
    ),
    "AlwaysCreate looks for no name": (
        facts(**NEW, by_mark=None, adopts=False),
        Create(),
    ),
    "a try a moment ago is repeated, not replaced by another's group": (
        facts(**NEW, by_mark=None, tried_seconds=5.0),
        Create(),
    ),
    "a try long ago is forgotten": (
        facts(**NEW, by_mark=None, tried_seconds=VISIBLE_SECONDS),
        Ask.BY_SEARCH,
    ),
    "a known one is read by its id": (facts(**KNOWN), Ask.BY_ID),
    "the status says that it is ours": (facts(**KNOWN, by_id=STRANGE), Manage(STRANGE)),
    "the mark says that it is ours": (
        facts(claimed=ID, seen="", mark=MARK, by_id=MINE, adopts=False),
        Manage(MINE),
    ),
    "the name is one to adopt": (
        facts(claimed=OTHER, seen="", mark=MARK, by_id=ALIKE),
        Manage(ALIKE),
    ),
    "gone: the mark is asked for": (facts(**KNOWN, by_id=None), Ask.BY_MARK),
    "gone, made again and its id lost": (
        facts(**KNOWN, by_id=None, by_mark=MINE),
        Manage(MINE),
    ),
    "not seen yet": (
        facts(**KNOWN, by_id=None, by_mark=None, tried_seconds=9.0),
        Wait(),
    ),
    "gone for good": (facts(**KNOWN, by_id=None, by_mark=None, adopts=False), Create()),
}


@pytest.mark.parametrize("case", STEPS)
def test_the_step_that_follows(case):
    known, step = STEPS[case]
    assert decide(known) == step


REFUSED = {
    "no id": (facts(claimed="../users", seen="", mark=MARK), "no id of a group"),
    "another's": (
        facts(claimed=ID, seen="", mark=MARK, by_id=STRANGE),
        "neither this object's mark",
    ),
    "another's of the name, without adoption": (
        facts(claimed=OTHER, seen=ID, mark=MARK, by_id=ALIKE, adopts=False),
        "neither this object's mark",
    ),
    "two of one nickname": (
        facts(**NEW, by_mark=None, alike=(MINE, {**MINE, "id": OTHER})),
        f"{ID}, {OTHER}",
    ),
    "two of neither": (
        facts(**NEW, by_mark=None, alike=(ALIKE, {**ALIKE, "id": ID})),
        "AlwaysCreate",
    ),
    "many": (
        facts(**NEW, by_mark=None, alike=(ALIKE,) * 9),
        "and 4 more",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_person_decides(case):
    known, text = REFUSED[case]
    step = decide(known)
    assert isinstance(step, Refuse)
    assert text in str(step.error)


MARKED_ELSEWHERE = {**MINE, "uniqueName": "asoreconcile-another-uid"}
ENDS = {
    "never made": (facts(**NEW, by_mark=None), Gone.GONE),
    "perhaps made a moment ago": (
        facts(**NEW, by_mark=None, tried_seconds=1.0),
        Wait(),
    ),
    "made, and its id lost": (facts(**NEW, by_mark=MINE), DeleteEntry(ID)),
    "ours": (facts(**KNOWN, by_id=STRANGE), DeleteEntry(ID)),
    "read first": (facts(**KNOWN), Ask.BY_ID),
    "gone already": (facts(**KNOWN, by_id=None, by_mark=None), Gone.GONE),
    "not seen yet": (
        facts(**KNOWN, by_id=None, by_mark=None, tried_seconds=1.0),
        Wait(),
    ),
    "made again, and its id lost": (
        facts(**KNOWN, by_id=None, by_mark={**MINE, "id": OTHER}),
        DeleteEntry(OTHER),
    ),
}


@pytest.mark.parametrize("case", ENDS)
def test_the_end_of_an_object(case):
    known, step = ENDS[case]
    assert decide_delete(known) == step


def test_another_s_group_is_left():
    step = decide_delete(facts(claimed=ID, seen="", mark=MARK, by_id=STRANGE))
    assert isinstance(step, Leave)
    assert ID in step.why


def test_an_id_that_is_none_holds_the_object():
    assert isinstance(decide_delete(facts(claimed="x", seen="", mark=MARK)), Refuse)


@pytest.mark.parametrize(
    ("noted", "tenant", "differs"),
    [
        (ID, OTHER, True),
        (ID, ID.upper(), False),
        ("", ID, False),
        (ID, "", False),
        ("example.onmicrosoft.com", ID, False),
    ],
)
def test_tenants_differ_for_sure_or_not(noted, tenant, differs):
    assert is_another_tenant(noted, tenant) is differs


@pytest.mark.parametrize("known", [KNOWN, {**KNOWN, "seen": ""}])
def test_a_group_that_was_made_for_another_object_is_never_deleted(known):
    """As of another cluster, or of this object before a restore gave it a new uid."""
    step = decide_delete(facts(**known, by_id=MARKED_ELSEWHERE))
    assert isinstance(step, Leave)
    assert "asoreconcile-another-uid" in step.why


def test_a_group_that_was_made_for_another_object_is_adopted_as_others_are():
    known = facts(**NEW, by_mark=None, alike=(MARKED_ELSEWHERE,))
    assert decide(known) == Manage(MARKED_ELSEWHERE)


TRIED = {
    "soon": "which is no time",
    "2026-01-31T12:00:00": "a time without a zone",
    "2999-01-31T12:00:00Z": "a time in the future",
}


@pytest.mark.parametrize("noted", TRIED)
def test_a_time_that_cannot_be_is_said(noted):
    obj = {
        "kind": "SecurityGroup",
        "metadata": {"uid": "uid", "annotations": {CREATION: noted}},
        "spec": {"displayName": "Team", "mailNickname": "team"},
    }
    with pytest.raises(ConditionError, match=TRIED[noted]) as said:
        facts_of(obj, now=datetime(2026, 2, 1, tzinfo=UTC))
    assert CREATION in str(said.value)


def test_a_time_a_little_ahead_is_another_clock_s():
    obj = {
        "kind": "SecurityGroup",
        "metadata": {"uid": "uid", "annotations": {CREATION: "2026-02-01T00:01:00Z"}},
        "spec": {"displayName": "Team", "mailNickname": "team"},
    }
    assert facts_of(obj, now=datetime(2026, 2, 1, tzinfo=UTC)).is_fresh
