"""Recreation: a resource that Azure does not let change is deleted, so that the next
PUT makes it again. The DELETE is `writes.recreating`. Rule: OW-6.
"""

from collections.abc import Sequence
from functools import partial
from http import HTTPStatus

from asoreconcile.azure.arm.classification import classify
from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass
from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.arm.text_bounds import RECORD
from asoreconcile.azure.catalogue.immutable import (
    has_another_cause,
    immutable_among,
    in_words_of_spec,
    is_refused_change,
)
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.reconcile.identity.duplicates import look_around, rivals_of
from asoreconcile.azure.reconcile.identity.identity import is_own
from asoreconcile.azure.reconcile.model.annotations import RECREATION, RECREATION_PLAN
from asoreconcile.azure.reconcile.model.coming_back import why_not_back
from asoreconcile.azure.reconcile.model.decisions import Requeue
from asoreconcile.azure.reconcile.model.drift_baseline import last_put_of
from asoreconcile.azure.reconcile.model.never_shown import what_differs
from asoreconcile.azure.reconcile.model.owner import owner_target
from asoreconcile.azure.reconcile.model.protection import why_held, why_held_by
from asoreconcile.azure.reconcile.model.record_key import RecordKey
from asoreconcile.azure.reconcile.model.recreation import (
    RECREATES,
    OnImmutable,
    Recreation,
    Stage,
    is_asked_for,
    recreation_of,
)
from asoreconcile.azure.reconcile.model.recreation_plan import (
    RecreationPlan,
    is_awaited,
    plan_of,
    why_gone,
)
from asoreconcile.azure.reconcile.model.standing import Act, Permit, may
from asoreconcile.azure.reconcile.policies.requests import RefusedRequest
from asoreconcile.azure.reconcile.scope.patch_helper import PatchHelper
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.scope.recorded_operation import (
    note_refusal,
)
from asoreconcile.azure.reconcile.sync.desired import Desired, RenderedSpec
from asoreconcile.azure.reconcile.sync.recreatable import UNDECLARED, why_not_recreated
from asoreconcile.base.errors import RetryError
from asoreconcile.base.objects import JsonObject, status, uid_of
from asoreconcile.base.printable import listed

_MOVING_SECONDS = 10.0
# Owners that name each other would never end.
_MOST_OWNERS = 5
_REFUSED = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.CONFLICT})


def recreate_if_asked(request: RefusedRequest) -> Requeue | None:
    """Start a recreation after a refused PUT, if a field cannot be changed and the
    object asks for recreation.

    The refusal may come at once or at the end of the operation. Return None if the
    refusal is to be shown; the condition then names the fields, and says why the
    resource is kept. Raises as `why_kept`.
    """
    scope, rendered = request.scope, request.rendered
    patcher = scope.patcher
    fields = _fixed_fields(request.error, rendered, request.desired)
    if not fields:
        return None
    named = listed([in_words_of_spec(path) for path in fields])
    text = (
        f"Azure does not let {named} be changed after the resource was made: restore "
        "the value that Azure has, or delete the object and create it again"
    )
    patcher.add_remark(text)
    if is_asked_for(patcher.annotations):
        why = why_kept(scope, rendered)
        if not why:
            text = f"{patcher.arm_id} is deleted and made again: Azure does not change "
            scope.log.warning("Recreating resource", armId=patcher.arm_id, reason=named)
            scope.event("Warning", RECREATES, text + named)
            record_stage(patcher, scope.operator.record_key(), Stage.DELETING)
            if request.is_immediate:
                note_refusal(patcher, scope.memory)
            return Requeue()
        patcher.add_remark(f"it is not deleted and made again: {why}")
    return None


def why_kept(
    scope: ReconcileScope, rendered: RenderedSpec, found: list[str] | None = None
) -> str:
    """Return why the resource is not recreated, or "".

    found: gets the ids of the resources that go with it and come back.

    Raises RetryError while objects are not listed yet, and the exceptions of
    `why_not_recreated`.
    """
    operator, patcher, version = scope.operator, scope.patcher, scope.patcher.version
    arm_id, inherited = patcher.arm_id, scope.namespace_annotations
    if may(scope.standing, Act.RECREATE) is not Permit.YES:
        return "Azure has accepted no PUT of this object"
    if not is_asked_for(patcher.annotations):
        return f"the object does not say {OnImmutable.RECREATE.value} any more"
    recorded = recreation_of(patcher.obj, operator.record_key)
    if recorded == Recreation(Stage.DELETED, patcher.generation):
        return "that was done for this spec already"
    if scope.policy is None or not scope.policy.deletes:
        return "the reconcile policy keeps it in Azure"
    if "Delete" not in version.operations:
        return "Azure cannot delete it alone"
    if why := why_held(patcher.annotations, inherited):
        return why
    if below := operator.protected_below(arm_id, uid_of(patcher.obj)):
        return why_held_by(below)
    claim, obj = scope.claim, patcher.obj
    _, rivals = look_around(
        operator, version, obj, arm_id, claim, kind=scope.kind, is_delete=True
    )
    if rivals or not is_own(scope):
        return "another object declares it too"
    return why_not_recreated(
        version,
        arm_id,
        rendered.body,  # extensions add children of others to the body
        catalogue=operator.catalogue,
        read=scope.connection.client.list,
        why_lost=partial(_why_lost, scope, [] if found is None else found),
    )


def _why_lost(scope: ReconcileScope, found: list[str], arm_id: str) -> str:
    """Return why no object makes a resource again that goes with the deleted one, or
    "". Raises as `rivals_of`.
    """
    operator, obj = scope.operator, scope.patcher.obj
    why = UNDECLARED
    for rival in rivals_of(operator, obj, arm_id, with_readers=True):
        node, inherited = rival.node, operator.namespace_annotations
        if may(rival.standing, Act.RECREATE) is not Permit.YES:
            why = f"{node} declares it, but does not manage it"
            continue
        why = why_not_back(
            rival.obj,
            inherited(node.key.namespace),
            policy=operator.default_policy,
            mode=operator.sync_mode,
            now=operator.clock.now(),
        )
        if not why:
            found.append(arm_id)
            return ""
        why = f"{node}, {why}, would not make it again"
    return why


def record_plan(scope: ReconcileScope, found: Sequence[str]) -> None:
    """Record the plan before the DELETE. found: the ids that `why_kept` has found.
    Raises ConditionError for a plan that no annotation holds.
    """
    patcher, operator = scope.patcher, scope.operator
    now = operator.clock.now().replace(microsecond=0)
    plan = RecreationPlan(now, (patcher.arm_id, *found))
    text = plan.dumps(uid_of(patcher.obj), operator.record_key())
    if not RECORD.fits(text):
        raise ConditionError(
            f"{patcher.arm_id} is not deleted and made again: it contains "
            f"{len(found)} resources, more than one plan holds",
            reason="Failed",
        )
    patcher.record({RECREATION_PLAN: text})


def comes_back(scope: ReconcileScope) -> str:
    """Return what has happened to the object's resource, if it is gone because of a
    recreation and was not put again yet; else "".

    The recreation is the object's own, or one of an owner. Raises as `recreation_of`.
    """
    patcher, key, obj = scope.patcher, scope.operator.record_key, scope.patcher.obj
    plan = plan_of(obj, key)
    if plan is not None and is_awaited(plan, obj, patcher.arm_id):
        return why_gone(plan, "this object")
    version: KindVersion | None = patcher.version
    for _ in range(_MOST_OWNERS):
        target = None if version is None else owner_target(version, obj)
        above = None if target is None else scope.objects.get(*target)
        if target is None or above is None:
            return ""
        plan = plan_of(above, key)
        if plan is not None and is_awaited(plan, patcher.obj, patcher.arm_id):
            return why_gone(plan, str(target))
        obj, version = above, scope.operator.objects.served(target.group_kind)
    return ""


def record_stage(patcher: PatchHelper, key: RecordKey, stage: Stage) -> None:
    record = Recreation(stage, patcher.generation)
    patcher.record({RECREATION: record.dumps(uid_of(patcher.obj), patcher.arm_id, key)})


def _fixed_fields(
    error: ArmError, rendered: RenderedSpec, sent: Desired | None = None
) -> list[str]:
    """Return the paths of a refused PUT that cannot be changed.

    These are the known immutable fields that differ; if there are none, all fields that
    differ, if Azure's error code says that one is immutable.

    sent: the PUT, if this reconcile sent it; otherwise its body is made again.
    """
    patcher, context = rendered.maker.patcher, rendered.maker.context
    codes = (error.code, *error.codes)
    may_be = is_refused_change(codes)
    # Of a resource that was never seen nothing can have changed.
    if not status(patcher.obj).get("id"):
        return []
    if not may_be and (not _is_bad_request(error) or has_another_cause(codes)):
        return []
    try:
        last_put = last_put_of(patcher.annotations)
        sent = sent or rendered.desired(last_put)
        have = context.raw_get()
    except (ArmError, ArmTransportError, ConditionError, RetryError):
        return []  # the refusal itself is shown
    if have is None:
        return []
    differing = differing_fields(sent, have)
    fixed = immutable_among(patcher.version.arm_type, differing)
    return fixed or (differing if may_be else [])


def _is_bad_request(error: ArmError) -> bool:
    """Return whether Azure refuses the content of the PUT.

    A failed operation has no HTTP status, so its error code decides.
    """
    if error.status == HTTPStatus.OK:
        return classify(error).retry is RetryClass.VERY_SLOW
    return error.status in _REFUSED


def differing_fields(sent: Desired, have: JsonObject) -> list[str]:
    """Return the paths at which a PUT would change the resource."""
    found, _ = sent.compare(have)
    return what_differs(sent.maker.patcher.version, sent.own, have, found)[0]
