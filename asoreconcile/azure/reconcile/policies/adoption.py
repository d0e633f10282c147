"""Adoption: an object takes over a resource that was there before, only reads it, or
leaves it alone.

Blocking: reads the resource. The values of the annotation are in `model.existence`.
Rule: OW-3.
"""

from collections.abc import Iterable

import attrs

from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.catalogue.status import status_of
from asoreconcile.azure.middleware.context import ReconcileContext
from asoreconcile.azure.reconcile.identity.recorded_claim import accept_claim
from asoreconcile.azure.reconcile.model.annotations import (
    EXISTENCE,
    LATEST_RECONCILED_GENERATION,
)
from asoreconcile.azure.reconcile.model.birth import is_born_since
from asoreconcile.azure.reconcile.model.decisions import Read, Requeue
from asoreconcile.azure.reconcile.model.differences import Difference
from asoreconcile.azure.reconcile.model.drift_baseline import OBSERVED, marks
from asoreconcile.azure.reconcile.model.existence import (
    ADOPTED,
    UNDECIDED,
    IfExists,
    is_observing,
    require_adoptable,
    stated_policy,
)
from asoreconcile.azure.reconcile.model.never_shown import what_differs
from asoreconcile.azure.reconcile.model.standing import Standing, is_ours
from asoreconcile.azure.reconcile.policies.requests import (
    DecidedPut,
    DeleteIntent,
    LeftAlone,
    WriteRequest,
)
from asoreconcile.azure.reconcile.scope.patch_helper import BEHIND_SECONDS, StaleError
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.sync.desired import Desired
from asoreconcile.base.objects import JsonObject, dig
from asoreconcile.base.printable import listed

_REMOVED = frozenset({"list-extra", "map-extra"})


def not_observing(write: WriteRequest) -> None:
    """Make sure that the object does not only observe. Raises StaleError."""
    patcher = write.scope.patcher
    if write.is_delete or EXISTENCE not in patcher.annotations:
        return
    if is_observing(patcher.annotations, write.inherited):
        raise StaleError(f"{patcher.key} only reads", after_seconds=BEHIND_SECONDS)


def look_first(request: DecidedPut) -> None:
    """Read the resource before anything makes room for it, if `if-exists` has to be
    asked. Raises as `raw_get`.
    """
    if request.scope.must_ask or request.scope.is_undecided:
        request.scope.context.raw_get()


def meet_existing(request: DecidedPut) -> Read | Requeue | None:
    """Ask `if-exists` before a PUT of an object that has no right to write over what is
    there.

    Return the end of the reconcile if the resource is adopted without a PUT, or is only
    read. Nothing is decided for the next PUT: until Azure has accepted one, each asks
    again. Raises ConditionError `AlreadyExists`, and the exceptions of `raw_get`.
    """
    scope, patcher, made = request.scope, request.scope.patcher, request.desired
    if not (scope.must_ask or scope.is_undecided):
        return None
    context, memory = scope.context, scope.memory
    have = context.raw_get()
    policy = None
    if scope.must_ask:
        policy = stated_policy(patcher.annotations, scope.namespace_annotations)
    if policy is IfExists.OBSERVE:
        # It was added after the claim; the next reconcile only reads.
        patcher.record({EXISTENCE: UNDECIDED})
        return Requeue()
    if have is None:
        return None
    if scope.standing is Standing.PERHAPS:
        if is_ours(scope.claim, policy, is_made_by_us=is_made_by(scope, have)):
            return None
        # Azure's answer: the PUT that was open has not made what is there.
        memory.knows_answers = True
    if policy is IfExists.FAIL:
        require_adoptable(policy, patcher.arm_id)
    found, rest = made.compare(have)
    if policy is not IfExists.ADOPT_IF_SAME:
        # Otherwise `report_adoption` reports it.
        if EXISTENCE in patcher.annotations and not memory.was_put:
            _report(context, f"the first PUT {_what_changes(found)}")
        return None
    paths, unseen = what_differs(patcher.version, made.own, have, found)
    require_adoptable(policy, patcher.arm_id, differs=listed(paths))
    # As after a PUT that left the resource as it is.
    record = attrs.evolve(request.put.record, known=marks(unseen), rest=rest)
    patcher.record(
        accept_claim(scope, patcher.arm_id)
        | {
            OBSERVED: record.dumps(),
            LATEST_RECONCILED_GENERATION: str(patcher.generation),
        }
    )
    text = "nothing that Azure shows differs from the spec, so no PUT was sent"
    if unseen:
        text += f"; Azure does not show {listed([one.path for one in unseen])}"
    _report(context, text)
    return Read(have)


def is_made_by(scope: ReconcileScope, have: JsonObject) -> bool:
    """Return whether Azure says that the principal of the object's credential created
    the resource.
    """
    client_id = scope.connection.client_id.lower()
    made_by = str(dig(have, "systemData.createdBy") or "").lower()
    return bool(client_id) and made_by == client_id


def report_adoption(request: DecidedPut) -> None:
    """Report that the first PUT of an object takes over a resource that a read has
    found.
    """
    scope, made = request.scope, request.desired
    have = scope.context.read.body if scope.context.read else None
    if have is None or not made.is_first or scope.memory.was_put:
        return
    claimed_at = "" if scope.claim is None else scope.claim.at
    if not _was_met(made, claimed_at, have):
        found, _ = made.compare(have)
        _report(scope.context, f"the first PUT {_what_changes(found)}")


def _was_met(made: Desired, claimed_at: str, have: JsonObject) -> bool:
    """Return whether the resource was reported before, or an earlier PUT of this object
    may have made it.
    """
    patcher = made.maker.patcher
    if EXISTENCE in patcher.annotations:
        return True
    return bool(claimed_at) and is_born_since(
        status_of(patcher.version, have), claimed_at
    )


def _report(context: ReconcileContext, text: str) -> None:
    arm_id = context.arm_id
    message = f"{arm_id} was there before and is managed by this object now: {text}"
    context.log.info("Adopting resource", armId=arm_id, reason=text)
    context.event("Normal", ADOPTED, message)


def _what_changes(found: Iterable[Difference]) -> str:
    """Return a clause that names the paths a PUT will change and remove, without
    values.
    """
    ordered = list(found)
    changed = [one.path for one in ordered if one.kind not in _REMOVED]
    removed = [one.path for one in ordered if one.kind in _REMOVED]
    parts = [
        f"{verb} {listed(paths)}"
        for verb, paths in (("changes", changed), ("removes", removed))
        if paths
    ]
    return " and ".join(parts) or "changes nothing that Azure shows"


def leave_anothers(intent: DeleteIntent) -> LeftAlone | None:
    """Leave a resource which the PUT without an answer has not made, and which the
    object may not take over.
    """
    scope = intent.scope
    if scope.standing is not Standing.PERHAPS or not _is_of_another(scope):
        return None
    return LeftAlone(
        f"{scope.patcher.arm_id} is left alone: it was there before, and no PUT of "
        "this object has made it"
    )


def _is_of_another(scope: ReconcileScope) -> bool:
    """Return whether Azure has a resource which the PUT without an answer has not made,
    and which the object may not take over.

    One GET. In doubt the resource counts as the object's own: a resource that no
    object manages would be left behind for ever.
    """
    own, inherited = scope.patcher.annotations, scope.namespace_annotations
    if "Get" not in scope.patcher.version.operations:
        return False
    try:
        have = scope.context.raw_get()
    except (ArmError, ArmTransportError) as error:
        text = "Cannot tell whether the resource exists"
        scope.log.info(text, reason=str(error))
        return False
    if have is None:
        return False
    policy = stated_policy(own, inherited)
    return not is_ours(scope.claim, policy, is_made_by_us=is_made_by(scope, have))
