"""The record of an object's claim to an Azure id.

The record says which id is claimed, since when, and whether Azure has accepted a PUT of
this object. The record is an annotation with a mark of the operator's key, bound to the
object's uid: a record with a wrong mark does not count. Pure.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import Enum

import attrs

from asoreconcile.azure.arm import ids
from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.annotations import CLAIM, POLLER_ID, PUT_POLLER
from asoreconcile.azure.reconcile.model.conditions import ready_of
from asoreconcile.azure.reconcile.model.record_key import RecordKey
from asoreconcile.base.objects import JsonObject, generation, status, uid_of

_KIND = "claim"
_TIME = "%Y-%m-%dT%H:%M:%S.%fZ"
_TO_THE_SECOND = len("2026-01-01T00:00:00")


class Standing(Enum):
    """The answers of Azure to the PUTs of an object."""

    NONE = "none"
    """No PUT was accepted, and none is without an answer."""
    OPEN = "open"
    """No PUT was accepted, but one may have been sent whose answer was lost."""
    ACCEPTED = "accepted"
    """A PUT was accepted, or the resource was taken over in order."""


@attrs.frozen
class ClaimRecord:
    """A claim to an Azure id. at: the time of the claim in UTC, as a text that sorts by
    time.
    """

    arm_id: str
    at: str
    standing: Standing

    def dumps(self, uid: str, key: RecordKey) -> str:
        """Return the annotation's value. uid: the object's uid."""
        mark = key.sign(_parts(uid, self))
        # The id is last: Azure names may contain spaces.
        return f"{self.standing.value} {self.at} {mark} {self.arm_id}"


def new_claim(arm_id: str, now: datetime, standing: Standing) -> ClaimRecord:
    """Return a claim that begins now."""
    return ClaimRecord(arm_id, now.astimezone(UTC).strftime(_TIME), standing)


def claim_to_record(
    obj: JsonObject,
    arm_id: str,
    before: ClaimRecord | None,
    *,
    may_write: bool,
    now: datetime,
) -> ClaimRecord:
    """Return the claim to record before a PUT, or for an object that only reads. Pure.

    before: the recorded claim to this id, if any; it is kept unless it has lapsed. A
    resource that the status shows was taken over from another operator.
    """
    standing = Standing.OPEN if may_write else Standing.NONE
    if before is None:
        is_taken_over = may_write and shows_id(obj, arm_id)
        accepted = Standing.ACCEPTED if is_taken_over else standing
        return new_claim(arm_id, now, accepted)
    if before.standing is Standing.ACCEPTED:
        return before
    if has_lapsed(obj, before):
        return new_claim(arm_id, now, standing)
    return attrs.evolve(before, standing=standing)


def stated_claim(notes: Mapping[str, str]) -> ClaimRecord | None:
    """Return the claim that annotations state, without checking the mark; None if they
    state no claim.

    It proves nothing: use it only to look for objects, or to permit a change that the
    reconcile checks again.
    """
    found = _loads(notes)
    return None if found is None else found[0]


def says_accepted(notes: Mapping[str, str]) -> bool:
    """Return whether annotations state that Azure has accepted a PUT."""
    claim = stated_claim(notes)
    is_accepted = claim is not None and claim.standing is Standing.ACCEPTED
    return is_accepted or notes.get(POLLER_ID) == PUT_POLLER


def claim_of(obj: JsonObject, key: Callable[[], RecordKey]) -> ClaimRecord | None:
    """Return the recorded claim of an object; None if this operator has recorded none.

    key: function that returns the key; called only if there is a record to verify. Its
    exceptions are raised.
    """
    found = _loads(annotations(obj))
    if found is None:
        return None
    record, mark = found
    return record if key().verify(_parts(uid_of(obj), record), mark) else None


def has_lapsed(obj: JsonObject, claim: ClaimRecord) -> bool:
    """Return whether a claim without an accepted PUT has lapsed, so that another object
    may claim the id.

    It lapses once a person must correct the object: the condition has the severity
    Error, is about the present spec, and is not older than the claim.
    """
    if claim.standing is Standing.ACCEPTED:
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
        case [standing, at, mark, arm_id] if standing in _STANDINGS:
            return ClaimRecord(arm_id, at, Standing(standing)), mark
    return None


_STANDINGS = frozenset(one.value for one in Standing)


def _parts(uid: str, record: ClaimRecord) -> tuple[str, ...]:
    return _KIND, uid, record.arm_id, record.at, record.standing.value
