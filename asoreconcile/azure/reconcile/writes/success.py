"""The steps after an operation has succeeded: read, check, export. Pure."""

from collections.abc import Mapping

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.arm.credentials import CredentialError
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.middleware.context import SuboperationPending
from asoreconcile.azure.middleware.requests import NotReady, PostResult, Ready
from asoreconcile.azure.reconcile.model.annotations import (
    LATEST_RECONCILED_GENERATION,
    RECONCILE_POLICY,
)
from asoreconcile.azure.reconcile.model.decisions import (
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
from asoreconcile.azure.reconcile.model.put_ledger import PutRecord
from asoreconcile.azure.reconcile.model.resume_token import clear_token
from asoreconcile.azure.reconcile.writes.external_deletion import (
    RECREATED,
    is_another,
    what_to_do,
)
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import JsonObject

_UNAUTHENTICATED = 401


@attrs.frozen
class ReadFacts:
    """The facts after the resource was read.

    is_there: whether Azure has it. before, after: the stored status, and the status
    that Azure reports. stored: the object's annotations. accepted: the PUT that Azure
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
    """Check the resource; record an event once if another resource now has this id."""
    if not facts.is_there:
        return _absent(facts)
    effects: list[Effect] = []
    said = facts.accepted is not None and facts.accepted.recreated
    # If nothing was sent (policy skip), another resource at this id is not ours to
    # report.
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
    # The accepted PUT has left no resource: the next reconcile must PUT.
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

    learned: the record of the resource after a PUT (`drift.after_own_put`).
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
    """The facts after read, check and exports.

    stored: the object's annotations. generation: of the spec, now. inputs_changed:
    whether a Secret or ConfigMap has changed since the operation started.
    resync_seconds: see `Succeeded`.
    """

    follows: Follows
    stored: Mapping[str, str]
    generation: int
    inputs_changed: bool
    resync_seconds: float | Keep | None = Keep.KEEP


def after_export(facts: EndFacts) -> Decision:
    """Succeeded, or requeue at once: the spec (R1.13, D5), or a Secret or ConfigMap
    that it uses, has changed since the PUT.
    """
    if facts.follows is Follows.NOTHING:
        return Decision((), Succeeded(facts.resync_seconds))
    # The generation that was PUT, not the present one: an edit during the operation has
    # not been sent yet.
    put = facts.stored.get(LATEST_RECONCILED_GENERATION)
    is_latest = put == str(facts.generation) and not facts.inputs_changed
    over = over_for(facts.follows, facts.stored)
    return Decision(over, Succeeded(facts.resync_seconds) if is_latest else Requeue())


def after_error(
    action: Action, error: AsoreconcileError, stored: Mapping[str, str]
) -> tuple[Effect, ...]:
    """The decision after an exception. The operation's token is removed only after the
    resource was read: until then a failed read must be retried, without another PUT.
    """
    if isinstance(action, Read | PostCheck | WriteExports) and _is_about_the_resource(
        error
    ):
        return over_for(action.follows, stored)
    return ()


def over_for(follows: Follows, stored: Mapping[str, str]) -> tuple[Effect, ...]:
    """Clear the token of an operation that has ended."""
    if follows is not Follows.OPERATION:
        return ()
    return clear_token(stored)


def _is_about_the_resource(error: AsoreconcileError) -> bool:
    """Whether the error is about the resource itself, so that its PUT is over.

    Throttling, sign-in, transport and our own shutdown are not (L15, D3).
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
