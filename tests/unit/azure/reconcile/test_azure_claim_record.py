"""The record of a claim, and the effect of Azure's answers on it."""

from datetime import UTC, datetime

import attrs
import pytest

from asoreconcile.azure.arm.credentials import CredentialError
from asoreconcile.azure.arm.error_body import ErrorBody
from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.reconcile.identity.recorded_claim import (
    awaiting_answer,
    claim_to_record,
    has_made_nothing,
)
from asoreconcile.azure.reconcile.model.annotations import CLAIM
from asoreconcile.azure.reconcile.model.claim_record import (
    Standing,
    claim_of,
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


@pytest.mark.parametrize("standing", Standing)
def test_a_record_is_read_as_it_was_written(standing):
    made = new_claim(ID, NOW, standing)
    assert claim_of(obj(made.dumps("u", KEY)), key) == made


def test_times_sort_as_texts():
    times = [new_claim(ID, at, Standing.OPEN).at for at in (NOW, LATER)]
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
    text = new_claim(ID, NOW, Standing.OPEN).dumps("u", KEY)
    assert claim_of(obj(change(text), uid=uid), key) is None


def test_a_record_of_another_key_says_nothing_and_of_the_previous_one_counts():
    other = RecordKey(b"o" * 32)
    text = new_claim(ID, NOW, Standing.OPEN).dumps("u", other)
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
    for standing in (Standing.OPEN, Standing.NONE, Standing.ACCEPTED)
)
AGAIN = attrs.evolve(OPEN, at="2026-01-02T00:00:00.000000Z")


@pytest.mark.parametrize(
    ("before", "given", "after"),
    [
        (None, obj(), AGAIN),
        # A resource that another operator has made.
        (None, obj(seen=ID), attrs.evolve(AGAIN, standing=Standing.ACCEPTED)),
        (None, obj(seen="/other"), AGAIN),
        (OPEN, obj(), OPEN),
        (OPEN, obj(severity="Warning"), OPEN),
        (OPEN, obj(severity="Error"), AGAIN),
        (NONE, obj(), OPEN),
        (ACCEPTED, obj(), ACCEPTED),
        (ACCEPTED, obj(severity="Error"), ACCEPTED),
    ],
)
def test_the_claim_that_is_recorded_before_a_put(before, given, after):
    made = claim_to_record(given, ID, before, may_write=True, now=LATER)
    assert made == after


@pytest.mark.parametrize("seen", ["", ID])
def test_who_only_reads_has_made_nothing(seen):
    made = claim_to_record(obj(seen=seen), ID, None, may_write=False, now=LATER)
    assert made.standing is Standing.NONE


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
