"""Decides the first step of a reconcile of one object. Pure.

The order of the questions is the contract (R1.1-R1.8, R5.1, R5.2): which operator owns
the object, is it being deleted, is it claimed, may we write, is an operation running.
"""

from asoreconcile.azure.reconcile.model.annotations import (
    DELETE_POLLER,
    FINALIZER,
    OPERATOR_NAMESPACE,
    POLLER_ID,
    POLLER_TOKEN,
    PUT_POLLER,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.conditions import deleting, reconciling
from asoreconcile.azure.reconcile.model.decisions import (
    CheckAbsent,
    Claim,
    Decision,
    Effect,
    EmitEvent,
    Follows,
    Log,
    Poll,
    PrepareDelete,
    PreparePut,
    Read,
    RemoveFinalizer,
    RestoreId,
    SetOperatorNamespace,
    SetReady,
    Stop,
)
from asoreconcile.azure.reconcile.model.policy import Policy
from asoreconcile.azure.reconcile.model.resume_token import clear_token
from asoreconcile.base.objects import (
    JsonObject,
    annotations,
    generation,
    is_deleting,
)
from asoreconcile.kube.finalizers import has_finalizer


def plan(
    obj: JsonObject, *, policy: Policy, operator_namespace: str, can_delete: bool
) -> Decision:
    """Decide how a reconcile begins.

    obj: reads metadata only. can_delete: whether Azure offers DELETE for the kind.
    """
    notes = annotations(obj)
    owner = notes.get(OPERATOR_NAMESPACE)
    if owner and owner != operator_namespace:
        return _foreign(owner, operator_namespace)
    if is_deleting(obj):
        return _plan_delete(obj, policy=policy, can_delete=can_delete)
    claim = not has_finalizer(obj, FINALIZER)
    # Each of these is one write that must be stored before any request to Azure. It
    # ends its reconcile; the next reconcile continues.
    if not owner:
        return Decision((), SetOperatorNamespace(claim=claim))
    if claim:
        return Decision((), Claim())
    if not notes.get(RESOURCE_ID):
        return Decision((), RestoreId())
    show = SetReady(reconciling(generation(obj)))
    if not policy.writes:
        return Decision((show,), Read(Follows.NOTHING))
    if _has_poller(obj) and notes[POLLER_ID] == PUT_POLLER:
        return Decision((show,), Poll())
    return Decision((show, *_without_leftover(obj)), PreparePut())


def _foreign(owner: str, operator_namespace: str) -> Decision:
    """Another operator's object: record an event and do nothing else (R1.2)."""
    text = (
        f"Operator in namespace {operator_namespace!r} leaves this object alone: it "
        f"belongs to the operator in namespace {owner!r}"
    )
    return Decision((EmitEvent("Warning", "Overlap", text),), Stop())


def _without_leftover(obj: JsonObject) -> tuple[Effect, ...]:
    """Clear a token that is not of a PUT or is incomplete (D16, R2.1)."""
    notes = annotations(obj)
    if not (notes.get(POLLER_TOKEN) or notes.get(POLLER_ID)):
        return ()
    log = Log("warning", "Dropping an operation token that is not ours")
    return (log, *clear_token(notes))


def _plan_delete(obj: JsonObject, *, policy: Policy, can_delete: bool) -> Decision:
    notes = annotations(obj)
    if not has_finalizer(obj, FINALIZER) or not policy.deletes:
        return Decision((), RemoveFinalizer())
    # Never created: nothing to delete, and no credential is needed (D18).
    if not notes.get(RESOURCE_ID):
        return Decision((), RemoveFinalizer())
    if not can_delete:
        return Decision((), CheckAbsent())
    show = SetReady(deleting(generation(obj)))
    if _has_poller(obj) and notes[POLLER_ID] == DELETE_POLLER:
        return Decision((show,), Poll())
    # A deletion does not wait for a running create (R5.7).
    return Decision((show,), PrepareDelete())


def _has_poller(obj: JsonObject) -> bool:
    notes = annotations(obj)
    return bool(notes.get(POLLER_TOKEN)) and bool(notes.get(POLLER_ID))
