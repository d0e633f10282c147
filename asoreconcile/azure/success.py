"""What follows once Azure has what we want: read, check, export. Pure."""

from collections.abc import Mapping

import attrs

from asoreconcile.arm.condition_error import ConditionError
from asoreconcile.arm.credentials import CredentialError
from asoreconcile.arm.errors import ArmError
from asoreconcile.azure.annotations import (
    LATEST_RECONCILED_GENERATION,
    RECONCILE_POLICY,
)
from asoreconcile.azure.decisions import (
    Action,
    Decision,
    Effect,
    EmitEvent,
    Fail,
    Follows,
    Keep,
    PatchStatus,
    PostCheck,
    Read,
    Requeue,
    Succeeded,
    UpdateMemory,
    WriteExports,
)
from asoreconcile.azure.external_deletion import RECREATED, is_another, what_to_do
from asoreconcile.azure.put_ledger import PutRecord
from asoreconcile.azure.resume_token import clear_token
from asoreconcile.errors import AsoreconcileError
from asoreconcile.middleware.context import SuboperationPending
from asoreconcile.middleware.requests import NotReady, PostResult, Ready
from asoreconcile.objects import JsonObject

_UNAUTHENTICATED = 401


@attrs.frozen
class ReadFacts:
    """What is known once the resource was read.

    is_there: whether Azure has it. before, after: the status as it was stored, and as
    Azure says it is. stored: the object's annotations. accepted: the PUT that Azure
    accepted last.
    """

    arm_id: str
    follows: Follows
    is_there: bool
    before: JsonObject
    after: JsonObject
    stored: Mapping[str, str]
    accepted: PutRecord | None


def after_read(facts: ReadFacts) -> Decision:
    """Check it; say once where the read shows another resource at this id."""
    if not facts.is_there:
        return _absent(facts)
    effects: list[Effect] = []
    said = facts.accepted is not None and facts.accepted.recreated
    # Where nothing was sent (policy skip), another resource at the id is no work of
    # ours to report.
    asked = facts.follows is not Follows.NOTHING
    if asked and not said and is_another(facts.before, facts.after):
        effects.append(EmitEvent("Warning", RECREATED, what_to_do(facts.arm_id)))
    return Decision((*effects,), PostCheck(facts.follows))


def _absent(facts: ReadFacts) -> Decision:
    if facts.follows is Follows.NOTHING:
        error = ConditionError(
            f"the resource {facts.arm_id} does not exist in Azure, and the policy skip "
            f"keeps it from being created: set {RECONCILE_POLICY} to manage, or delete "
            "this object; if the resource was moved to another resource group, apply "
            "it anew under that owner",
            reason="AzureResourceNotFound",
        )
    else:
        error = ConditionError(
            f"Azure accepted the resource {facts.arm_id} but does not show it; it is "
            "put again",
            reason="Failed",
        )
    # Whatever was accepted is not there: the next reconcile must PUT.
    forget = UpdateMemory(accepted=None)
    over = over_for(facts.follows, facts.stored)
    return Decision((forget, *over), Fail(error))


def after_check(
    result: PostResult,
    *,
    follows: Follows,
    stored: Mapping[str, str],
    learned: tuple[Effect, ...] = (),
) -> Decision:
    """Export, unless an extension says that the resource is not usable yet.

    learned: what to remember of what a PUT left (`drift.after_own_put`).
    """
    match result:
        case NotReady(message=message):
            error = ConditionError(message, reason="PostReconciliationFailure")
            return Decision(over_for(follows, stored), Fail(error))
        case Ready(status_patch=status_patch):
            patch = (PatchStatus(status_patch),) if status_patch else ()
            return Decision((*patch, *learned), WriteExports(follows))


@attrs.frozen
class EndFacts:
    """What is known once everything is read, checked and exported.

    stored: the object's annotations. generation: of the spec, now. inputs_changed:
    whether a Secret or ConfigMap is another than when the operation was begun.
    resync_seconds: see `Succeeded`.
    """

    follows: Follows
    stored: Mapping[str, str]
    generation: int
    inputs_changed: bool
    resync_seconds: float | Keep | None = Keep.KEEP


def after_export(facts: EndFacts) -> Decision:
    """Succeeded, or once more at once: the spec was edited since the PUT (R1.13, D5),
    or what it takes from Secrets and ConfigMaps was.
    """
    if facts.follows is Follows.NOTHING:
        return Decision((), Succeeded(facts.resync_seconds))
    # What the PUT was made from, not what the spec is now: an edit during the
    # operation has not been sent yet.
    put = facts.stored.get(LATEST_RECONCILED_GENERATION)
    is_latest = put == str(facts.generation) and not facts.inputs_changed
    over = over_for(facts.follows, facts.stored)
    return Decision(over, Succeeded(facts.resync_seconds) if is_latest else Requeue())


def after_error(
    action: Action, error: AsoreconcileError, stored: Mapping[str, str]
) -> tuple[Effect, ...]:
    """What an exception leaves to do. The token of an operation goes once the resource
    was read: until then a failed read must come back here, not to another PUT.
    """
    if isinstance(action, Read | PostCheck | WriteExports) and _is_about_the_resource(
        error
    ):
        return over_for(action.follows, stored)
    return ()


def over_for(follows: Follows, stored: Mapping[str, str]) -> tuple[Effect, ...]:
    """An operation that was followed to its end is forgotten."""
    if follows is not Follows.OPERATION:
        return ()
    return clear_token(stored)


def _is_about_the_resource(error: AsoreconcileError) -> bool:
    """Whether the resource was read and found wanting, so that its PUT is over.

    Throttling, sign-in, transport and our own shutdown say nothing of it (L15, D3).
    """
    match error:
        case ArmError():
            return not error.is_transient and error.status != _UNAUTHENTICATED
        case CredentialError():
            return False
        case ConditionError() | SuboperationPending():
            return True
        case _:
            return False
