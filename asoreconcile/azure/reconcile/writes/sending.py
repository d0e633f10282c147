"""Sends a PUT or a DELETE: the one place that changes a resource of Azure.

A request is sent while no write of a parent or child is under way.
"""

from contextlib import ExitStack

from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.arm.outcomes import ArmOutcome
from asoreconcile.azure.middleware.extension_points import DELETE
from asoreconcile.azure.middleware.requests import DeleteRequest, DeleteResult
from asoreconcile.azure.reconcile.identity.claim import uses_credential
from asoreconcile.azure.reconcile.identity.recorded_claim import (
    awaiting_answer,
    open_claim,
)
from asoreconcile.azure.reconcile.model.decisions import Put
from asoreconcile.azure.reconcile.model.drift_baseline import OBSERVED
from asoreconcile.azure.reconcile.policies import order
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.state.parent_writes import ParentRead


def send_put(
    scope: ReconcileScope, put: Put, reading: ParentRead
) -> ArmOutcome | ArmError:
    """Send a PUT; return Azure's answer, or its refusal.

    The caller has just asked `order.permit`. reading: the record of the reads that the
    body rests on. Raises ConditionError `AlreadyManaged`; RetryError if a parent or a
    child is written meanwhile; GoneError, ArmTransportError.
    """
    memory, connection = scope.memory, scope.connection
    open_claim(scope, put.arm_id)
    # Also if Azure refuses the PUT: a person will ask whose credential it was.
    before, memory.credential = memory.credential, connection.source
    if before and before != connection.source:
        scope.event(*uses_credential(connection.source))
    scope.log.info("Putting resource", armId=put.arm_id)
    # If the body contains values that were read, the PUT is sent only while they hold:
    # by the resource's ETag, else by turns.
    required_etag = scope.context.required_etag
    headers = {"If-Match": required_etag} if required_etag else {}
    parent_writes = scope.operator.parent_writes
    try:
        with ExitStack() as stack:
            if required_etag == "":
                stack.enter_context(parent_writes.exclusive(reading))
            stack.enter_context(parent_writes.writing(put.arm_id))
            # From here on Azure may have this body, also if the answer is a refusal:
            # values that it does not show are unknown until a PUT is accepted.
            memory.accepted = None
            if put.withdrawn:
                scope.patcher.annotate({OBSERVED: put.withdrawn})
            stack.callback(scope.operator.note_write, put.arm_id)
            stack.enter_context(awaiting_answer(memory))
            return connection.client.put(
                put.arm_id,
                scope.patcher.version.api_version,
                put.body,
                headers=headers,
            )
    except ArmError as error:
        return error


def send_delete(scope: ReconcileScope) -> DeleteResult | ArmError:
    """Send a DELETE through the extensions; return the result, or Azure's refusal.

    Raises GoneError or StaleError if the object has changed since it was read;
    RetryError while a PUT of a parent is sent; ArmTransportError; and as
    `order.permit`.
    """
    order.permit(scope, is_delete=True)
    patcher, operator = scope.patcher, scope.operator
    chain = operator.extensions.chain(DELETE, patcher.version.group_kind)
    scope.log.info("Deleting resource", armId=patcher.arm_id)
    try:
        # A PUT of the parent that contains this child must not create it again.
        with operator.parent_writes.writing(patcher.arm_id):
            return chain(DeleteRequest(ctx=scope.context, obj=patcher.obj))
    except ArmError as error:
        return error
    finally:
        # Also without an answer: Azure may have accepted the request.
        operator.note_write(patcher.arm_id)
