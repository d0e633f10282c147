"""The group that belongs to an object, as a table of facts and the group found."""

from datetime import UTC, datetime

import attrs
import pytest

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.entra.decisions import (
    CREATION,
    VISIBLE_SECONDS,
    Facts,
    entry_of,
    entry_to_delete,
    facts_of,
    is_another_tenant,
)
from asoreconcile.azure.entra.desired import mark_of
from asoreconcile.azure.entra.groups import desired_group
from asoreconcile.base.errors import RetryError

ID = "11111111-2222-3333-4444-555555555555"
OTHER = "99999999-2222-3333-4444-555555555555"
MARK = mark_of("uid")
WANTED = desired_group({"displayName": "Team", "mailNickname": "team"})
MINE = {"id": ID, "displayName": "Team", "mailNickname": "team", "uniqueName": MARK}
ALIKE = {"id": OTHER, "displayName": "TEAM", "mailNickname": "x", "uniqueName": None}
STRANGE = {"id": ID, "displayName": "Strange", "uniqueName": None}
NEW = {"claimed": "", "seen": "", "mark": MARK}
KNOWN = {"claimed": ID, "seen": ID, "mark": MARK}


class Graph:
    """A Graph of three answers. last: the last question."""

    def __init__(self, answers):
        self.answers, self.last = answers, ""

    def __getattr__(self, question):
        self.last = question
        return lambda *_: self.answers[question]


def case(*, by_id=None, by_mark=None, alike=(), adopts=True, **known):
    """The facts in an object, and a Graph with these entries."""
    facts = Facts(desired=attrs.evolve(WANTED, adopts=adopts), **known)
    return facts, Graph({"one": by_id, "keyed": by_mark, "found": alike})


# By facts: the entry (None: one is created), and the last question to Graph.
FOUND = {
    "its mark is its own": (case(**NEW, by_mark=MINE), MINE, "keyed"),
    "no entry has the name": (case(**NEW), None, "found"),
    "one entry has the name": (case(**NEW, alike=(ALIKE,)), ALIKE, "found"),
    "of two the nickname tells": (case(**NEW, alike=(ALIKE, MINE)), MINE, "found"),
    "AlwaysCreate looks for no name": (case(**NEW, adopts=False, alike=(ALIKE,)), None,
                                       "keyed"),
    "a try a moment ago is repeated, not replaced by another's group": (
        case(**NEW, tried_seconds=5.0, alike=(ALIKE,)),
        None,
        "keyed",
    ),
    "a try long ago is forgotten": (case(**NEW, tried_seconds=VISIBLE_SECONDS, alike=(ALIKE,)),
                                    ALIKE, "found"),
    "the status says that it is ours": (case(**KNOWN, by_id=STRANGE), STRANGE, "one"),
    "the mark says that it is ours": (
        case(claimed=ID, seen="", mark=MARK, by_id=MINE, adopts=False),
        MINE,
        "one",
    ),
    "the name is one to adopt": (case(claimed=OTHER, seen="", mark=MARK, by_id=ALIKE), ALIKE,
                                 "one"),
    "gone, made again and its id lost": (case(**KNOWN, by_mark=MINE), MINE, "keyed"),
    "gone for good": (case(**KNOWN, adopts=False), None, "keyed"),
    "no object yet, and so no mark": (case(claimed="", seen="", mark="", by_mark=MINE), None,
                                      "found"),
}  # fmt: skip


@pytest.mark.parametrize("name", FOUND)
def test_the_entry_of_an_object(name):
    (facts, graph), entry, last = FOUND[name]
    assert entry_of(facts, lambda: graph) == entry
    assert graph.last == last


def test_an_entry_that_is_not_seen_yet_is_waited_for():
    facts, graph = case(**KNOWN, tried_seconds=9.0)
    with pytest.raises(RetryError):
        entry_of(facts, lambda: graph)


REFUSED = {
    "no id": (case(claimed="../users", seen="", mark=MARK), "no id of a group"),
    "another's": (
        case(claimed=ID, seen="", mark=MARK, by_id=STRANGE),
        "neither this object's mark",
    ),
    "another's of the name, without adoption": (
        case(claimed=OTHER, seen=ID, mark=MARK, by_id=ALIKE, adopts=False),
        "neither this object's mark",
    ),
    "two of one nickname": (
        case(**NEW, alike=(MINE, {**MINE, "id": OTHER})),
        f"{ID}, {OTHER}",
    ),
    "two of neither": (case(**NEW, alike=(ALIKE, {**ALIKE, "id": ID})), "AlwaysCreate"),
    "many": (case(**NEW, alike=(ALIKE,) * 9), "and 4 more"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_person_decides(name):
    (facts, graph), text = REFUSED[name]
    with pytest.raises(ConditionError, match=text):
        entry_of(facts, lambda: graph)


MARKED_ELSEWHERE = {**MINE, "uniqueName": "asoreconcile-another-uid"}
ENDS = {
    "never made": (case(**NEW), ""),
    "made, and its id lost": (case(**NEW, by_mark=MINE), ID),
    "ours": (case(**KNOWN, by_id=STRANGE), ID),
    "gone already": (case(**KNOWN), ""),
    "made again, and its id lost": (
        case(**KNOWN, by_mark={**MINE, "id": OTHER}),
        OTHER,
    ),
}


@pytest.mark.parametrize("name", ENDS)
def test_the_end_of_an_object(name):
    (facts, graph), entry_id = ENDS[name]
    assert entry_to_delete(facts, graph) == (entry_id, "")


@pytest.mark.parametrize("known", [NEW, KNOWN])
def test_the_end_waits_for_a_group_that_may_have_been_made(known):
    with pytest.raises(RetryError):
        entry_to_delete(*case(**known, tried_seconds=1.0))


def test_another_s_group_is_left():
    known = case(claimed=ID, seen="", mark=MARK, by_id=STRANGE)
    entry_id, why = entry_to_delete(*known)
    assert (entry_id, ID in why) == ("", True)


def test_an_id_that_is_none_holds_the_object():
    with pytest.raises(ConditionError):
        entry_to_delete(*case(claimed="x", seen="", mark=MARK))


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
    entry_id, why = entry_to_delete(*case(**known, by_id=MARKED_ELSEWHERE))
    assert (entry_id, "asoreconcile-another-uid" in why) == ("", True)


def test_a_group_that_was_made_for_another_object_is_adopted_as_others_are():
    facts, graph = case(**NEW, alike=(MARKED_ELSEWHERE,))
    assert entry_of(facts, lambda: graph) == MARKED_ELSEWHERE


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
