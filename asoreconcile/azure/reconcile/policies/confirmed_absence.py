"""Confirms that a resource is gone before a PUT makes it again. Blocking: one list.

A provider may answer 404 for a resource that exists. A PUT of a parent whose body
contains its children would then delete all children, because the body is made without
them. So the read is repeated after a pause, and the list of the type must not contain
the resource. A read whose 404 has an unknown code is repeated as well.
Rule: V11.
"""

import attrs

from asoreconcile.azure.arm import ids
from asoreconcile.azure.arm.absence import Absence
from asoreconcile.azure.arm.collections import collection_of
from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.reconcile.model.decisions import Requeue
from asoreconcile.azure.reconcile.model.first_creation import was_there
from asoreconcile.azure.reconcile.policies.checks import postponed
from asoreconcile.azure.reconcile.policies.requests import DecidedPut, SettleRequest
from asoreconcile.azure.reconcile.sync.resource_reads import listed_ids
from asoreconcile.base.objects import status

ASKED_AGAIN_SECONDS = 10.0
# As long as for a DELETE that is answered in this way.
UNKNOWN_CODE_SECONDS = 60.0


@attrs.frozen
class Absent:
    """The part of the memory about a missing resource. since: time at which a read
    first missed a resource that had existed, in monotonic seconds; None if the last
    read found it, or no read was needed.
    """

    since: float | None = None


def note_found(request: SettleRequest) -> None:
    """Forget a missing resource once a read has found it."""
    request.scope.memory.keep(Absent())


def confirm_absence(request: DecidedPut) -> Requeue | None:
    """Return the pause before the next read; None if the PUT may be sent.

    Only the read of a resource that existed before, or that the object may not take
    over, is repeated. Its child objects are woken at the first 404, to find out whether
    their resources are gone, too. Raises ConditionError if a list has the resource, and
    as `ArmAccess.list`.
    """
    scope, last_put = request.scope, request.intent.last_put
    context, patcher, memory = scope.context, scope.patcher, scope.memory
    if not context.is_known_absent:
        return None
    is_certain = context.absence is Absence.CERTAIN
    # Also for an object whose status was lost in a restore: a PUT that left a resource
    # was followed by a read.
    is_recorded = last_put is not None and bool(last_put.rest)
    was_known = not request.desired.is_first and (
        is_recorded or was_there(status(patcher.obj))
    )
    if not (was_known or scope.must_ask) or (is_certain and not context.needs_absence):
        return None
    now = context.clock.monotonic()
    since = memory.part(Absent).since
    if since is None:
        since = now
        memory.keep(Absent(now))
        scope.wake_children()
    pause = ASKED_AGAIN_SECONDS if is_certain else UNKNOWN_CODE_SECONDS
    left = since + pause - now
    if left > 0:
        context.log.warning(
            "Azure says that the resource is gone; asking again before it is put",
            armId=context.arm_id,
        )
        return postponed(patcher, Requeue(left))
    if context.needs_absence and (address := collection_of(context.arm_id)):
        found = listed_ids(context.arm.list, address.path, context.version.api_version)
        if any(ids.same(one, context.arm_id) for one in found):
            raise ConditionError(
                f"Azure answers 404 for {context.arm_id}, but its list has it: "
                "nothing is sent, as a PUT could delete what the resource contains",
                reason="AzureResourceNotFound",
            )
    memory.keep(Absent())
    return None
