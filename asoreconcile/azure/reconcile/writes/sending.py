"""Sends a PUT or a DELETE: the one place that changes a resource of Azure.

A request is sent while no write of a parent or child is under way.
"""

from contextlib import ExitStack

import attrs

from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.arm.outcomes import ArmOutcome, Failed, Pending
from asoreconcile.azure.middleware.extension_points import DELETE, PUT
from asoreconcile.azure.middleware.requests import (
    DeleteRequest,
    DeleteResult,
    PutRequest,
    PutResult,
)
from asoreconcile.azure.reconcile.identity.claim import uses_credential
from asoreconcile.azure.reconcile.identity.recorded_claim import (
    awaiting_answer,
    open_claim,
)
from asoreconcile.azure.reconcile.model.drift_baseline import OBSERVED, AcceptedPut
from asoreconcile.azure.reconcile.model.standing import Standing
from asoreconcile.azure.reconcile.policies import order
from asoreconcile.azure.reconcile.policies.phase import run
from asoreconcile.azure.reconcile.policies.requests import DecidedPut
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.base.objects import JsonObject


def send_put(request: DecidedPut) -> PutResult | ArmError:
    """Send a PUT through the extensions; return the result, or Azure's refusal.

    The caller has just asked `order.permit`. An accepted PUT is in the memory before
    this returns or raises, so that an extension that fails afterwards causes no second
    PUT (D15). Raises ConditionError `AlreadyManaged`, `PutBudgetSpent`; RetryError if a
    parent or a child is written meanwhile; GoneError, ArmTransportError.
    """
    scope, put = request.scope, request.put
    memory, patcher = scope.memory, scope.patcher
    open_claim(scope, put.arm_id, was_absent=_was_absent(scope))
    # Also if Azure refuses the PUT: a person will ask whose credential it was.
    source = scope.connection.source
    before, memory.credential = memory.credential, source
    if before and before != source:
        scope.event(*uses_credential(source))
    sent = False

    def send(body: JsonObject) -> ArmOutcome:
        nonlocal sent
        decided = attrs.evolve(request, put=attrs.evolve(put, body=body))
        outcome = run(order.AT_PUT, decided, _sent)
        sent = not isinstance(outcome, Failed)
        return outcome

    chain = scope.operator.extensions.chain(PUT, patcher.version.group_kind)
    try:
        return chain(PutRequest(scope.context, patcher.obj, put.body, send))
    except ArmError as error:
        if sent:
            raise  # of a later request of an extension
        return error


def _sent(request: DecidedPut) -> ArmOutcome:
    """Send a PUT, and remember it if Azure accepts it. Raises ArmError."""
    scope, put = request.scope, request.put
    scope.is_attempted = True
    memory, connection, parent_writes = (
        scope.memory,
        scope.connection,
        scope.operator.parent_writes,
    )
    scope.log.info("Putting resource", armId=put.arm_id)
    # If the body contains values that were read, the PUT is sent only while they hold:
    # by the resource's ETag, else by turns.
    required_etag = scope.context.required_etag
    headers = {"If-Match": required_etag} if required_etag else {}
    with ExitStack() as stack:
        if required_etag == "":
            stack.enter_context(parent_writes.exclusive(request.intent.reading))
        stack.enter_context(parent_writes.writing(put.arm_id))
        # From here on Azure may have this body, also if the answer is a refusal:
        # values that it does not show are unknown until a PUT is accepted.
        memory.accepted = None
        if put.withdrawn:
            scope.patcher.annotate({OBSERVED: put.withdrawn})
        stack.callback(scope.operator.note_write, put.arm_id)
        stack.enter_context(awaiting_answer(memory))
        outcome = connection.client.put(
            put.arm_id,
            scope.patcher.version.api_version,
            put.body,
            headers=headers,
        )
    if not isinstance(outcome, Failed):
        # First: if a later write fails, it must not lead to a second PUT (D15).
        running = outcome if isinstance(outcome, Pending) else None
        generation = scope.patcher.generation
        memory.accepted = AcceptedPut(put.record, generation, running=running)
    return outcome


def _was_absent(scope: ReconcileScope) -> bool | None:
    """Return whether this PUT, or an open one before it, was preceded by a read that
    found nothing; None if the object need not ask.
    """
    if not scope.must_ask:
        return None
    claim, is_open = scope.claim, scope.standing is Standing.PERHAPS
    was_absent = is_open and claim is not None and claim.facts.was_absent
    return was_absent or scope.context.is_known_absent


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
