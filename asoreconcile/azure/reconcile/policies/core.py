"""The phases that belong to no policy: claim, owner, operations, the record of a PUT.

They carry D2, D10 and D15, so they are never taken out.
"""

from enum import Enum, auto
from http import HTTPStatus

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError, unusable
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.reconcile.exports.export import checked_expressions
from asoreconcile.azure.reconcile.identity.claim import (
    move_claim,
    require_valid,
)
from asoreconcile.azure.reconcile.identity.identity import is_own
from asoreconcile.azure.reconcile.identity.owner_change import restore_owner
from asoreconcile.azure.reconcile.identity.recorded_claim import accept_claim
from asoreconcile.azure.reconcile.model.annotations import (
    RECONCILE_POLICY,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.conditions import reconciling, recreating
from asoreconcile.azure.reconcile.model.decisions import ReadAfter, Requeue
from asoreconcile.azure.reconcile.model.drift_baseline import AcceptedPut
from asoreconcile.azure.reconcile.model.existence import IF_EXISTS
from asoreconcile.azure.reconcile.model.instructions import ALLOW_OWNER_CHANGE_ROW
from asoreconcile.azure.reconcile.model.standing import Act, Permit, may
from asoreconcile.azure.reconcile.model.switches import is_on
from asoreconcile.azure.reconcile.policies.requests import (
    DecidedPut,
    DeleteIntent,
    Intent,
    LeftAlone,
    RefusedRequest,
    SettleRequest,
)
from asoreconcile.azure.reconcile.scope.recorded_operation import forget_put
from asoreconcile.azure.reconcile.sync.put_record import time_of_put
from asoreconcile.azure.reconcile.sync.resource_reads import observed_status
from asoreconcile.base.objects import status

# In a row: only a busy neighbour can be the reason for so many.
_MAX_PRECONDITION_FAILURES = 5


@attrs.frozen
class LookedAt:
    """The part of the memory about the first reconcile. is_done: whether this process
    has looked at the object before.
    """

    is_done: bool = False


@attrs.frozen
class ChangedMeanwhile:
    """The part of the memory about such refusals. times: PUTs in a row that Azure has
    refused because the resource had changed since it was read.
    """

    times: int = 0


class Next(Enum):
    """A step that follows the phases in place of a PUT."""

    POLL = auto()  # the operation of an accepted PUT that has no record any more


def end_operation(intent: Intent) -> Next | None:
    """Return that an operation without a record is polled first.

    It runs whatever the spec says, so it is ended first (L27), and polled at once:
    another process may have seen its end and cleared the record.
    """
    accepted = intent.scope.memory.accepted
    is_running = accepted is not None and accepted.running is not None
    return Next.POLL if is_running else None


def sound_spec(intent: Intent) -> None:
    """Check the rules of the kind. Raises ConditionError."""
    patcher = intent.scope.patcher
    require_valid(patcher.version, patcher.obj)


def sound_expressions(intent: Intent) -> None:
    """Check the expressions of an object that has no resource yet: nothing is created
    in Azure that its author still has to mend. Raises ConditionError.
    """
    operator, patcher = intent.scope.operator, intent.scope.patcher
    if not status(patcher.obj).get("id"):
        checked_expressions(operator, patcher.version, patcher.obj)


def hold_claim(intent: Intent) -> Intent | Requeue | None:
    """Read the owner, and correct the claim if the spec names another resource or
    owner. Raises ConditionError.
    """
    scope = intent.scope
    owner = scope.owner()
    written = move_claim(scope, owner) or restore_owner(scope, owner)
    if written is not None or owner is None:
        return written
    return attrs.evolve(intent, owner=owner)


def first_look(intent: Intent) -> Intent | None:
    """Note that this process looks at the object, and whether for the first time."""
    memory = intent.scope.memory
    if memory.part(LookedAt).is_done:
        return None
    memory.keep(LookedAt(is_done=True))
    return attrs.evolve(intent, is_first=True)


def own_subscription(intent: Intent) -> None:
    """Make sure that the resource is in the credential's subscription. Raises
    ConditionError.
    """
    intent.scope.connection.require_subscription_of(intent.identity.arm_id)


def follow_accepted(intent: Intent) -> AcceptedPut | None:
    """Go on after an accepted PUT of the same body: a retry after a reconcile that
    failed after its PUT (D15).
    """
    scope, patcher, accepted = (
        intent.scope,
        intent.scope.patcher,
        intent.scope.memory.accepted,
    )
    if accepted is None or accepted.record.put != intent.rendered.fingerprint:
        return None
    patcher.set_ready(reconciling(patcher.generation), reason_aware=True)
    patcher.annotate(accept_claim(scope, intent.identity.arm_id))
    return attrs.evolve(accepted, generation=patcher.generation)


def show_progress(request: DecidedPut) -> DecidedPut | None:
    """Show that the object is reconciled, and that its resource is gone: otherwise
    Ready stays True until the resource is back.
    """
    scope, patcher = request.scope, request.scope.patcher
    patcher.set_ready(reconciling(patcher.generation), reason_aware=True)
    if not scope.context.is_known_absent:
        return None
    if request.intent.is_sync:
        patcher.set_ready(recreating(patcher.generation))
    # A sync of mode `put` keeps the time of the PUT before: not if it makes it again.
    record = attrs.evolve(
        request.put.record, at=time_of_put(scope.operator.clock.now())
    )
    return attrs.evolve(request, put=attrs.evolve(request.put, record=record))


def own_id(request: SettleRequest) -> None:
    """Make sure that the id is the object's own, before it is read.

    The id is in an annotation, which people can edit, and the status is believed when
    the owner is gone. Raises ConditionError; RetryError while the owner's kind is not
    listed yet.
    """
    scope, patcher = request.scope, request.scope.patcher
    scope.connection.require_subscription_of(patcher.arm_id)
    if not is_own(scope):
        raise unusable(
            f"annotation {RESOURCE_ID} is {patcher.arm_id}, which is not what "
            "spec.owner and the Azure name of this object make: remove it, and it is "
            "written anew"
        )


def read_resource(request: SettleRequest) -> None:
    """Copy the resource to the status. Raises ConditionError if Azure does not show it,
    and as `observed_status`.
    """
    scope, patcher, memory = request.scope, request.scope.patcher, request.scope.memory
    observed = observed_status(scope.context, request.body)
    now, listed_at = scope.operator.clock.monotonic(), request.listed_at
    memory.read_at = now if listed_at is None else listed_at
    if observed is None:
        # The accepted PUT has left no resource: the next reconcile must PUT.
        if request.after is not ReadAfter.NOTHING:
            forget_put(patcher, memory)
        raise absent(patcher.arm_id, request.after)
    if listed_at is None:
        patcher.replace_status(observed)
    if is_on(patcher.annotations, ALLOW_OWNER_CHANGE_ROW):
        # The schema's rule about the owner holds only while the status shows an id.
        patcher.status.pop("id", None)


def read_inputs(request: SettleRequest) -> None:
    """Read the inputs of the PUT, if the read shows the result of one."""
    _ = request.rendered


def absent(arm_id: str, after: ReadAfter) -> ConditionError:
    """Return the condition of a resource that Azure does not show. Pure."""
    if after is ReadAfter.NOTHING:
        return ConditionError(
            f"the resource {arm_id} does not exist in Azure, and the policy skip "
            f"keeps it from being created (or {IF_EXISTS}: observe): set "
            f"{RECONCILE_POLICY} to manage (or {IF_EXISTS} to adopt), or delete "
            "this object; if the resource was moved to another resource group, apply "
            "it anew under that owner",
            reason="AzureResourceNotFound",
        )
    return ConditionError(
        f"Azure accepted the resource {arm_id} but does not show it; it is put again",
        reason="Failed",
    )


def changed_meanwhile(request: RefusedRequest) -> Requeue | None:
    """Read and PUT again at once if another client wrote in between. After too many
    such refusals in a row the refusal is shown.
    """
    scope, memory = request.scope, request.scope.memory
    if not request.is_immediate:
        return None
    if not is_changed_meanwhile(request.error, scope.context.required_etag):
        return None
    times = memory.part(ChangedMeanwhile).times + 1
    memory.keep(ChangedMeanwhile(times))
    if times > _MAX_PRECONDITION_FAILURES:
        return None
    text = "Resource changed since it was read; starting again"
    scope.log.info(text, reason=f"{times} in a row")
    return Requeue()


def is_changed_meanwhile(error: ArmError, required_etag: str | None) -> bool:
    """Return whether a PUT was refused because the resource has another ETag than at
    the read before. Pure.

    required_etag: ETag of that read, or None.
    """
    return error.status == HTTPStatus.PRECONDITION_FAILED and bool(required_etag)


def never_put(intent: DeleteIntent) -> LeftAlone | None:
    """Leave a resource for which the object has no right: Azure has accepted no PUT.

    Asked before the credential is looked for.
    """
    if may(intent.scope.standing, Act.DELETE) is not Permit.NO:
        return None
    arm_id = intent.scope.patcher.arm_id
    return LeftAlone(
        f"{arm_id} is left alone: Azure has accepted no PUT of this object"
    )


def claimed_subscription(intent: DeleteIntent) -> None:
    """Make sure that the resource is in the credential's subscription. Raises
    ConditionError.
    """
    scope = intent.scope
    scope.connection.require_subscription_of(scope.patcher.arm_id)
