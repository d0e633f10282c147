"""Decides how a reconcile of an object starts, before anything is done. Pure.

The order of the questions is fixed (R1.1-R1.8, R5.1, R5.2, OW-7): does the object
belong to another operator, is it paused, is it being deleted, is it claimed, may we
write, does an operation run? Kinds without ARM have no operations, and no ARM id.
"""

from enum import Enum, auto

import attrs

from asoreconcile.azure.reconcile.model.annotations import (
    DELETE_POLLER,
    FINALIZER,
    OPERATOR_NAMESPACE,
    POLLER_ID,
    POLLER_TOKEN,
    PUT_POLLER,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.claim_record import stated_claim
from asoreconcile.azure.reconcile.model.conditions import deleting, reconciling
from asoreconcile.azure.reconcile.model.decisions import (
    Effect,
    EmitEvent,
    Log,
    SetReady,
)
from asoreconcile.azure.reconcile.model.recreation import says_deleting
from asoreconcile.azure.reconcile.writes.operation_polls import clear_token
from asoreconcile.base.objects import (
    JsonObject,
    annotations,
    generation,
    is_deleting,
    status,
)
from asoreconcile.kube.finalizers import has_finalizer


class Step(Enum):
    """The step of a reconcile that follows the plan."""

    LEAVE = auto()  # the object belongs to another operator
    PAUSE = auto()  # a person has paused the object (OW-7)
    CLAIM = auto()  # write the operator's mark, and the claim (R1.3, R1.4)
    RESTORE_ID = auto()  # write the ARM id again, which was removed (D10)
    OBSERVE = auto()  # read the resource only
    PUT = auto()
    POLL = auto()  # the recorded operation
    RECREATE = auto()  # delete the resource, so that a PUT makes it again (OW-6)
    DELETE = auto()
    AWAIT_PARENT = auto()  # Azure deletes the resource with its parent only (R5.9)
    RELEASE = auto()  # remove the finalizer
    AWAIT_POLICY = auto()  # the reconcile policy is unreadable (R1.7)


@attrs.frozen
class Plan:
    """Effects in their order, and the step that follows them."""

    effects: tuple[Effect, ...]
    step: Step


def plan(
    obj: JsonObject,
    *,
    may_write: bool,
    may_delete: bool,
    operator_namespace: str,
    can_delete: bool = True,
    is_arm: bool = True,
    is_readable: bool = True,
    is_paused: bool = False,
) -> Plan:
    """Decide how a reconcile starts.

    obj: reads metadata and status.id. may_write, may_delete: whether the reconcile
    policy lets the operator PUT and DELETE the resource. can_delete: whether Azure
    offers DELETE for the kind. is_readable: false if the policy has an unknown value.
    """
    notes = annotations(obj)
    owner = notes.get(OPERATOR_NAMESPACE)
    if owner and owner != operator_namespace:
        return _foreign(owner, operator_namespace)
    if is_paused:
        return Plan((), Step.PAUSE)
    if is_deleting(obj):
        return _plan_delete(
            obj,
            may_delete=may_delete,
            can_delete=can_delete,
            is_arm=is_arm,
            is_readable=is_readable,
        )
    # Each of these is one write that must be stored before any request to Azure. It
    # ends its reconcile; the next reconcile continues.
    if not owner or not has_finalizer(obj, FINALIZER):
        return Plan((), Step.CLAIM)
    if is_arm and not notes.get(RESOURCE_ID):
        return Plan((), Step.RESTORE_ID)
    if not is_readable:
        return Plan((), Step.AWAIT_POLICY)
    token, poller = notes.get(POLLER_TOKEN), notes.get(POLLER_ID)
    is_recreating = is_arm and may_write and says_deleting(notes)
    if may_write and is_arm and not (is_recreating or token or poller):
        return Plan((), Step.PUT)  # which shows it once nothing has to be waited for
    show = SetReady(reconciling(generation(obj)))
    if not may_write:
        return Plan((show,), Step.OBSERVE)
    if not is_arm:
        return Plan((show,), Step.PUT)
    if is_recreating:
        return Plan((SetReady(deleting(generation(obj))),), Step.RECREATE)
    if token and poller == PUT_POLLER:
        return Plan((show,), Step.POLL)
    # A token that is not of a PUT or is incomplete is cleared (D16, R2.1).
    log = Log("warning", "Dropping an operation token that is not ours")
    return Plan((log, *clear_token(notes)), Step.PUT)


def _foreign(owner: str, operator_namespace: str) -> Plan:
    """Another operator's object: record an event and do nothing else (R1.2)."""
    text = (
        f"Operator in namespace {operator_namespace!r} leaves this object alone: it "
        f"belongs to the operator in namespace {owner!r}"
    )
    return Plan((EmitEvent("Warning", "Overlap", text),), Step.LEAVE)


def _plan_delete(
    obj: JsonObject,
    *,
    may_delete: bool,
    can_delete: bool,
    is_arm: bool,
    is_readable: bool,
) -> Plan:
    notes = annotations(obj)
    if not has_finalizer(obj, FINALIZER) or (is_readable and not may_delete):
        return Plan((), Step.RELEASE)
    if is_arm and not notes.get(RESOURCE_ID):
        seen = stated_claim(notes) or notes.get(POLLER_TOKEN) or status(obj).get("id")
        # Never created: nothing to delete, and no credential is needed (D18).
        return Plan((), Step.RESTORE_ID if seen else Step.RELEASE)
    if not can_delete:
        return Plan((), Step.AWAIT_PARENT)
    show = SetReady(deleting(generation(obj)))
    # A deletion does not wait for a running create (R5.7).
    if is_arm and notes.get(POLLER_TOKEN) and notes.get(POLLER_ID) == DELETE_POLLER:
        return Plan((show,), Step.POLL)
    if not is_readable:
        return Plan((), Step.AWAIT_POLICY)
    return Plan((show,), Step.DELETE)
