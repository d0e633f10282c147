"""The reconciler of one ARM kind: it plans a reconcile and runs the planned step.

A reconcile makes at most one write to Azure or one poll, and never waits.
"""

from collections.abc import Callable
from typing import NoReturn

from asoreconcile.azure.arm import ids
from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass, unusable
from asoreconcile.azure.reconcile.engine.object_reconciler import ObjectReconciler
from asoreconcile.azure.reconcile.engine.plan import Step, plan
from asoreconcile.azure.reconcile.identity.claim import claim, restore_id
from asoreconcile.azure.reconcile.identity.copied_record import disown, is_copied
from asoreconcile.azure.reconcile.identity.owner_change import name_beside
from asoreconcile.azure.reconcile.identity.recorded_claim import let_go
from asoreconcile.azure.reconcile.model import annotation_table
from asoreconcile.azure.reconcile.model.annotation_bounds import why_unreadable
from asoreconcile.azure.reconcile.model.annotations import (
    CLAIM,
    FINALIZER,
    OPERATOR_NAMESPACE,
    POLLER_ID,
    POLLER_TOKEN,
    RECONCILE_POLICY,
    RECREATION_PLAN,
)
from asoreconcile.azure.reconcile.model.conditions import (
    BLOCKED,
    SECRETS_UNCHECKED,
    deleting,
    is_long_unready,
    reconciling,
)
from asoreconcile.azure.reconcile.model.decisions import (
    ReadAfter,
    ReconcileOutcome,
    Requeue,
    Stop,
)
from asoreconcile.azure.reconcile.model.existence import is_observing
from asoreconcile.azure.reconcile.model.pace import why_paused
from asoreconcile.azure.reconcile.model.policy import LET_GO, RECONCILE_POLICY_ROW
from asoreconcile.azure.reconcile.model.standing import Act, Permit, may
from asoreconcile.azure.reconcile.model.sync_mode import SYNC_MODE
from asoreconcile.azure.reconcile.policies.pause import paused
from asoreconcile.azure.reconcile.policies.permission import confirm_release
from asoreconcile.azure.reconcile.policies.recreation import comes_back
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.scope.recorded_operation import clear_token
from asoreconcile.azure.reconcile.writes.deletion import await_parent, delete
from asoreconcile.azure.reconcile.writes.endings import release, settle
from asoreconcile.azure.reconcile.writes.operations import poll
from asoreconcile.azure.reconcile.writes.put import put
from asoreconcile.azure.reconcile.writes.recreating import recreate
from asoreconcile.base.objects import is_deleting
from asoreconcile.kube.finalizers import has_finalizer


class ArmReconciler(ObjectReconciler):
    """`runtime.reconciler.Reconciler` for one ARM kind."""

    def run(self, scope: ReconcileScope) -> ReconcileOutcome:
        """Run the planned step."""
        step = first_step(scope)
        return name_owner(scope, step) or STEPS[step](scope)


def name_owner(scope: ReconcileScope, step: Step) -> Requeue | None:
    """Name a new owner before the step, so that the garbage collector keeps the object.

    Return None if nothing is written.
    """
    is_ours = step not in {Step.LEAVE, Step.PAUSE, Step.CLAIM, Step.DISOWN}
    return name_beside(scope) if is_ours else None


def first_step(scope: ReconcileScope) -> Step:
    """Plan a reconcile, show the plan in conditions and events, and return its step."""
    operator, patcher = scope.operator, scope.patcher
    inherited, version = scope.namespace_annotations, patcher.version
    own = patcher.annotations
    _ = scope.asked  # before any write: the value that this reconcile began with
    is_undecided, may_write, policy = (
        scope.is_undecided,
        scope.may_write,
        scope.policy,
    )
    step = plan(
        patcher.obj,
        may_write=may_write and not (is_undecided and is_observing(own, inherited)),
        # An object that has decided nothing may manage nothing (OW-3).
        may_delete=policy is not None
        and policy.deletes
        and not (is_undecided and may(scope.standing, Act.DELETE) is Permit.NO),
        operator_namespace=operator.namespace,
        can_delete=not version.is_arm or "Delete" in version.operations,
        is_arm=version.is_arm,
        is_readable=policy is not None,
        is_paused=scope.has_pace and bool(why_paused(own, inherited)),
        is_copied=is_copied(scope),
    )
    if step not in _UNTOUCHED and _has_lost_record(scope):
        step = Step.RESTORE_ID
    if step is Step.LEAVE:
        text = (
            f"Operator in namespace {operator.namespace!r} leaves this object alone: it"
            f" belongs to the operator in namespace {own[OPERATOR_NAMESPACE]!r}"
        )
        scope.event("Warning", "Overlap", text)  # and nothing else (R1.2)
        return step
    if unread := why_unreadable(own, inherited):
        raise unusable(f"{unread}. Nothing is written in Azure until it is shortened")
    if step is Step.RELEASE and _is_let_go_by_namespace(scope):
        confirm_release(scope)
    _report_unknown_values(scope)
    why_unchecked = operator.why_secrets_unchecked(version, patcher.obj)
    patcher.set_problem(SECRETS_UNCHECKED, why_unchecked)
    if RECREATION_PLAN in own and (gone := comes_back(scope)):
        patcher.add_remark(gone)
    is_leaving = is_deleting(patcher.obj)
    may_last = is_leaving or step is Step.POLL
    if may_last and is_long_unready(patcher.obj, operator.clock.now()):
        patcher.add_remark(LET_GO if is_leaving else _TAKES_LONG)
    if step in {Step.RECREATE, Step.DELETE} or (step is Step.POLL and is_leaving):
        patcher.set_ready(deleting(patcher.generation))
    # A PUT of an ARM kind shows it once nothing has to be waited for.
    elif step in {Step.OBSERVE, Step.POLL} or (step is Step.PUT and not version.is_arm):
        patcher.set_ready(reconciling(patcher.generation))
    elif step is Step.PUT and (own.get(POLLER_TOKEN) or own.get(POLLER_ID)):
        # A token that is not of a PUT or is incomplete is cleared (D16, R2.1).
        scope.log.warning("Dropping an operation token that is not ours")
        clear_token(patcher, scope.memory)
    return step


# Nothing of such an object is restored.
_UNTOUCHED = frozenset(
    {Step.LEAVE, Step.PAUSE, Step.DISOWN, Step.CLAIM, Step.RELEASE, Step.RESTORE_ID}
)


def _has_lost_record(scope: ReconcileScope) -> bool:
    """Return whether the annotation with the claim is gone and the one with the id was
    edited: the copy in the status tells.
    """
    patcher = scope.patcher
    if not patcher.version.is_arm or CLAIM in patcher.annotations:
        return False
    claim = scope.claim
    return claim is not None and not ids.same(claim.arm_id, patcher.arm_id)


def _is_let_go_by_namespace(scope: ReconcileScope) -> bool:
    """Return whether a deleted object is released because a policy that is not its own
    keeps its resource.
    """
    policy, is_held = scope.policy, has_finalizer(scope.patcher.obj, FINALIZER)
    is_kept = policy is not None and not policy.deletes and not scope.is_undecided
    is_own = RECONCILE_POLICY_ROW.text(scope.patcher.annotations) is not None
    return is_kept and is_held and not is_own


def _report_unknown_values(scope: ReconcileScope) -> None:
    """Add a sentence about each wrong value of an annotation to the conditions of
    this reconcile, and report each once in an event and the log.
    """
    patcher, memory = scope.patcher, scope.memory
    found = annotation_table.reports(
        patcher.annotations, scope.namespace_annotations, patcher.version
    )
    for name, sentence in found.items():
        if sentence not in memory.unknown_values:
            scope.event("Warning", "UnknownAnnotationValue", sentence)
            text = _LOGGED.get(name, "Unknown value of an annotation")
            scope.log.warning(text, reason=sentence)
    memory.unknown_values = frozenset(found.values()) if found else _NONE
    patcher.remark = "; ".join(found.values())


_TAKES_LONG = (
    "it has not been Ready for more than a day: see the activity log of the resource"
)
# Shared by nearly all objects; an empty set takes 216 bytes.
_NONE: frozenset[str] = frozenset()
_LOGGED = {
    RECONCILE_POLICY: "Unknown reconcile-policy; nothing is written",
    SYNC_MODE: "Unknown sync-mode; syncs only report",
}


def _observe(scope: ReconcileScope) -> ReconcileOutcome:
    scope.permit = _forbid
    let_go(scope)
    return settle(scope, ReadAfter.NOTHING)


def _forbid() -> NoReturn:
    raise ConditionError(
        "a step that changes something in Azure is left out: the object only reads",
        reason=BLOCKED,
        retry=RetryClass.VERY_SLOW,
    )


def await_policy(_: ReconcileScope) -> NoReturn:
    """Raise the ConditionError of an object whose reconcile policy has an unknown
    value.

    The value, and the known value that is most like it, are added to every condition
    (`annotation_table.reports`).
    """
    raise ConditionError(
        "The reconcile policy cannot be read",
        reason="ReconcilePolicyUnreadable",
        retry=RetryClass.VERY_SLOW,
    )


STEPS: dict[Step, Callable[[ReconcileScope], ReconcileOutcome]] = {
    Step.LEAVE: lambda _: Stop(),
    Step.PAUSE: paused,
    Step.CLAIM: claim,
    Step.DISOWN: disown,
    Step.RESTORE_ID: lambda scope: restore_id(scope) or release(scope),
    Step.OBSERVE: _observe,
    Step.PUT: put,
    Step.POLL: poll,
    Step.RECREATE: recreate,
    Step.DELETE: delete,
    Step.AWAIT_PARENT: await_parent,
    Step.RELEASE: release,
    Step.AWAIT_POLICY: await_policy,
}
