"""The record of a claim, and the effect of Azure's answers on it."""

from datetime import UTC, datetime

import attrs
import pytest

from asoreconcile.azure.arm.credentials import CredentialError
from asoreconcile.azure.arm.error_body import ErrorBody
from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.reconcile.identity.recorded_claim import (
    awaiting_answer,
    has_made_nothing,
)
from asoreconcile.azure.reconcile.model.annotations import CLAIM, CLAIM_FACTS
from asoreconcile.azure.reconcile.model.claim_record import (
    ClaimFacts,
    PutAnswers,
    claim_condition,
    claim_of,
    claim_to_record,
    names_another_object,
    new_claim,
    stated_claim,
)
from asoreconcile.azure.reconcile.model.record_key import RecordKey
from asoreconcile.azure.reconcile.state.claims_under_way import ClaimsUnderWay
from asoreconcile.azure.reconcile.state.memory import ObjectMemory
from asoreconcile.base.errors import AsoreconcileError, RetryError

ID = "/subscriptions/s/resourceGroups/a group"
KEY = RecordKey(b"k" * 32)
NOW = datetime(2026, 1, 1, 0, 0, 1, 250_000, tzinfo=UTC)
LATER = datetime(2026, 1, 2, tzinfo=UTC)


def obj(text="", *, uid="u", seen="", severity=""):
    ready = {
        "type": "Ready",
        "severity": severity,
        "observedGeneration": 1,
        "lastTransitionTime": "2026-01-01T00:00:02Z",
    }
    meta = {"uid": uid, "generation": 1}
    if text:
        meta["annotations"] = {CLAIM: text}
    return {"metadata": meta, "status": {"id": seen, "conditions": [ready]}}


def key():
    return KEY


@pytest.mark.parametrize("standing", PutAnswers)
def test_a_record_is_read_as_it_was_written(standing):
    made = new_claim(ID, NOW, standing)
    assert claim_of(obj(made.dumps("u", KEY)), key) == made


def test_times_sort_as_texts():
    times = [new_claim(ID, at, PutAnswers.OPEN).at for at in (NOW, LATER)]
    assert times == sorted(times)
    assert times[0] == "2026-01-01T00:00:01.250000Z"


@pytest.mark.parametrize(
    ("change", "uid"),
    [
        (lambda text: text, "another object"),
        (lambda text: text.replace("open", "accepted"), "u"),
        (lambda text: text.replace("2026", "2020"), "u"),
        (lambda text: text.replace("a group", "other"), "u"),
        (lambda text: text.replace(text.split(" ")[2], "x" * 22), "u"),
        (lambda text: text.rpartition(" ")[0], "u"),
        (lambda _: "", "u"),
        (lambda _: "nonsense", "u"),
        (lambda _: "bogus a b c", "u"),
    ],
)
def test_a_changed_or_copied_record_says_nothing(change, uid):
    text = new_claim(ID, NOW, PutAnswers.OPEN).dumps("u", KEY)
    assert claim_of(obj(change(text), uid=uid), key) is None


def test_a_record_of_another_key_says_nothing_and_of_the_previous_one_counts():
    other = RecordKey(b"o" * 32)
    text = new_claim(ID, NOW, PutAnswers.OPEN).dumps("u", other)
    assert claim_of(obj(text), key) is None
    rotated = RecordKey.load(KEY.dumps(), other.dumps())
    assert claim_of(obj(text), lambda: rotated) is not None


def test_without_a_record_the_key_is_not_needed():
    def unreadable():
        raise AssertionError("asked for the key")

    assert claim_of(obj(), unreadable) is None
    assert stated_claim({}) is None


OPEN, NONE, ACCEPTED = (
    new_claim(ID, NOW, standing)
    for standing in (PutAnswers.OPEN, PutAnswers.NONE, PutAnswers.ACCEPTED)
)
LET_GO = attrs.evolve(NONE, facts=ClaimFacts(has_let_go=True))
AGAIN = attrs.evolve(OPEN, at="2026-01-02T00:00:00.000000Z")


@pytest.mark.parametrize(
    ("before", "how", "after"),
    [
        (None, {}, AGAIN),
        # A resource that another operator has made.
        (
            None,
            {"is_taken_over": True},
            attrs.evolve(AGAIN, answers=PutAnswers.ACCEPTED),
        ),
        (OPEN, {}, OPEN),
        (OPEN, {"has_lapsed": True}, AGAIN),
        (NONE, {}, OPEN),
        (LET_GO, {}, attrs.evolve(AGAIN, facts=LET_GO.facts)),
        (ACCEPTED, {}, ACCEPTED),
        (ACCEPTED, {"has_lapsed": True}, ACCEPTED),
    ],
)
def test_the_claim_that_is_recorded_before_a_put(before, how, after):
    asked = {"has_lapsed": False, "is_taken_over": False, **how}
    assert claim_to_record(before, ID, may_write=True, now=LATER, **asked) == after


@pytest.mark.parametrize("is_taken_over", [False, True])
def test_who_only_reads_has_made_nothing(is_taken_over):
    made = claim_to_record(
        None,
        ID,
        may_write=False,
        has_lapsed=False,
        is_taken_over=is_taken_over,
        now=LATER,
    )
    assert made.answers is PutAnswers.NONE


FACTS = ClaimFacts(was_absent=True, has_let_go=True, over=("a", "b"), heir="c")


def named(notes, *, uid="u", name="n", conditions=()):
    meta = {"uid": uid, "namespace": "s", "name": name, "annotations": notes}
    return {"metadata": meta, "status": {"conditions": [*conditions]}}


def test_facts_are_read_as_they_were_written():
    made = attrs.evolve(OPEN, facts=FACTS)
    notes = made.notes(named({}), KEY)
    assert claim_of(named(notes), key) == made
    assert not names_another_object(named(notes))


def test_facts_do_not_count_beside_a_record_that_an_earlier_version_has_written():
    notes = attrs.evolve(OPEN, facts=FACTS).notes(named({}), KEY)
    notes[CLAIM] = ACCEPTED.dumps("u", KEY)
    assert claim_of(named(notes), key) == ACCEPTED


def test_the_record_of_another_object_is_known_without_the_key():
    notes = ACCEPTED.notes(named({}), KEY)
    other = named(notes, uid="other")
    assert claim_of(other, key) is None
    assert names_another_object(other)
    assert not names_another_object(named({CLAIM_FACTS: "x nonsense"}, uid="other"))


@pytest.mark.parametrize("left", [{}, {CLAIM: "nonsense"}])
def test_the_copy_in_the_status_survives_a_replacement(left):
    made = attrs.evolve(ACCEPTED, facts=FACTS)
    copy = claim_condition(made.notes(named({}), KEY), None, NOW)
    assert claim_of(named(left, conditions=[copy]), key) == made
    assert claim_of(named(left, uid="other", conditions=[copy]), key) is None
    # The annotation is newer.
    let_go = attrs.evolve(NONE, facts=ClaimFacts(has_let_go=True))
    notes = let_go.notes(named({}), KEY)
    assert claim_of(named(notes, conditions=[copy]), key) == let_go


def refusal(status, **more):
    return ArmError(ErrorBody("Some", "words"), status=status, **more)


def lost(sent):
    return ArmTransportError("none", sent=sent, method="PUT", url="https://arm/x")


@pytest.mark.parametrize(
    ("error", "nothing"),
    [
        (refusal(400), True),
        (refusal(404), True),
        (refusal(409), True),
        (refusal(429), True),
        (refusal(408), False),
        (refusal(200), False),
        (refusal(302), False),
        (refusal(403, is_foreign=True), False),
        (refusal(500), False),
        (refusal(503), False),
        (lost("no"), True),
        (lost("maybe"), False),
        (RetryError("throttled", after_seconds=1.0), True),
        (CredentialError("none"), True),
        (AsoreconcileError("anything"), False),
    ],
)
def test_which_errors_say_that_a_put_has_made_nothing(error, nothing):
    assert has_made_nothing(error) is nothing
    for knew in (True, False):
        memory = ObjectMemory("u", knows_answers=knew)
        with pytest.raises(type(error)), awaiting_answer(memory):
            raise error
        assert memory.knows_answers is (knew and nothing)


def test_an_accepted_put_has_made_something():
    memory = ObjectMemory("u", knows_answers=True)
    with awaiting_answer(memory):
        pass
    assert not memory.knows_answers


def test_one_object_at_a_time_claims_an_id():
    under_way = ClaimsUnderWay()
    with under_way.claiming(ID):
        with under_way.claiming(f"{ID}2"):
            pass
        with pytest.raises(RetryError), under_way.claiming(ID.upper()):
            pass
    with under_way.claiming(ID):
        pass
