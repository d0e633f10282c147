"""Handles a resource that exists before a PUT: whether the object takes it over, and
which values of other writers the PUT keeps or replaces.

Blocking: reads the resource. Rules: OW-1, OW-2, OW-3, OW-8, OW-9.
"""

from collections.abc import Callable, Iterable, Sequence

import attrs

from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.catalogue.status import status_of
from asoreconcile.azure.middleware.context import ReconcileContext
from asoreconcile.azure.reconcile.model.access import without_lists
from asoreconcile.azure.reconcile.model.annotations import (
    EXISTENCE,
    LATEST_RECONCILED_GENERATION,
)
from asoreconcile.azure.reconcile.model.claim_record import ClaimRecord
from asoreconcile.azure.reconcile.model.decisions import Put
from asoreconcile.azure.reconcile.model.differences import Difference
from asoreconcile.azure.reconcile.model.drift_baseline import (
    OBSERVED,
    DriftBaseline,
    marks,
)
from asoreconcile.azure.reconcile.model.existence import (
    ADOPTED,
    UNDECIDED,
    IfExists,
    require_adoptable,
    stated_policy,
)
from asoreconcile.azure.reconcile.model.foreign_values import REPLACED, replaced_paths
from asoreconcile.azure.reconcile.model.merged_body import MergedBody, merged
from asoreconcile.azure.reconcile.model.never_shown import what_differs
from asoreconcile.azure.reconcile.model.standing import Standing, is_ours
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.state.memory import ObjectMemory
from asoreconcile.azure.reconcile.sync.desired import Desired
from asoreconcile.azure.reconcile.writes.external_deletion import is_born_since
from asoreconcile.base.errors import RetryError
from asoreconcile.base.objects import GroupKind, JsonObject, dig
from asoreconcile.base.printable import listed

_SAID_AGAIN_SECONDS = 3600.0
_REMOVED = frozenset({"list-extra", "map-extra"})


@attrs.frozen
class Adopted:
    """A resource that was adopted without a PUT. notes: the annotations that an
    accepted PUT would have written.
    """

    body: JsonObject
    notes: dict[str, str]


def meet_existing(scope: ReconcileScope, made: Desired, put: Put) -> Adopted | None:
    """Ask `if-exists` before a PUT of an object that has no right to write over what is
    there.

    Return the resource if it is adopted without a PUT; None if the PUT follows.
    Nothing is decided for the next PUT: until Azure has accepted one, each asks again.

    made: the body of the PUT. Raises ConditionError `AlreadyExists`, and the exceptions
    of `raw_get`.
    """
    patcher, context, memory = scope.patcher, scope.context, scope.memory
    have = context.raw_get()
    policy = stated_policy(patcher.annotations, scope.namespace_annotations)
    if policy is IfExists.OBSERVE:
        # It was added after the claim; the next reconcile only reads.
        patcher.record({EXISTENCE: UNDECIDED})
        raise RetryError("the object only reads from now on", after_seconds=0.0)
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
        # Otherwise `merged_put` reports it.
        if EXISTENCE in patcher.annotations and not memory.was_put:
            _report_adoption(context, f"the first PUT {_what_changes(found)}")
        return None
    paths, unseen = what_differs(patcher.version, made.own, have, found)
    require_adoptable(policy, patcher.arm_id, differs=listed(paths))
    # As after a PUT that left the resource as it is.
    record = attrs.evolve(put.record, known=marks(unseen), rest=rest)
    text = "nothing that Azure shows differs from the spec, so no PUT was sent"
    if unseen:
        text += f"; Azure does not show {listed([one.path for one in unseen])}"
    _report_adoption(context, text)
    return Adopted(
        have,
        {
            OBSERVED: record.dumps(),
            LATEST_RECONCILED_GENERATION: str(patcher.generation),
        },
    )


def is_made_by(scope: ReconcileScope, have: JsonObject) -> bool:
    """Return whether Azure says that the principal of the object's credential created
    the resource.
    """
    client_id = scope.connection.client_id.lower()
    made_by = str(dig(have, "systemData.createdBy") or "").lower()
    return bool(client_id) and made_by == client_id


def _was_met(made: Desired, claim: ClaimRecord | None, have: JsonObject) -> bool:
    """Return whether the resource was reported before, or an earlier PUT of this object
    may have made it.
    """
    patcher = made.maker.patcher
    if EXISTENCE in patcher.annotations:
        return True
    return claim is not None and is_born_since(
        status_of(patcher.version, have), claim.at
    )


def _report_adoption(context: ReconcileContext, text: str) -> None:
    arm_id = context.arm_id
    message = f"{arm_id} was there before and is managed by this object now: {text}"
    context.log.info("Adopting resource", armId=arm_id, reason=text)
    context.event("Normal", ADOPTED, message)


def merged_put(
    put: Put,
    made: Desired,
    last: DriftBaseline | None,
    memory: ObjectMemory,
    *,
    claim: ClaimRecord | None,
    is_said_absent: Callable[[], bool],
    count_replaced: Callable[[GroupKind], None],
) -> Put:
    """Return the PUT with the values of other writers that are in Azure.

    Events report the values that the PUT replaces.

    Every PUT of a resource that may exist follows a read, also the first PUT. The
    answer to a PUT says whether the resource was made (OW-3), but only a read before
    shows the tags that the PUT would remove (OW-1) and the paths for the event. For
    many new objects one list shows which resources do not exist, so that creating them
    takes no longer.
    made: the body of the PUT. last: the record of the last PUT. is_said_absent: returns
    whether a list shows that the resource is not there. Raises as `merge_rules` and
    `ReconcileContext.raw_get`.
    """
    context, rules, is_first = made.maker.context, made.maker.rules(), made.is_first
    looks = rules.looks_first if is_first else bool(rules)
    if looks and "Get" in context.version.operations:
        try:
            if not (is_first and is_said_absent()):
                context.raw_get()
        except ArmError as error:
            # Some providers refuse to show what is not there.
            if not is_first or error.is_transient:
                raise
            context.log.info("Cannot tell whether it exists", reason=str(error))
    have = context.read.body if context.read else None
    if have is None:
        return put
    found, _ = made.compare(have)
    if is_first and not memory.was_put and not _was_met(made, claim, have):
        _report_adoption(context, f"the first PUT {_what_changes(found)}")
    result = merged(put.body, have, rules, context.declared)
    paths = replaced_paths(found, last, put.record.put)
    _report_others(context, memory, result, paths, has_record=last is not None)
    if paths:
        count_replaced(context.version.group_kind)
    body = without_lists(result.body, have, context.declared)
    if body is put.body:
        return put
    context.prefer_unchanged()
    return attrs.evolve(put, body=body)


def _report_others(
    context: ReconcileContext,
    memory: ObjectMemory,
    result: MergedBody,
    paths: Sequence[str],
    *,
    has_record: bool,
) -> None:
    """Record events and log lines about values of other writers, without the values
    themselves.
    """
    if result.tags and not has_record:
        text = f"tags that this object does not declare are kept: {listed(result.tags)}"
        context.event("Normal", "ForeignTagsKept", text)
    if result.unshown:
        text = f"Azure does not show {listed(result.unshown)}: put as the spec says"
        context.log.warning("Ignored field is not shown", reason=text)
        context.event("Warning", "IgnoredFieldNotShown", text)
    if not paths:
        return
    context.log.warning("Replacing foreign values", reason=", ".join(paths))
    said, now = memory.said_replaced_at, context.clock.monotonic()
    if said is None or now - said >= _SAID_AGAIN_SECONDS:
        memory.said_replaced_at = now
        text = f"the PUT replaces what this object did not declare, at {listed(paths)}"
        context.event("Warning", REPLACED, text)


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
