"""The record of an object's claim to an Azure id.

The record says which id is claimed, since when, and whether Azure has accepted a PUT of
this object. The record is an annotation with a mark of the operator's key, bound to the
object's uid: a record with a wrong mark does not count. A second annotation has the
facts that earlier versions do not know; its mark binds it to the record. Both are also
in the status, as the condition `Claim`, which survives a replacement of the object.
Only `model.standing` decides from them. Pure.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Self

import attrs

from asoreconcile.azure.arm import ids
from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.annotations import (
    CLAIM,
    CLAIM_FACTS,
)
from asoreconcile.azure.reconcile.model.conditions import ready_of, stamp
from asoreconcile.azure.reconcile.model.record_key import RecordKey
from asoreconcile.base import jsontext
from asoreconcile.base.objects import (
    JsonObject,
    generation,
    key_of,
    status,
    uid_of,
)

CLAIM_CONDITION = "Claim"
"""The type of the condition with a copy of the record."""

_KIND, _FACTS_KIND = "claim", "claim-facts"
_TIME = "%Y-%m-%dT%H:%M:%S.%fZ"
_TO_THE_SECOND = len("2026-01-01T00:00:00")


class PutAnswers(Enum):
    """The answers of Azure to the PUTs of an object."""

    NONE = "none"
    """No PUT was accepted, and none is without an answer."""
    OPEN = "open"
    """No PUT was accepted, but one may have been sent whose answer was lost."""
    ACCEPTED = "accepted"
    """A PUT was accepted, or the resource was taken over in order."""


@attrs.frozen
class ClaimFacts:
    """The facts of a claim that the record's first form does not have.

    was_absent: whether the read before the open PUT found nothing, so that what is
    there now was made by that PUT. has_let_go: whether the object managed the resource
    until another one took it over. over: uids of the objects whose claims ended with
    this one. heir: uid of the object that a deleted object has agreed to hand over to,
    or "". was_given: whether the resource was handed over to this object, so that
    nothing is asked before its first PUT.
    """

    was_absent: bool = False
    has_let_go: bool = False
    over: tuple[str, ...] = ()
    heir: str = ""
    was_given: bool = False


NO_FACTS = ClaimFacts()


@attrs.frozen
class ClaimRecord:
    """A claim to an Azure id. at: the time of the claim in UTC, as a text that sorts by
    time.
    """

    arm_id: str
    at: str
    answers: PutAnswers
    facts: ClaimFacts = NO_FACTS

    def later_than(self, at: str) -> Self:
        """Return the same claim, made later than another one. at: its time, or ""."""
        if self.at > at:
            return self
        then = datetime.fromisoformat(at) + timedelta(microseconds=1)
        return attrs.evolve(self, at=then.strftime(_TIME))

    def dumps(self, uid: str, key: RecordKey) -> str:
        """Return the value of the first annotation. uid: the object's uid."""
        mark = key.sign(_parts(uid, self))
        # The id is last: Azure names may contain spaces.
        return f"{self.answers.value} {self.at} {mark} {self.arm_id}"

    def notes(self, obj: JsonObject, key: RecordKey) -> dict[str, str]:
        """Return the annotations that record the claim of an object."""
        text = self.dumps(uid_of(obj), key)
        facts = _stated_object(obj) | {
            name: value for name, value in attrs.asdict(self.facts).items() if value
        }
        body = jsontext.dumps(facts).decode()
        mark = key.sign((_FACTS_KIND, text, body))
        return {CLAIM: text, CLAIM_FACTS: f"{mark} {body}"}


def new_claim(arm_id: str, now: datetime, answers: PutAnswers) -> ClaimRecord:
    """Return a claim that begins now."""
    return ClaimRecord(arm_id, now.astimezone(UTC).strftime(_TIME), answers)


def claim_to_record(
    before: ClaimRecord | None,
    arm_id: str,
    *,
    may_write: bool,
    has_lapsed: bool,
    is_taken_over: bool,
    now: datetime,
) -> ClaimRecord:
    """Return the claim to record before a PUT, or for an object that only reads. Pure.

    before: the recorded claim to this id, if any; it is kept unless it has lapsed or
    the object has let go. is_taken_over: whether an operator without this record has
    managed the resource with this object.
    """
    answers = PutAnswers.OPEN if may_write else PutAnswers.NONE
    if before is None:
        accepted = PutAnswers.ACCEPTED if is_taken_over and may_write else answers
        return new_claim(arm_id, now, accepted)
    if before.answers is PutAnswers.ACCEPTED:
        return before
    if has_lapsed or (before.facts.has_let_go and may_write):
        facts = ClaimFacts(has_let_go=before.facts.has_let_go)
        return attrs.evolve(new_claim(arm_id, now, answers), facts=facts)
    return attrs.evolve(before, answers=answers)


def stated_claim(notes: Mapping[str, str]) -> ClaimRecord | None:
    """Return the claim that annotations state, without checking the mark; None if they
    state no claim.

    It proves nothing: use it only to look for objects, or to permit a change that the
    reconcile checks again.
    """
    found = _loads(notes)
    return None if found is None else found[0]


def stated_record(obj: JsonObject) -> ClaimRecord | None:
    """Return the claim that an object states of itself, with its facts and without
    checking a mark; None if it states none, or that of another object.

    It proves nothing: for a person who has no key.
    """
    for notes in (annotations(obj), copied_notes(status(obj).get("conditions"))):
        claim = stated_claim(notes)
        stated = _facts_in(obj, notes)
        if claim is not None and stated is not None:
            return attrs.evolve(claim, facts=stated)
        if claim is not None and CLAIM_FACTS not in notes:
            return claim
    return None


def claim_of(obj: JsonObject, key: Callable[[], RecordKey]) -> ClaimRecord | None:
    """Return the recorded claim of an object; None if this operator has recorded none.

    The copy in the status counts if the annotation is gone or not this operator's.

    key: function that returns the key; called only if there is a record to verify. Its
    exceptions are raised.
    """
    for notes in (annotations(obj), copied_notes(status(obj).get("conditions"))):
        found = _loads(notes)
        if found is None:
            continue
        record, mark = found
        if key().verify(_parts(uid_of(obj), record), mark):
            facts = _facts(obj, notes, key())
            return record if facts is None else attrs.evolve(record, facts=facts)
    return None


def names_another_object(obj: JsonObject) -> bool:
    """Return whether the record in the annotations states another object, as in a
    manifest that was copied from the cluster.

    The mark is not checked: a wrong statement only takes from the object's own rights.
    """
    _, _, body = (annotations(obj).get(CLAIM_FACTS) or "").partition(" ")
    # Nearly always its own uid is in it, so that nothing is parsed.
    if not body or f'"uid":"{uid_of(obj)}"' in body:
        return False
    try:
        stated = jsontext.loads(body)
    except ValueError:
        return False
    return isinstance(stated, dict) and stated.get("uid", uid_of(obj)) != uid_of(obj)


def named_object(obj: JsonObject) -> tuple[str, str] | None:
    """Return the namespace and name that the record in the annotations states; None if
    it states none. The mark is not checked.
    """
    _, _, body = (annotations(obj).get(CLAIM_FACTS) or "").partition(" ")
    try:
        stated = jsontext.loads(body) if body else None
    except ValueError:
        return None
    if not isinstance(stated, dict):
        return None
    return str(stated.get("namespace") or ""), str(stated.get("name") or "")


def is_claim(condition: JsonObject) -> bool:
    """Return whether a condition is the copy of a record."""
    return condition.get("type") == CLAIM_CONDITION


def claim_condition(
    notes: Mapping[str, str], before: JsonObject | None, now: datetime
) -> JsonObject | None:
    """Return the condition with a copy of the record; None if nothing is recorded.

    notes: the object's annotations. before: the condition so far; its time is kept
    while its status is the same.
    """
    text = notes.get(CLAIM)
    claim = stated_claim(notes)
    if not text or claim is None:
        return None
    state, reason = _SHOWN[claim.answers]
    is_same = before is not None and before.get("status") == state
    return {
        "type": CLAIM_CONDITION,
        "status": state,
        "lastTransitionTime": before["lastTransitionTime"]
        if before is not None and is_same
        else stamp(now),
        "reason": reason,
        "message": "\n".join(filter(None, (text, notes.get(CLAIM_FACTS)))),
    }


def copied_notes(conditions: Sequence[JsonObject] | None) -> dict[str, str]:
    """Return the annotations that the condition `Claim` is a copy of; {} without
    one.
    """
    for one in conditions or ():
        if is_claim(one):
            text, _, facts = str(one.get("message") or "").partition("\n")
            return {CLAIM: text, CLAIM_FACTS: facts} if facts else {CLAIM: text}
    return {}


_SHOWN = {
    PutAnswers.NONE: ("False", "NothingAccepted"),
    PutAnswers.OPEN: ("Unknown", "AnswerOpen"),
    PutAnswers.ACCEPTED: ("True", "Accepted"),
}


def has_lapsed(obj: JsonObject, claim: ClaimRecord) -> bool:
    """Return whether a claim without an accepted PUT has lapsed, so that another object
    may claim the id.

    It lapses once a person must correct the object: the condition has the severity
    Error, is about the present spec, and is not older than the claim.
    """
    if claim.answers is PutAnswers.ACCEPTED:
        return False
    ready = ready_of(obj)
    since = str(ready.get("lastTransitionTime") or "")
    return (
        ready.get("severity") == "Error"
        and ready.get("observedGeneration") == generation(obj)
        and since[:_TO_THE_SECOND] >= claim.at[:_TO_THE_SECOND]
    )


def shows_id(obj: JsonObject, arm_id: str) -> bool:
    """Return whether the object's status shows this id."""
    seen = status(obj).get("id")
    return bool(arm_id and isinstance(seen, str) and seen and ids.same(seen, arm_id))


def _loads(notes: Mapping[str, str]) -> tuple[ClaimRecord, str] | None:
    match (notes.get(CLAIM) or "").split(" ", 3):
        case [answers, at, mark, arm_id] if answers in _STANDINGS:
            return ClaimRecord(arm_id, at, PutAnswers(answers)), mark
    return None


_STANDINGS = frozenset(one.value for one in PutAnswers)


def _stated_object(obj: JsonObject) -> JsonObject:
    key = key_of(obj)
    return {"uid": uid_of(obj), "namespace": key.namespace, "name": key.name}


def _facts(
    obj: JsonObject, notes: Mapping[str, str], key: RecordKey
) -> ClaimFacts | None:
    """Return the facts of a verified claim; None if they are not of this claim, as
    after a version that does not know them has written it.
    """
    mark, _, body = (notes.get(CLAIM_FACTS) or "").partition(" ")
    if not body or not key.verify((_FACTS_KIND, notes[CLAIM], body), mark):
        return None
    return _facts_in(obj, notes)


def _facts_in(obj: JsonObject, notes: Mapping[str, str]) -> ClaimFacts | None:
    """Return the facts that annotations state of this object, without checking the
    mark; None if they state none.
    """
    body = (notes.get(CLAIM_FACTS) or "").partition(" ")[2]
    try:
        found = jsontext.loads(body) if body else None
    except ValueError:
        return None
    if not isinstance(found, dict):
        return None
    stated = _stated_object(obj)
    if stated != {key: found.get(key) for key in stated}:
        return None
    return ClaimFacts(
        was_absent=bool(found.get("was_absent")),
        has_let_go=bool(found.get("has_let_go")),
        over=tuple(map(str, found.get("over") or ())),
        heir=str(found.get("heir") or ""),
        was_given=bool(found.get("was_given")),
    )


def _parts(uid: str, record: ClaimRecord) -> tuple[str, ...]:
    return _KIND, uid, record.arm_id, record.at, record.answers.value
