"""Decides what to do with a resource that is there before the object's first PUT.

Blocking: reads the resource. Rules: OW-1, OW-3.
"""

from collections.abc import Sequence

import attrs

from asoreconcile.azure.catalogue.status import status_of
from asoreconcile.azure.reconcile.model.annotations import EXISTENCE
from asoreconcile.azure.reconcile.model.decisions import (
    Put,
    ReadAfter,
    ReconcileOutcome,
)
from asoreconcile.azure.reconcile.model.differences import Difference
from asoreconcile.azure.reconcile.model.drift_baseline import OBSERVED, marks
from asoreconcile.azure.reconcile.model.existence import (
    ADOPTED,
    ADOPTED_HERE,
    CREATED_HERE,
    listed,
    stated_policy,
    what_changes,
)
from asoreconcile.azure.reconcile.model.if_exists import IfExists, require_adoptable
from asoreconcile.azure.reconcile.model.never_shown import what_differs
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.sync.desired import Desired
from asoreconcile.azure.reconcile.writes.endings import settle
from asoreconcile.azure.reconcile.writes.external_deletion import is_born_since
from asoreconcile.base.objects import JsonObject


def meet_existing(
    scope: ReconcileScope, made: Desired, put: Put
) -> ReconcileOutcome | None:
    """Decide for an object that is undecided about a resource that is there. Return the
    outcome of an adoption without a PUT; None if the PUT follows.

    The decision is stored before the PUT, so that the resource of a PUT whose answer
    was lost is not taken for another one's. Raises ConditionError `AlreadyExists`; as
    `raw_get`.
    """
    patcher = scope.patcher
    have = scope.context.raw_get()
    if have is None:
        patcher.record({EXISTENCE: CREATED_HERE})
        return None
    policy = stated_policy(patcher.annotations, scope.namespace_annotations)
    if policy is IfExists.FAIL:
        require_adoptable(policy, patcher.arm_id)
    if policy is IfExists.ADOPT_IF_SAME:
        return _adopt_if_same(scope, made, put, have)
    found, _ = made.compare(have)
    patcher.record({EXISTENCE: ADOPTED_HERE})
    _send_event(scope, f"the first PUT {what_changes(found)}")
    return None


def report_adoption(
    scope: ReconcileScope, found: Sequence[Difference], have: JsonObject
) -> None:
    """Tell people that the first PUT takes over a resource, unless they were told or an
    earlier PUT of this object may have made the resource.

    found: the differences between the spec and the resource.
    """
    patcher, claim = scope.patcher, scope.claim
    if scope.memory.was_put or EXISTENCE in patcher.annotations:
        return
    if claim and is_born_since(status_of(patcher.version, have), claim.at):
        return
    _send_event(scope, f"the first PUT {what_changes(found)}")


def _adopt_if_same(
    scope: ReconcileScope,
    made: Desired,
    put: Put,
    have: JsonObject,
) -> ReconcileOutcome:
    found, rest = made.compare(have)
    paths, unseen = what_differs(scope.patcher.version, made.own, have, found)
    require_adoptable(
        IfExists.ADOPT_IF_SAME, scope.patcher.arm_id, differs=listed(paths)
    )
    # As after a PUT that left the resource as it is.
    record = attrs.evolve(put.record, known=marks(unseen), rest=rest)
    scope.patcher.record({EXISTENCE: ADOPTED_HERE, OBSERVED: record.dumps()})
    text = "nothing that Azure shows differs from the spec, so no PUT was sent"
    if unseen:
        text += f"; Azure does not show {listed([one.path for one in unseen])}"
    _send_event(scope, text)
    return settle(scope, ReadAfter.PUT, body=have)


def _send_event(scope: ReconcileScope, text: str) -> None:
    arm_id = scope.patcher.arm_id
    message = f"{arm_id} was there before and is managed by this object now: {text}"
    scope.log.info("Adopting resource", armId=arm_id, reason=text)
    scope.event("Normal", ADOPTED, message)
