"""The rights of an object over the resource with its id: each standing with
each act.
"""

from datetime import UTC, datetime

import attrs
import pytest

from asoreconcile.azure.reconcile.model.annotations import (
    CLAIM_FACTS,
    EXISTENCE,
    FINALIZER,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.claim_record import (
    ClaimFacts,
    PutAnswers,
    new_claim,
)
from asoreconcile.azure.reconcile.model.existence import IfExists
from asoreconcile.azure.reconcile.model.record_key import RecordKey
from asoreconcile.azure.reconcile.model.standing import (
    TABLE,
    Act,
    Permit,
    Standing,
    evidence,
    is_ours,
    keeps_others_out,
    may,
    standing_of,
    stated_standing,
)

ID = "/subscriptions/s/resourceGroups/a group"
KEY = RecordKey(b"k" * 32)
NOW = datetime(2026, 1, 1, 0, 0, 1, 250_000, tzinfo=UTC)


def obj(*, notes=None, reason="", severity="", finalizer=False, seen=""):
    ready = {
        "type": "Ready",
        "reason": reason,
        "severity": severity,
        "observedGeneration": 1,
        "lastTransitionTime": "2026-01-01T00:00:02Z",
    }
    meta = {"uid": "u", "generation": 1, "annotations": notes or {}}
    if finalizer:
        meta["finalizers"] = [FINALIZER]
    return {"metadata": meta, "status": {"id": seen, "conditions": [ready]}}


def claim(answers, arm_id=ID, **facts):
    made = new_claim(arm_id, NOW, answers)
    return attrs.evolve(made, facts=ClaimFacts(**facts))


ASOS = {"notes": {RESOURCE_ID: ID}, "finalizer": True}
COPIED = {RESOURCE_ID: ID, CLAIM_FACTS: 'mark {"uid":"another"}'}


@pytest.mark.parametrize(
    ("given", "record", "expected"),
    [
        (obj(), None, Standing.NEVER),
        (obj(seen=ID), None, Standing.NEVER),  # a status is a hint
        (obj(**ASOS), None, Standing.SHOWN),
        (obj(notes={RESOURCE_ID: ID}), None, Standing.NEVER),
        (obj(notes={RESOURCE_ID: f"{ID}2"}, finalizer=True), None, Standing.NEVER),
        (
            obj(notes={**ASOS["notes"], EXISTENCE: "undecided"}, finalizer=True),
            None,
            Standing.NEVER,
        ),
        (obj(notes=COPIED, finalizer=True), None, Standing.NEVER),
        (obj(), claim(PutAnswers.ACCEPTED), Standing.MANAGES),
        (obj(reason="AlreadyExists"), claim(PutAnswers.ACCEPTED), Standing.MANAGES),
        (obj(), claim(PutAnswers.ACCEPTED, f"{ID}2"), Standing.NEVER),
        (obj(**ASOS), claim(PutAnswers.ACCEPTED, f"{ID}2"), Standing.NEVER),
        (obj(), claim(PutAnswers.OPEN), Standing.PERHAPS),
        (obj(**ASOS), claim(PutAnswers.NONE), Standing.NEVER),
        (obj(), claim(PutAnswers.NONE, has_let_go=True), Standing.LET_GO),
        (obj(reason="AlreadyExists"), claim(PutAnswers.NONE), Standing.REFUSED),
        (obj(reason="AlreadyManaged"), None, Standing.REFUSED),
    ],
)
def test_the_standing_follows_from_recorded_facts(given, record, expected):
    assert standing_of(given, ID, record) is expected
    assert evidence(given, expected, record)


def test_a_person_without_the_key_sees_the_standing_and_its_evidence():
    recorded = claim(PutAnswers.ACCEPTED, over=("other",)).notes(obj(), KEY)
    text = stated_standing(obj(notes={**recorded, RESOURCE_ID: ID}))
    assert text.startswith("manages (claimed at 2026-01-01T00:00:01Z")
    assert "it took over from another object" in text
    assert "a deletion deletes the resource" in text
    copied = stated_standing(obj(notes=COPIED, finalizer=True))
    assert copied.startswith("never (its record was copied from another object")
    assert "leaves in Azure" in copied


def test_a_put_that_was_refused_is_no_perhaps():
    known = standing_of(obj(), ID, claim(PutAnswers.OPEN), knows_answers=True)
    assert known is Standing.NEVER


Y, N = Permit.YES, Permit.NO
ASK, OURS, READ = Permit.IF_ASKED, Permit.IF_OURS, Permit.IF_READ
HOUR, WRITES, ALONE = Permit.FOR_AN_HOUR, Permit.IF_WRITES, Permit.IF_ALONE
# PUT over, DELETE, recreate, hold here, hold elsewhere, inherit.
MATRIX = {
    Standing.NEVER: (ASK, N, N, WRITES, READ, Y),
    Standing.PERHAPS: (OURS, OURS, N, Y, HOUR, Y),
    Standing.MANAGES: (Y, Y, Y, Y, Y, Y),
    Standing.SHOWN: (Y, Y, Y, Y, READ, Y),
    Standing.LET_GO: (ASK, ALONE, N, WRITES, N, N),
    Standing.REFUSED: (ASK, N, N, WRITES, READ, Y),
}


@pytest.mark.parametrize("standing", Standing)
@pytest.mark.parametrize("act", Act)
def test_ow10_each_standing_permits_each_act_as_the_table_says(standing, act):
    assert may(standing, act) is MATRIX[standing][[*Act].index(act)]


def test_the_table_is_whole():
    assert set(TABLE) == set(Standing)
    assert all(set(row) == set(Act) for row in TABLE.values())


@pytest.mark.parametrize(
    ("policy", "was_absent", "is_made_by_us", "expected"),
    [
        (None, False, False, True),
        (IfExists.ADOPT, False, False, True),
        (IfExists.FAIL, False, False, False),
        (IfExists.FAIL, True, False, True),
        (IfExists.FAIL, False, True, True),
        (IfExists.ADOPT_IF_SAME, False, False, False),
        (IfExists.OBSERVE, False, False, False),
    ],
)
def test_what_is_there_after_an_open_put_is_ours_only_if_azure_says_so(
    policy, was_absent, is_made_by_us, expected
):
    record = claim(PutAnswers.OPEN, was_absent=was_absent)
    assert is_ours(record, policy, is_made_by_us=is_made_by_us) is expected


@pytest.mark.parametrize(
    ("record", "severity", "keeps"),
    [
        (claim(PutAnswers.OPEN), "Warning", True),
        (claim(PutAnswers.OPEN), "Error", False),
        (claim(PutAnswers.ACCEPTED), "Error", True),
        (claim(PutAnswers.NONE), "Warning", False),
        (claim(PutAnswers.NONE, has_let_go=True), "Warning", False),
    ],
)
def test_who_manages_or_may_have_put_keeps_others_out(record, severity, keeps):
    given = obj(severity=severity)
    assert keeps_others_out(given, standing_of(given, ID, record), record) is keeps
