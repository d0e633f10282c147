"""What a reconcile of one object will do, decided before anything is done. Pure.

The order of the questions is the contract (reconcile-semantics 1a, 1b and 5): whose
object is it, is it going away, is it ours already, may we write, is something running.
"""

from enum import Enum, auto

import attrs

from asoreconcile.azure.annotations import (
    DELETE_POLLER,
    FINALIZER,
    OPERATOR_NAMESPACE,
    POLLER_ID,
    POLLER_TOKEN,
    PUT_POLLER,
    RESOURCE_ID,
)
from asoreconcile.azure.policy import Policy
from asoreconcile.objects import JsonObject, annotations, finalizers, is_deleting


class Step(Enum):
    """The one thing a reconcile does."""

    IGNORE_FOREIGN = auto()  # another operator's object: an event, nothing else (R1.2)
    # One write that must be there before Azure is asked; the next reconcile goes on.
    MARK = auto()  # whose it is (R1.3)
    CLAIM = auto()  # that it is ours, and which resource it stands for (R1.4)
    RESTORE_ID = auto()  # which resource, when that was removed after the claim (D10)
    BEGIN = auto()  # PUT
    MONITOR = auto()  # one poll of the running PUT
    OBSERVE = auto()  # policy skip: read, export, no write (R1.8)
    REMOVE_FINALIZER = (
        auto()
    )  # deletion needs nothing of us: the finalizer goes, if it is there
    BEGIN_DELETE = auto()
    MONITOR_DELETE = auto()
    AWAIT_PARENT_DELETION = auto()  # Azure has no DELETE for this kind


@attrs.frozen
class Plan:
    """A step.

    claim: at MARK: the claim is due, too.
    drop_poller: the stored operation is no PUT's, or is half there; it is cleared and
    the reconcile starts again (D16, R2.1).
    """

    step: Step
    claim: bool = False
    drop_poller: bool = False


def plan(
    obj: JsonObject, *, policy: Policy, operator_namespace: str, can_delete: bool
) -> Plan:
    """Decide a reconcile.

    obj: reads metadata only. can_delete: whether Azure offers DELETE for the kind.
    """
    notes = annotations(obj)
    owner = notes.get(OPERATOR_NAMESPACE)
    if owner and owner != operator_namespace:
        return Plan(Step.IGNORE_FOREIGN)
    if is_deleting(obj):
        return _plan_delete(obj, policy=policy, can_delete=can_delete)
    claim = FINALIZER not in finalizers(obj)
    if not owner:
        return Plan(Step.MARK, claim=claim)
    if claim:
        return Plan(Step.CLAIM)
    if not notes.get(RESOURCE_ID):
        return Plan(Step.RESTORE_ID)
    if not policy.writes:
        return Plan(Step.OBSERVE)
    if _has_poller(obj) and notes[POLLER_ID] == PUT_POLLER:
        return Plan(Step.MONITOR)
    leftover = bool(notes.get(POLLER_TOKEN) or notes.get(POLLER_ID))
    return Plan(Step.BEGIN, drop_poller=leftover)


def _plan_delete(obj: JsonObject, *, policy: Policy, can_delete: bool) -> Plan:
    notes = annotations(obj)
    if FINALIZER not in finalizers(obj) or not policy.deletes:
        return Plan(Step.REMOVE_FINALIZER)
    # Never created: nothing to delete, and no credential is needed to say so (D18).
    if not notes.get(RESOURCE_ID):
        return Plan(Step.REMOVE_FINALIZER)
    if not can_delete:
        return Plan(Step.AWAIT_PARENT_DELETION)
    if _has_poller(obj) and notes[POLLER_ID] == DELETE_POLLER:
        return Plan(Step.MONITOR_DELETE)
    # A running create is not waited for (R5.7).
    return Plan(Step.BEGIN_DELETE)


def _has_poller(obj: JsonObject) -> bool:
    notes = annotations(obj)
    return bool(notes.get(POLLER_TOKEN)) and bool(notes.get(POLLER_ID))
