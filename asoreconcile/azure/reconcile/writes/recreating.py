"""Deletes a resource that Azure does not let change, so that the next PUT makes it
again: the step after `policies.recreation`.

Each step is stored before the next one is taken: `deleting` before the DELETE, its
operation after it, `deleted` once Azure says that the resource is gone. If the process
dies in between, the next process continues from the stored step. Rule: OW-6.
"""

from asoreconcile.azure.arm.absence import Absence
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.arm.outcomes import Failed, Pending, PollState
from asoreconcile.azure.middleware.requests import ResourceDeleted
from asoreconcile.azure.reconcile.exports.export import forget_exports
from asoreconcile.azure.reconcile.identity.identity import identify
from asoreconcile.azure.reconcile.model.annotations import RECREATION
from asoreconcile.azure.reconcile.model.conditions import recreating
from asoreconcile.azure.reconcile.model.decisions import ReconcileOutcome, Requeue
from asoreconcile.azure.reconcile.model.drift_baseline import last_put_of
from asoreconcile.azure.reconcile.model.recreation import (
    Stage,
    recreation_of,
)
from asoreconcile.azure.reconcile.policies.permission import confirm_object
from asoreconcile.azure.reconcile.policies.recreation import (
    comes_back,
    differing_fields,
    record_plan,
    record_stage,
    why_kept,
)
from asoreconcile.azure.reconcile.scope.patch_helper import PatchHelper
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.scope.recorded_operation import (
    clear_token,
    running_operation,
)
from asoreconcile.azure.reconcile.state.memory import ObjectMemory
from asoreconcile.azure.reconcile.sync.drift import is_moving
from asoreconcile.azure.reconcile.sync.rendering import bodies_of
from asoreconcile.azure.reconcile.writes.deletion import (
    PerhapsGone,
    record_delete,
    seconds_until_believed,
)
from asoreconcile.azure.reconcile.writes.sending import send_delete

_MOVING_SECONDS = 10.0


def recreate(scope: ReconcileScope) -> ReconcileOutcome:
    """Continue a recreation by one request that changes something, or one poll.

    The DELETE is sent only while the resource differs from the spec, so that a resource
    which was made again is not deleted. Raises ConditionError if Azure refuses the
    DELETE; as `confirm_object`, `send_delete` and `raw_get`.
    """
    patcher, memory, clock = scope.patcher, scope.memory, scope.operator.clock
    confirm_object(scope.operator, patcher)  # another manager may have gone on
    recorded = recreation_of(patcher.obj, scope.operator.record_key)
    token = running_operation(patcher, scope.operations, deleting=True)
    if recorded is not None and token is not None:
        early = memory.poll.due - clock.monotonic()
        if early > 0:
            return Requeue(early)
        outcome = scope.connection.client.poll(token, memory.poll.progress)
        if isinstance(outcome, Pending):
            due = clock.monotonic() + outcome.delay_seconds
            memory.poll = PollState(outcome.progress, due)
            return Requeue(outcome.delay_seconds)
        scope.operator.note_write(patcher.arm_id)
        clear_token(patcher, memory)
        if isinstance(outcome, Failed):
            raise scope.errors.delete_failed(outcome.error)
    if recorded is None:
        return _give_up(patcher, memory)
    have = scope.context.raw_get()
    if have is None:
        is_certain = scope.context.absence is Absence.CERTAIN
        if not is_certain and seconds_until_believed(memory, clock.monotonic()) > 0:
            return Requeue(_MOVING_SECONDS)
        return _deleted(scope)
    memory.keep(PerhapsGone())
    if is_moving(have):
        return Requeue(_MOVING_SECONDS)
    if recorded.generation != patcher.generation:
        # The spec was edited, so that its PUT comes first.
        return _give_up(patcher, memory)
    last_put = last_put_of(patcher.annotations)
    identity = identify(scope, scope.owner())
    made = bodies_of(scope).render(identity, last_put).desired(last_put)
    found: list[str] = []
    if not differing_fields(made, have) or why_kept(scope, made.rendered, found):
        return _give_up(patcher, memory)
    record_plan(scope, found)
    answer = send_delete(scope)
    if isinstance(answer, ResourceDeleted):
        return _deleted(scope)
    if isinstance(answer, ArmError):
        raise scope.errors.delete_failed(answer)
    return record_delete(scope, answer)


def _deleted(scope: ReconcileScope) -> Requeue:
    """Record that the resource is gone, and with it all children."""
    scope.memory.keep(PerhapsGone())
    forget_exports(scope.patcher, scope.memory)
    patcher = scope.patcher
    record_stage(patcher, scope.operator.record_key(), Stage.DELETED)
    patcher.add_remark(comes_back(scope))
    patcher.set_ready(recreating(patcher.generation))
    scope.wake_children()
    return Requeue()


def _give_up(patcher: PatchHelper, memory: ObjectMemory) -> Requeue:
    clear_token(patcher, memory)
    patcher.record({RECREATION: None})
    return Requeue()
