"""Answers what an object may do to the resource with its Azure id. Pure.

The answer follows from recorded facts alone. Annotations that people can write, the
status, finalizers and owner references are only hints for looking.

    never          no PUT was sent, and nothing was taken over
    perhaps        a PUT may have been accepted: its answer is open, or was lost
    manages        Azure accepted a PUT (a 202 too), or the object took over
    manages, shown Azure Service Operator managed it, and there is no record of ours
    let go         it managed until another object took over, while it was on `skip`
    refused        it may not have the resource: another one has it, or it was there

Everything that destroys a resource, writes over one or takes one over asks `may`.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum

from asoreconcile.azure.arm import ids
from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.annotations import (
    EXISTENCE,
    FINALIZER,
    POLLER_ID,
    PUT_POLLER,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.claim_record import (
    ClaimRecord,
    PutAnswers,
    claim_of,
    has_lapsed,
    names_another_object,
    shows_id,
    stated_claim,
    stated_record,
)
from asoreconcile.azure.reconcile.model.conditions import ready_of
from asoreconcile.azure.reconcile.model.existence import (
    ALREADY_EXISTS,
    UNDECIDED,
    IfExists,
)
from asoreconcile.azure.reconcile.model.record_key import RecordKey
from asoreconcile.base.objects import JsonObject
from asoreconcile.kube.finalizers import has_finalizer

ALREADY_MANAGED = "AlreadyManaged"
"""The reason of the condition of an object whose id another object manages."""


class Standing(Enum):
    """The standing of an object towards an Azure id."""

    NEVER = "never"
    PERHAPS = "perhaps"
    MANAGES = "manages"
    SHOWN = "manages, shown"
    LET_GO = "let go"
    REFUSED = "refused"

    @property
    def manages(self) -> bool:
        """Return whether the object manages the resource."""
        return self in {Standing.MANAGES, Standing.SHOWN}


class Act(Enum):
    """An act that needs standing."""

    PUT_OVER = "PUT over what is there"
    DELETE = "DELETE"
    RECREATE = "DELETE in order to make it again"
    HOLD_HERE = "hold a deletion of the same namespace"
    HOLD_ELSEWHERE = "hold a deletion of another namespace"
    INHERIT = "inherit"


class Permit(Enum):
    """The answer to the question whether an object may act."""

    YES = "yes"
    NO = "no"
    IF_ASKED = "after if-exists was asked at this PUT"
    IF_OURS = "if Azure's answer says that the open PUT made it"
    IF_WRITES = "if its policy writes"
    IF_READ = "if its own credential reads the id"
    FOR_AN_HOUR = "for an hour"
    IF_ALONE = "if nobody else manages or declares it"


_NEVER = {
    Act.PUT_OVER: Permit.IF_ASKED,
    Act.DELETE: Permit.NO,
    Act.RECREATE: Permit.NO,
    Act.HOLD_HERE: Permit.IF_WRITES,
    Act.HOLD_ELSEWHERE: Permit.IF_READ,
    Act.INHERIT: Permit.YES,
}
_MANAGES = {
    Act.PUT_OVER: Permit.YES,
    Act.DELETE: Permit.YES,
    Act.RECREATE: Permit.YES,
    Act.HOLD_HERE: Permit.YES,
    Act.HOLD_ELSEWHERE: Permit.YES,
    Act.INHERIT: Permit.YES,
}
TABLE: Mapping[Standing, Mapping[Act, Permit]] = {
    Standing.NEVER: _NEVER,
    Standing.PERHAPS: {
        Act.PUT_OVER: Permit.IF_OURS,
        Act.DELETE: Permit.IF_OURS,
        Act.RECREATE: Permit.NO,
        Act.HOLD_HERE: Permit.YES,
        Act.HOLD_ELSEWHERE: Permit.FOR_AN_HOUR,
        Act.INHERIT: Permit.YES,
    },
    Standing.MANAGES: _MANAGES,
    # Its author can write what shows it, so that it needs a read to hold others.
    Standing.SHOWN: {**_MANAGES, Act.HOLD_ELSEWHERE: Permit.IF_READ},
    Standing.LET_GO: {
        Act.PUT_OVER: Permit.IF_ASKED,
        Act.DELETE: Permit.IF_ALONE,
        Act.RECREATE: Permit.NO,
        Act.HOLD_HERE: Permit.IF_WRITES,
        Act.HOLD_ELSEWHERE: Permit.NO,
        Act.INHERIT: Permit.NO,
    },
    Standing.REFUSED: _NEVER,
}
"""What an object may do, by standing and act."""


def may(standing: Standing, act: Act) -> Permit:
    """Return whether an object of this standing may do this."""
    return TABLE[standing][act]


def standing_of(
    obj: JsonObject,
    arm_id: str,
    claim: ClaimRecord | None,
    *,
    knows_answers: bool = False,
) -> Standing:
    """Return the standing of an object towards an id.

    claim: the verified record of the object's claim, if there is one. knows_answers:
    whether this process knows that Azure has refused each PUT since the claim.
    """
    if claim is None:
        return Standing.SHOWN if _is_shown(obj, arm_id) else _unclaimed(obj)
    if not ids.same(claim.arm_id, arm_id):
        return Standing.NEVER
    if claim.answers is PutAnswers.ACCEPTED:
        return Standing.MANAGES
    if claim.answers is PutAnswers.OPEN and not knows_answers:
        return Standing.PERHAPS
    return Standing.LET_GO if claim.facts.has_let_go else _unclaimed(obj)


def keeps_others_out(
    obj: JsonObject, standing: Standing, claim: ClaimRecord | None
) -> bool:
    """Return whether an object of this standing keeps others from claiming its id.

    A claim without an accepted PUT lapses once a person must correct the object.
    """
    if standing is Standing.PERHAPS:
        return claim is not None and not has_lapsed(obj, claim)
    return standing.manages


def is_ours(
    claim: ClaimRecord | None, policy: IfExists | None, *, is_made_by_us: bool
) -> bool:
    """Return whether a resource that Azure shows is the work of the open PUT, or may be
    taken over like it.

    policy: the stated `if-exists`. is_made_by_us: whether Azure says that the
    operator's principal has created the resource.
    """
    if policy not in {IfExists.FAIL, IfExists.ADOPT_IF_SAME, IfExists.OBSERVE}:
        return True
    return is_made_by_us or (claim is not None and claim.facts.was_absent)


def evidence(
    obj: JsonObject, standing: Standing, claim: ClaimRecord | None
) -> Sequence[str]:
    """Return the facts that a standing follows from, as clauses for a person."""
    found: list[str] = []
    if claim is None and names_another_object(obj):
        found.append("its record was copied from another object, so it does not count")
    elif claim is None:
        found.append("no record of a claim")
    else:
        found.append(f"claimed at {claim.at[:19]}Z")
        found.append(_SAID[claim.answers])
        if claim.facts.was_absent and claim.answers is PutAnswers.OPEN:
            found.append("Azure had nothing before that PUT")
        if claim.facts.over:
            found.append("it took over from another object")
        if claim.facts.heir:
            found.append("it hands over to another object")
    if standing is Standing.SHOWN:
        found.append(f"{RESOURCE_ID} and the finalizer are those of another operator")
    if standing is Standing.LET_GO:
        found.append("another object took over while its policy was skip")
    if standing is Standing.REFUSED:
        found.append(f"Ready is {ready_of(obj).get('reason')}")
    return found


def stated_standing(obj: JsonObject) -> str:
    """Return the standing that an object's records state, with its evidence and the
    effect of a deletion, as text. No mark is checked: for a person who has no key.
    """
    arm_id = annotations(obj).get(RESOURCE_ID) or ""
    claim = stated_record(obj)
    standing = standing_of(obj, arm_id or (claim.arm_id if claim else ""), claim)
    text = f"{standing.value} ({', '.join(evidence(obj, standing, claim))})"
    return f"{text}; a deletion {_DELETIONS[may(standing, Act.DELETE)]}"


_DELETIONS = {
    Permit.YES: "deletes the resource, if the policies permit it and no other object "
    "of the namespace takes over",
    Permit.NO: "leaves in Azure what is there",
    Permit.IF_OURS: "deletes the resource, if the open PUT has made it",
    Permit.IF_ALONE: "deletes the resource, if no other object manages or declares it",
}
_SAID = {
    PutAnswers.NONE: "Azure has accepted no PUT of it",
    PutAnswers.OPEN: "a PUT may be without an answer",
    PutAnswers.ACCEPTED: "Azure has accepted a PUT of it, or it took over",
}


def _unclaimed(obj: JsonObject) -> Standing:
    reason = ready_of(obj).get("reason")
    is_refused = reason in {ALREADY_EXISTS, ALREADY_MANAGED}
    return Standing.REFUSED if is_refused else Standing.NEVER


def _is_shown(obj: JsonObject, arm_id: str) -> bool:
    """Return whether an object without a record is like one that Azure Service Operator
    has managed.
    """
    notes = annotations(obj)
    claimed = notes.get(RESOURCE_ID) or ""
    return (
        bool(claimed)
        and ids.same(claimed, arm_id)
        and has_finalizer(obj, FINALIZER)
        and notes.get(EXISTENCE) != UNDECIDED
        and not names_another_object(obj)
    )


def standing_in(obj: JsonObject, arm_id: str, key: Callable[[], RecordKey]) -> Standing:
    """Return the standing of an object towards an id, from its verified record. key:
    function that returns the key, as for `claim_of`.
    """
    return standing_of(obj, arm_id, claim_of(obj, key))


def stated_ids(notes: Mapping[str, str]) -> set[str]:
    """Return the ids that annotations state as claimed, in one casing. They prove
    nothing: only for looking.
    """
    claim = stated_claim(notes)
    both = (notes.get(RESOURCE_ID), claim and claim.arm_id)
    return {ids.key(one) for one in both if one}


def may_move(notes: Mapping[str, str]) -> bool:
    """Return whether annotations state that Azure has accepted nothing, so that the
    spec may name another resource. The reconcile checks it again.
    """
    claim = stated_claim(notes)
    return claim is not None and claim.answers is PutAnswers.NONE


def says_accepted(notes: Mapping[str, str]) -> bool:
    """Return whether annotations state that Azure has accepted a PUT. It proves
    nothing: only for looking.
    """
    claim = stated_claim(notes)
    is_accepted = claim is not None and claim.answers is PutAnswers.ACCEPTED
    return is_accepted or notes.get(POLLER_ID) == PUT_POLLER


def is_taken_over(obj: JsonObject, arm_id: str) -> bool:
    """Return whether a claim of an object without a record takes over what another
    operator manages, and has shown in the status.
    """
    return _is_shown(obj, arm_id) and shows_id(obj, arm_id)
