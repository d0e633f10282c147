"""The resource that is there before a PUT: whether the object takes it over, and the
values of others that the PUT keeps or replaces.

Blocking: reads the resource, or one list in place of a GET for each of many new
objects. Rules: OW-1, OW-2, OW-3, OW-8, OW-9, Q6-Q8.
"""

from collections.abc import Sequence
from datetime import datetime

import attrs

from asoreconcile.azure.arm.collection_reads import CollectionReads
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.catalogue.status import status_of
from asoreconcile.azure.reconcile.model.annotations import EXISTENCE
from asoreconcile.azure.reconcile.model.decisions import (
    Put,
    ReadAfter,
    ReconcileOutcome,
)
from asoreconcile.azure.reconcile.model.differences import Difference
from asoreconcile.azure.reconcile.model.drift_baseline import (
    OBSERVED,
    DriftBaseline,
    marks,
)
from asoreconcile.azure.reconcile.model.existence import (
    ADOPTED,
    ADOPTED_HERE,
    CREATED_HERE,
    listed,
    stated_policy,
    what_changes,
)
from asoreconcile.azure.reconcile.model.foreign_values import REPLACED, replaced_paths
from asoreconcile.azure.reconcile.model.if_exists import IfExists, require_adoptable
from asoreconcile.azure.reconcile.model.merged_body import MergedBody, merged
from asoreconcile.azure.reconcile.model.never_shown import what_differs
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.sync.desired import Desired
from asoreconcile.azure.reconcile.writes.endings import settle
from asoreconcile.azure.reconcile.writes.external_deletion import is_born_since
from asoreconcile.base.objects import JsonObject, metadata

_SAID_AGAIN_SECONDS = 3600.0


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


def _report_adoption(
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


def merged_put(
    scope: ReconcileScope, put: Put, made: Desired, last: DriftBaseline | None
) -> Put:
    """Return the PUT with the values of others as Azure has them. People are told of
    those that the PUT replaces.

    A PUT of a resource that may be there follows a read, also the first PUT: its answer
    tells whether the resource was made (OW-3), but only a read before it shows the tags
    that the PUT would remove (OW-1) and the paths of the event. Of many new objects one
    list tells which resources are not there, so that creating them takes no longer.
    last: the record of the last PUT. Raises as `merge_rules` and
    `ReconcileContext.raw_get`.
    """
    context, rules, patcher = scope.context, scope.merge_rules(), scope.patcher
    is_first, reads = made.is_first, scope.operator.collection_reads
    looks = rules.looks_first if is_first else bool(rules)
    if looks and "Get" in patcher.version.operations:
        try:
            if not (is_first and reads and _said_absent_by_list(scope, reads)):
                context.raw_get()
        except ArmError as error:
            # Some providers refuse to show what is not there.
            if not is_first or error.is_transient:
                raise
            scope.log.info("Cannot tell whether it exists", reason=str(error))
    have = context.read.body if context.read else None
    if have is None:
        return put
    found, _ = made.compare(have)
    if is_first:
        _report_adoption(scope, found, have)
    result = merged(put.body, have, rules, context.declared)
    paths = replaced_paths(found, last, put.record.put)
    _report_others(scope, result, paths, has_record=last is not None)
    if result.body is put.body:
        return put
    context.prefer_unchanged()
    return attrs.evolve(put, body=result.body)


def _report_others(
    scope: ReconcileScope, result: MergedBody, paths: Sequence[str], *, has_record: bool
) -> None:
    """Record events and log lines. No values are shown."""
    memory, now = scope.memory, scope.operator.clock.monotonic()
    if result.tags and not has_record:
        text = f"tags that this object does not declare are kept: {listed(result.tags)}"
        scope.event("Normal", "ForeignTagsKept", text)
    if result.unshown:
        text = f"Azure does not show {listed(result.unshown)}: put as the spec says"
        scope.log.warning("Ignored field is not shown", reason=text)
        scope.event("Warning", "IgnoredFieldNotShown", text)
    if not paths:
        return
    scope.operator.count_replaced(scope.patcher.version.group_kind)
    scope.log.warning("Replacing foreign values", reason=", ".join(paths))
    said = memory.said_replaced_at
    if said is None or now - said >= _SAID_AGAIN_SECONDS:
        memory.said_replaced_at = now
        text = f"the PUT replaces what this object did not declare, at {listed(paths)}"
        scope.event("Warning", REPLACED, text)


def _said_absent_by_list(scope: ReconcileScope, reads: CollectionReads) -> bool:
    """Return whether a list that is younger than the object lacks its resource; False
    if a GET is needed. Raises as `CollectionReads.says_absent`.
    """
    patcher = scope.patcher
    made = str(metadata(patcher.obj).get("creationTimestamp") or "")
    if scope.context.read is not None or not made:
        return False
    age = scope.operator.clock.now() - datetime.fromisoformat(made)
    return reads.says_absent(
        scope.connection.client,
        patcher.arm_id,
        patcher.version.api_version,
        credential=scope.connection.source,
        # The time stamp has whole seconds.
        since=scope.operator.clock.monotonic() - age.total_seconds() + 1.0,
    )
