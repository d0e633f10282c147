"""Deletes the Azure resource, and then releases the Kubernetes object.

The finalizer is removed only once Azure says that the resource is gone, or if the
policy keeps the resource. A failure is always retried, because the spec of a deleted
object cannot be corrected (R4.5). The polls of a deletion are in `operations`.
"""

import re
from functools import partial
from http import HTTPStatus

from asoreconcile.azure.arm import ids
from asoreconcile.azure.arm.absence import Absence
from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass
from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.arm.outcomes import Pending, PollState
from asoreconcile.azure.arm.tokens import Token
from asoreconcile.azure.middleware.context import ReconcileContext
from asoreconcile.azure.middleware.requests import (
    DeleteResult,
    InProgress,
    ResourceDeleted,
)
from asoreconcile.azure.reconcile.identity.duplicates import (
    Rival,
    heir_among,
    look_around,
)
from asoreconcile.azure.reconcile.identity.identity import is_own
from asoreconcile.azure.reconcile.model.annotations import (
    DELETE_POLLER,
    RECONCILE_POLICY,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.claim_record import ClaimRecord, PutAnswers
from asoreconcile.azure.reconcile.model.decisions import ReconcileOutcome, Requeue
from asoreconcile.azure.reconcile.model.existence import stated_policy
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.model.policy import LET_GO
from asoreconcile.azure.reconcile.model.standing import (
    Act,
    Permit,
    Standing,
    is_ours,
    may,
)
from asoreconcile.azure.reconcile.policies.adoption import is_made_by
from asoreconcile.azure.reconcile.policies.permission import confirm_object
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.scope.recorded_operation import (
    clear_token,
    running_operation,
)
from asoreconcile.azure.reconcile.state.memory import ObjectMemory
from asoreconcile.azure.reconcile.writes.endings import NOT_DELETED, release
from asoreconcile.azure.reconcile.writes.sending import send_delete
from asoreconcile.base.objects import status


def delete(scope: ReconcileScope) -> ReconcileOutcome:
    """Delete the object's own resource.

    No DELETE is sent if another object manages the resource, or if Azure has accepted
    no PUT for the id.

    Raises ConditionError for an id of another type, or if an object of another
    namespace declares the id, or if Azure refuses the DELETE.
    """
    patcher, version, operator = scope.patcher, scope.patcher.version, scope.operator
    arm_id = patcher.arm_id
    # Before the credential is looked for: nothing is sent.
    standing = scope.standing
    if may(standing, Act.DELETE) is Permit.NO:
        return _leave(scope, _NEVER_PUT.format(arm_id))
    scope.connection.require_subscription_of(arm_id)
    own = is_of_type(arm_id, version.arm_type) and is_own(scope)
    manager: Rival | None = None
    heir: Rival | None = None
    if own:
        manager, rivals = rivals_before_delete(scope, arm_id)
        heir = heir_among(patcher.key.namespace, rivals)
    if heir is not None:
        # Its events wake this object, and this object's end wakes it.
        operator.waiting.note(patcher.node, heir.node)
        if manager is None:
            operator.waiting.note(heir.node, patcher.node)
    why = why_left(
        arm_id,
        version.arm_type,
        is_own=own,
        namespace=patcher.key.namespace,
        manager=None if manager is None else manager.node,
        heir=None if heir is None else heir.node,
        seen=str(status(patcher.obj).get("id") or ""),
    )
    if why:
        if manager is None and heir is not None:
            text = (
                f"{version.gvk.kind} {patcher.key} is deleted: this object takes over "
            )
            scope.kind.recorder.event(heir.obj, "Normal", "TakesOver", text + arm_id)
        return _leave(scope, why)
    if standing is Standing.PERHAPS and _is_of_another(scope):
        return _leave(scope, _NOT_OURS.format(arm_id))
    answer = send_delete(scope)
    if isinstance(answer, ArmError) and _is_id_refused(answer, scope.claim):
        return _leave(
            scope,
            f"{arm_id} is left alone: Azure refuses this id ({answer.code}), so no PUT "
            "can have made the resource",
        )
    now = scope.operator.clock.monotonic()
    if _is_gone(answer):
        accepted = scope.memory.accepted
        running = running_operation(patcher, scope.operations, deleting=False)
        if running is None and accepted is not None and accepted.running is not None:
            running = accepted.running.token
        if running is not None:  # the PUT may still make the resource
            return _repeated_after(scope, running, now=now)
        was_seen = scope.context.read is not None and not scope.context.is_known_absent
        is_lost = _is_open(scope.claim) and not was_seen
        # Azure may still carry out a PUT whose answer was lost.
        if is_lost and (left := seconds_until_believed(scope.memory, now)) > 0:
            return Requeue(left)
    if isinstance(answer, ArmError) and answer.absence is Absence.PERHAPS:
        return _perhaps_gone(scope, answer, now=now)
    if isinstance(answer, ArmError) and _is_gone_though_refused(scope, answer):
        if (left := seconds_until_believed(scope.memory, now)) <= 0:
            return release(scope)
        refusal = scope.errors.delete_failed(answer)
        refusal.after_seconds = left
        raise refusal
    scope.memory.perhaps_gone_since = None
    match answer:
        case ArmError():
            # A PUT's token may still be stored: it must not be polled as the DELETE's.
            clear_token(patcher, scope.memory)
            raise scope.errors.delete_failed(answer)
        case InProgress():
            return record_delete(scope, answer)
        case ResourceDeleted():
            return release(scope)


def rivals_before_delete(
    scope: ReconcileScope, arm_id: str
) -> tuple[Rival | None, list[Rival]]:
    """Return the object that manages the id, and all others that declare it.

    They are read from the API server if the cache has one or may be behind, because a
    DELETE cannot be undone.

    Raises as `look_around`; GoneError, StaleError.
    """
    operator, patcher, claim = scope.operator, scope.patcher, scope.claim
    version = patcher.version
    confirm_object(operator, patcher)
    look = partial(look_around, operator, version, patcher.obj, arm_id, claim)
    found, rivals = look(is_delete=True)
    if not rivals and not patcher.is_cache_behind:
        return found, rivals
    return look(kind=scope.kind, is_delete=True)


def _is_of_another(scope: ReconcileScope) -> bool:
    """Return whether Azure has a resource which the PUT without an answer has not made,
    and which the object may not take over.

    One GET. In doubt the resource counts as the object's own: a resource that nobody
    manages would be left behind for ever.
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


def _is_gone_though_refused(scope: ReconcileScope, answer: ArmError) -> bool:
    """Return whether Azure refuses the DELETE of a resource that it does not show, as
    below a lock. One GET after a refusal that repeating does not help.
    """
    is_final = answer.status // 100 == 4 and not answer.is_transient
    return is_final and is_absent(scope.context)


def _is_gone(answer: DeleteResult | ArmError) -> bool:
    if isinstance(answer, ArmError):
        return answer.status in _ABSENT
    return isinstance(answer, ResourceDeleted)


def _repeated_after(scope: ReconcileScope, put: Token, *, now: float) -> Requeue:
    """Return the requeue after which the DELETE is sent again while the PUT's operation
    runs.

    Azure says that the resource is gone, but the operation may still make it. Rule:
    R5.10.
    """
    memory = scope.memory
    outcome = scope.connection.client.poll(put, memory.poll.progress)
    if isinstance(outcome, Pending):
        memory.poll = PollState(outcome.progress, now + outcome.delay_seconds)
        return Requeue(outcome.delay_seconds)
    memory.accepted = None
    clear_token(scope.patcher, memory)
    return Requeue()


def _leave(scope: ReconcileScope, why: str) -> ReconcileOutcome:
    """Release the object without a DELETE."""
    scope.log.warning("Nothing deleted in Azure", reason=why)
    scope.event("Warning", NOT_DELETED, why)
    return release(scope)


def _is_id_refused(answer: ArmError, claim: ClaimRecord | None) -> bool:
    """Return whether Azure says that no resource can have this id, and has accepted no
    PUT of the object.
    """
    is_about_it = _ABOUT_THE_ID.search(answer.code) is not None
    return answer.status == HTTPStatus.BAD_REQUEST and is_about_it and _is_open(claim)


def _is_open(claim: ClaimRecord | None) -> bool:
    return claim is not None and claim.answers is PutAnswers.OPEN


# Such as `InvalidResourceName`, `AccountNameInvalid` and `InvalidResourceId`.
_ABOUT_THE_ID = re.compile(r"Name|ResourceId|ResourceUri", re.IGNORECASE)


def _perhaps_gone(
    scope: ReconcileScope, answer: ArmError, *, now: float
) -> ReconcileOutcome:
    """Release the object if Azure has answered the DELETE twice, a minute apart, with
    a 404 whose code is not known.

    Raises ConditionError for the first such answer.
    """
    said = f"{answer.status} {answer.code}: {answer.message}"
    quoted = f"Azure answered DELETE with {said}"
    left = seconds_until_believed(scope.memory, now)
    if left <= 0:
        scope.event("Warning", NOT_DELETED, f"{quoted}; twice, so nothing is left")
        return release(scope)
    raise ConditionError(
        f"{quoted}; that does not say for certain that the resource is gone, so DELETE "
        f"is sent again in a minute. {LET_GO}",
        reason=answer.code,
        after_seconds=left,
    )


def seconds_until_believed(memory: ObjectMemory, now: float) -> float:
    """Return the seconds for which Azure must repeat that the resource does not exist,
    before the object is released.
    """
    if memory.perhaps_gone_since is None:
        memory.perhaps_gone_since = now
    return memory.perhaps_gone_since + _ASKED_AGAIN_SECONDS - now


_ASKED_AGAIN_SECONDS = 60.0
_ABSENT = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.GONE})
_NEVER_PUT = "{} is left alone: Azure has accepted no PUT of this object"
_NOT_OURS = (
    "{} is left alone: it was there before, and no PUT of this object has made it"
)


def why_left(
    arm_id: str,
    arm_type: str,
    *,
    is_own: bool,
    namespace: str,
    manager: ObjectReference | None = None,
    heir: ObjectReference | None = None,
    seen: str = "",
) -> str:
    """Return why the resource is left in Azure, or "" if it is deleted. Pure.

    arm_id: id in the annotation. is_own: whether it is this object's own id. namespace:
    the object's namespace. manager: another object that manages the id. heir: another
    live object that declares the id. seen: the id that the status shows, or "".

    The id comes from an annotation, so it is checked: a wrong id must not delete
    another resource, nor look like a resource that is gone. Raises ConditionError for
    an id of another type, which can be corrected: if the finalizer were removed, the
    resource would stay for ever. Also raises it if an object of another namespace
    declares the id, because neither namespace may decide for the other.
    """
    if not is_of_type(arm_id, arm_type):
        raise ConditionError(
            f"nothing is deleted: annotation {RESOURCE_ID} is {arm_id!r}, which is "
            f"no {arm_type}: correct it, or set {RECONCILE_POLICY} to "
            "detach-on-delete to let only this object go",
            reason="Failed",
        )
    if not is_own:
        other = f"; {seen}, which its status names, is left too" if seen else ""
        return (
            f"{arm_id} is left in Azure{other}: annotation {RESOURCE_ID} names "
            "it, but this object's owner and Azure name do not make that id, and no "
            "record of the operator's says it. If it was this object's, delete it by "
            "hand"
        )
    if manager is not None:
        return f"{arm_id} is left in Azure: {manager} manages it"
    if heir is None:
        return ""
    if heir.key.namespace == namespace:
        return f"{arm_id} is left in Azure: {heir} declares it too, and takes it over"
    raise ConditionError(
        f"nothing is deleted: {heir}, of another namespace, declares {arm_id} as its "
        f"own. Delete that object, or set {RECONCILE_POLICY} to skip on it; or set "
        f"{RECONCILE_POLICY} to detach-on-delete on this object, which leaves the "
        "resource in Azure",
        reason="DeclaredByAnother",
    )


def is_of_type(arm_id: str, arm_type: str) -> bool:
    """Return whether an id from an annotation is of this type. Pure."""
    try:
        found = ids.parse_stated(arm_id).type
    except ids.ArmIdError:
        return False
    return found.lower() == arm_type.lower()


def record_delete(scope: ReconcileScope, answer: InProgress) -> Requeue:
    """Record the operation of a DELETE that takes time (R5.5)."""
    if answer.token is not None:
        due = scope.operator.clock.monotonic() + answer.after_seconds
        scope.memory.poll = PollState(answer.progress, due)
        scope.operations.record(answer.token, DELETE_POLLER, {})
    scope.event("Normal", "BeginDelete", "Starting delete of resource")
    return Requeue(answer.after_seconds)


def await_parent(scope: ReconcileScope) -> ReconcileOutcome:
    """Release the object once its resource is gone with its parent, if Azure cannot
    delete it alone (R5.9).

    An object of which Azure has accepted no PUT is released at once. Raises
    ConditionError while the resource exists.
    """
    if may(scope.standing, Act.DELETE) is Permit.NO:
        return _leave(scope, _NEVER_PUT.format(scope.patcher.arm_id))
    if is_absent(scope.context):
        return release(scope)
    message = (
        f"Azure has no way to delete a {scope.patcher.version.gvk.kind} alone: it goes "
        f"with its owner. {LET_GO}"
    )
    scope.event("Normal", "NotPossibleInAzure", message)
    raise ConditionError(
        message, reason="DeletionNotSupportedInAzure", retry=RetryClass.VERY_SLOW
    )


def is_absent(ctx: ReconcileContext) -> bool:
    """Return whether Azure says that the resource does not exist (V3); False if in
    doubt.
    """
    try:
        if "Get" not in ctx.version.operations:
            return not ctx.arm.head(ctx.arm_id, ctx.version.api_version)
        return ctx.raw_get() is None and ctx.absence is Absence.CERTAIN
    # In doubt it is there. Otherwise the resource could be left behind for ever.
    except (ArmError, ArmTransportError) as error:
        ctx.log.info("Cannot tell whether the resource exists", reason=str(error))
        return False
