"""Deletes the Azure resource, and then releases the Kubernetes object. Pure.

The finalizer is removed only once Azure says that the resource is gone, or if the
policy keeps the resource. A failure is always retried: nobody can correct the spec of a
deleted object (R4.5). The polls of a deletion are in `operation_polls`.
"""

from collections.abc import Mapping, Sequence

import attrs

from asoreconcile.azure.arm import ids
from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.arm.outcomes import PollState
from asoreconcile.azure.middleware.requests import DeleteResult, ResourceDeleted
from asoreconcile.azure.reconcile.model.annotations import (
    DELETE_POLLER,
    FINALIZER,
    RECONCILE_POLICY,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.decisions import (
    Decision,
    Delete,
    Effect,
    EmitEvent,
    Fail,
    Log,
    PatchMetadata,
    PatchSharedMetadata,
    Refused,
    RemoveFinalizer,
    Requeue,
    Stop,
    UpdateMemory,
)
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.model.resume_token import (
    clear_token,
    token_annotations,
)

_LEFT = "NotDeletedInAzure"


def is_of_type(arm_id: str, arm_type: str) -> bool:
    """Whether an id from an annotation is of this type."""
    try:
        found = ids.parse_stated(arm_id).type
    except ids.ArmIdError:
        return False
    return found.lower() == arm_type.lower()


@attrs.frozen
class DeleteFacts:
    """The facts before a DELETE.

    arm_id: from the annotation. is_own: whether it is this object's own id.
    older: an object that manages the id, and is older. seen: the id that the status
    shows, or "".
    """

    arm_id: str
    arm_type: str
    is_own: bool
    older: ObjectReference | None
    seen: str


def before_delete(facts: DeleteFacts) -> Decision:
    """DELETE the object's own resource; only remove the finalizer if another object has
    it.

    The id comes from an annotation, so it is checked: a wrong id must not delete
    another resource, nor look like a resource that is gone.
    """
    # A wrong id can be corrected. Removing the finalizer would leave the resource for
    # ever.
    if not is_of_type(facts.arm_id, facts.arm_type):
        return Decision((), Fail(_of_another_type(facts)))
    if not facts.is_own:
        seen = facts.seen
        other = f"; {seen}, which its status names, is left too" if seen else ""
        return _left(
            f"{facts.arm_id} is left in Azure{other}: annotation {RESOURCE_ID} names "
            "it, but this object's owner and Azure name do not make that id, and no "
            "status of the operator's says it. If it was this object's, delete it by "
            "hand"
        )
    if facts.older is not None:
        older = f"{facts.older.group_kind.kind} {facts.older.key}"
        return _left(
            f"{facts.arm_id} is left in Azure: {older}, which is older, manages it"
        )
    return Decision((), Delete())


def _of_another_type(facts: DeleteFacts) -> ConditionError:
    return ConditionError(
        f"nothing is deleted: annotation {RESOURCE_ID} is {facts.arm_id!r}, which is "
        f"no {facts.arm_type}: correct it, or set {RECONCILE_POLICY} to "
        "detach-on-delete to let only this object go",
        reason="Failed",
    )


def _left(message: str) -> Decision:
    log = Log("warning", "Nothing deleted in Azure", message)
    return Decision((log, EmitEvent("Warning", _LEFT, message)), RemoveFinalizer())


def after_delete(
    answer: DeleteResult | ArmError,
    *,
    stored: Mapping[str, str],
    now: float,
) -> Decision:
    """Record the operation if it takes time (R5.5), or release the object if the
    resource is gone.

    stored: the object's annotations. now: `Clock.monotonic` seconds.
    """
    match answer:
        case ArmError():
            # A PUT's token may still be stored: it must not be polled as the DELETE's.
            return Decision(clear_token(stored), Refused(answer, "Delete"))
        case ResourceDeleted():
            return Decision((), RemoveFinalizer())
    effects: list[Effect] = []
    if answer.token is not None:
        due = PollState(answer.progress, now + answer.after_seconds)
        notes = token_annotations(answer.token, DELETE_POLLER)
        effects += [UpdateMemory(poll=due), PatchMetadata(notes)]
    effects.append(EmitEvent("Normal", "BeginDelete", "Starting delete of resource"))
    return Decision((*effects,), Requeue(answer.after_seconds))


def after_look(*, is_absent: bool, kind: str) -> Decision:
    """A kind that Azure cannot delete alone: wait for its parent to go (R5.9)."""
    if is_absent:
        return Decision((), RemoveFinalizer())
    message = (
        f"Azure has no way to delete a {kind} alone: it goes with its owner. To remove "
        f"only this object, annotate it with {RECONCILE_POLICY}: detach-on-delete"
    )
    error = ConditionError(
        message, reason="DeletionNotSupportedInAzure", retry=RetryClass.VERY_SLOW
    )
    return Decision((EmitEvent("Normal", "NotPossibleInAzure", message),), Fail(error))


def released(finalizers: Sequence[str], *, arm_id: str, seen: str) -> Decision:
    """Remove our finalizer, if it is there. Without the ARM id annotation nothing was
    deleted: say which resource remains (D10, R5.2).

    seen: the id that the status shows, or "".
    """
    # Somebody removed it by hand: the object may be gone before a write arrives.
    if FINALIZER not in finalizers:
        return Decision((), Stop())
    effects: list[Effect] = []
    if seen and not arm_id:
        text = f"annotation {RESOURCE_ID} is missing: {seen} is left in Azure"
        effects.append(EmitEvent("Warning", _LEFT, text))
    # The whole list, on the resource version that was read: a merge patch replaces
    # lists, and a finalizer that another controller adds meanwhile must not be lost.
    rest = [name for name in finalizers if name != FINALIZER]
    effects += [
        Log("info", "Removing finalizer"),
        PatchSharedMetadata({"finalizers": rest}),
    ]
    return Decision((*effects,), Stop())
