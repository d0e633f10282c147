"""Records an object's claim to its Azure id, and Azure's answers to its PUTs.

The record decides which of several objects manages an id (`duplicates`), whether a
deletion sends a DELETE, and whether the spec may still name another resource.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http import HTTPStatus

import attrs

from asoreconcile.azure.arm import ids
from asoreconcile.azure.arm.credentials import CredentialError
from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.reconcile.identity.duplicates import (
    Rival,
    has_taken_over,
    require_sole,
    rivals_of,
    writes,
    yields_to,
)
from asoreconcile.azure.reconcile.model.annotations import EXISTENCE
from asoreconcile.azure.reconcile.model.claim_record import (
    NO_FACTS,
    ClaimFacts,
    ClaimRecord,
    PutAnswers,
    claim_to_record,
    has_lapsed,
    new_claim,
)
from asoreconcile.azure.reconcile.model.existence import (
    ADOPTED_HERE,
    CREATED_HERE,
    UNDECIDED,
    will_observe,
)
from asoreconcile.azure.reconcile.model.standing import is_taken_over
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.state.memory import ObjectMemory
from asoreconcile.base.errors import AsoreconcileError, RetryError
from asoreconcile.base.objects import uid_of

# A record has a bound.
_MOST_OVER = 8


def recorded(scope: ReconcileScope, arm_id: str) -> dict[str, str]:
    """Return the annotations of a claim: a new one, or the earlier one if it still
    counts.

    The caller holds the id in `ClaimsUnderWay`. Raises ConditionError `AlreadyManaged`.
    """
    patcher, operator, before = scope.patcher, scope.operator, scope.claim
    memory = scope.memory
    facts, latest = NO_FACTS, ""
    own, inherited = patcher.annotations, scope.namespace_annotations
    may_write = scope.may_write and not will_observe(own, inherited)
    if may_write:
        rivals = require_sole(operator, patcher.version, patcher.obj, arm_id, before)
        # An object that loses by this claim is woken by the event of its write.
        for rival in rivals:
            operator.waiting.note(rival.node, patcher.node)
        if before is None or before.answers is not PutAnswers.ACCEPTED:
            facts, latest = _taken_over(scope, arm_id, rivals)
    # Of an object that had no record another operator may have sent a PUT.
    is_new = before is None and not patcher.arm_id and not memory.was_put
    knows_answers = is_new or scope.manages_nothing
    if before is not None and not ids.same(before.arm_id, arm_id):
        before = None
    after = claim_to_record(
        before,
        arm_id,
        may_write=may_write,
        has_lapsed=before is not None and has_lapsed(patcher.obj, before),
        is_taken_over=is_taken_over(patcher.obj, arm_id),
        now=operator.clock.now(),
    )
    if facts.over:
        have = after.facts
        over = (*have.over, *(one for one in facts.over if one not in have.over))
        given = have.was_given or facts.was_given
        facts = attrs.evolve(have, over=over[-_MOST_OVER:], was_given=given)
        # Later than theirs, also if the clock was set back: the later one counts.
        after = attrs.evolve(after.later_than(latest), facts=facts)
    memory.knows_answers = knows_answers
    return _noted(scope, after)


def _taken_over(
    scope: ReconcileScope, arm_id: str, rivals: Sequence[Rival]
) -> tuple[ClaimFacts, str]:
    """Return which objects lose the id by a claim of this one, and the time of the last
    of their claims: those that hand over to it, and those that managed it and only read
    now.
    """
    operator, obj = scope.operator, scope.patcher.obj
    uid = uid_of(obj)
    given = [one for one in rivals if yields_to(one, uid, None)]
    left = [
        one
        for one in rivals_of(operator, obj, arm_id, with_readers=True)
        if one.standing.manages and not writes(operator, one.obj)
    ]
    for one in left:  # so that it finds out
        operator.waiting.note(one.node, scope.patcher.node)
    lost = (*given, *left)
    latest = max((one.claim.at for one in lost if one.claim), default="")
    over = tuple(uid_of(one.obj) for one in lost)
    return ClaimFacts(over=over, was_given=bool(given)), latest


def let_go(scope: ReconcileScope) -> None:
    """Record that another object has taken the id over while this one only read.

    The note is written with the next write of metadata. Raises as `rivals_of`.
    """
    claim, patcher, operator = scope.claim, scope.patcher, scope.operator
    if claim is None or claim.answers is not PutAnswers.ACCEPTED:
        return
    uid = uid_of(patcher.obj)
    for rival in rivals_of(operator, patcher.obj, claim.arm_id, with_readers=True):
        if has_taken_over(rival, uid, claim) and rival.standing.manages:
            scope.log.info("Another object has taken over", by=str(rival.node))
            facts = ClaimFacts(has_let_go=True)
            after = attrs.evolve(claim, answers=PutAnswers.NONE, facts=facts)
            patcher.annotate(_noted(scope, after))
            return


def agree(scope: ReconcileScope, arm_id: str, heir: Rival) -> None:
    """Record that a deleted object hands its resource over to another one.

    At most one write. Raises GoneError.
    """
    claim = scope.claim or new_claim(
        arm_id, scope.operator.clock.now(), PutAnswers.ACCEPTED
    )
    if claim.facts.heir != uid_of(heir.obj):
        facts = attrs.evolve(claim.facts, heir=uid_of(heir.obj))
        scope.patcher.record(_noted(scope, attrs.evolve(claim, facts=facts)))


def _noted(scope: ReconcileScope, claim: ClaimRecord) -> dict[str, str]:
    """Return the annotations that record a claim, and let this reconcile go on with
    it.
    """
    scope.claim = claim
    return claim.notes(scope.patcher.obj, scope.operator.record_key())


def open_claim(
    scope: ReconcileScope, arm_id: str, *, was_absent: bool | None = None
) -> None:
    """Make sure that the claim is recorded before a PUT is sent.

    The answer of the PUT may be lost. Without the record, a deletion would not reach
    the resource that the PUT has made. was_absent: whether the read before this PUT
    found nothing, which then proves that the PUT made what is there; None if it
    does not matter.

    At most one write. Raises ConditionError `AlreadyManaged`, RetryError, GoneError.
    """
    patcher, operator, before = scope.patcher, scope.operator, scope.claim
    is_open = (
        before is not None
        and before.answers is not PutAnswers.NONE
        and ids.same(before.arm_id, arm_id)
        and not has_lapsed(patcher.obj, before)
    )
    with ExitStack() as claiming:
        notes: dict[str, str] = {}
        if not is_open:
            claiming.enter_context(operator.claims_under_way.claiming(arm_id))
            notes = recorded(scope, arm_id)
        claim = scope.claim
        has_ended = claim is None or claim.answers is PutAnswers.ACCEPTED
        if claim and not has_ended and was_absent not in {None, claim.facts.was_absent}:
            facts = attrs.evolve(claim.facts, was_absent=bool(was_absent))
            notes = _noted(scope, attrs.evolve(claim, facts=facts))
        if notes:
            patcher.record(notes)


@contextmanager
def awaiting_answer(memory: ObjectMemory) -> Iterator[None]:
    """Return a context in which to send a PUT.

    Afterwards the memory says whether the PUT may have made a resource.
    """
    knew, memory.knows_answers = memory.knows_answers, False
    memory.was_put = True
    try:
        yield
    except AsoreconcileError as error:
        memory.knows_answers = knew and has_made_nothing(error)
        raise


def has_made_nothing(error: AsoreconcileError) -> bool:
    """Return whether a PUT that ended with this error has certainly changed nothing.
    Pure.
    """
    match error:
        case ArmError():
            # After an error of the server, or a time-out, Azure may carry it out. A
            # proxy may have replaced the answer of an accepted PUT.
            is_timeout = error.status == HTTPStatus.REQUEST_TIMEOUT
            return error.status // 100 == 4 and not (is_timeout or error.is_foreign)
        case ArmTransportError():
            return error.sent == "no"
        case CredentialError() | RetryError():
            return True  # nothing was sent
        case _:
            return False


def accept_claim(scope: ReconcileScope, arm_id: str) -> dict[str, str]:
    """Return the annotations that record that Azure has accepted a PUT; those that are
    recorded already change nothing.
    """
    before, noted = scope.claim, scope.patcher.annotations
    if before is None or not ids.same(before.arm_id, arm_id):
        before = new_claim(arm_id, scope.operator.clock.now(), PutAnswers.ACCEPTED)
        if not scope.patcher.version.is_arm:  # its id is known only now
            rivals = rivals_of(scope.operator, scope.patcher.obj, arm_id)
            lost, latest = _taken_over(scope, arm_id, rivals)
            before = attrs.evolve(before.later_than(latest), facts=lost)
    facts = ClaimFacts(over=before.facts.over)
    after = attrs.evolve(before, answers=PutAnswers.ACCEPTED, facts=facts)
    # They also differ if the previous key has made their marks.
    notes = _noted(scope, after)
    if noted.get(EXISTENCE) == UNDECIDED:
        was_absent = before.facts.was_absent or scope.context.is_known_absent
        notes[EXISTENCE] = CREATED_HERE if was_absent else ADOPTED_HERE
    return notes


def close_claim(scope: ReconcileScope) -> None:
    """Record that Azure has accepted no PUT, if that is known.

    Raises ConflictError if the object has changed: since this process lost the lease,
    Azure may have accepted a PUT of another one. Also raises GoneError, ApiError.
    """
    before = scope.claim
    if before is None or before.answers is not PutAnswers.OPEN:
        return
    if scope.memory.knows_answers:
        # A resource that appears from now on is not the work of a refused PUT.
        facts = attrs.evolve(before.facts, was_absent=False)
        after = attrs.evolve(before, answers=PutAnswers.NONE, facts=facts)
        scope.patcher.write_shared({"annotations": _noted(scope, after)})
