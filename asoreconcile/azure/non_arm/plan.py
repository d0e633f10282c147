"""Decides the steps of a reconcile of an object without ARM. Pure.

The questions and their order are those of ARM's kinds (`azure.plan`), without
long-running operations: which operator owns the object, is it being deleted, is it
claimed, may we write. Rules: R1.2, R1.3, R1.4, R1.7, R1.8.
"""

from collections.abc import Mapping, Sequence
from enum import Enum, auto

import attrs

from asoreconcile.azure.reconcile.model.annotations import (
    FINALIZER,
    LAST_RECONCILED_VERSION,
    OPERATOR_NAMESPACE,
    label_value,
)
from asoreconcile.azure.reconcile.model.conditions import deleting, reconciling
from asoreconcile.azure.reconcile.model.decisions import (
    Effect,
    EmitEvent,
    Log,
    PatchSharedMetadata,
    RecordOwnWrite,
    SetReady,
)
from asoreconcile.azure.reconcile.model.owner import (
    Owner,
    owner_labels,
    with_owner_reference,
)
from asoreconcile.azure.reconcile.model.policy import Policy
from asoreconcile.base.objects import JsonObject, annotations, generation, is_deleting
from asoreconcile.kube.finalizers import has_finalizer


class Step(Enum):
    """The step to perform."""

    LEAVE = auto()  # another operator's object
    CLAIM = auto()
    APPLY = auto()
    OBSERVE = auto()
    DELETE = auto()
    RELEASE = auto()


@attrs.frozen
class Plan:
    """Effects, followed by one step."""

    effects: tuple[Effect, ...]
    step: Step


def plan_of(obj: JsonObject, *, policy: Policy, operator_namespace: str) -> Plan:
    """Decide what a reconcile does. obj: reads metadata only."""
    owner = annotations(obj).get(OPERATOR_NAMESPACE)
    if owner and owner != operator_namespace:
        text = (
            f"Operator in namespace {operator_namespace!r} leaves this object alone: "
            f"it belongs to the operator in namespace {owner!r}"
        )
        return Plan((EmitEvent("Warning", "Overlap", text),), Step.LEAVE)
    is_claimed = has_finalizer(obj, FINALIZER)
    if is_deleting(obj):
        if not is_claimed or not policy.deletes:
            return Plan((), Step.RELEASE)
        return Plan((SetReady(deleting(generation(obj))),), Step.DELETE)
    if not owner or not is_claimed:
        return Plan((), Step.CLAIM)
    show = SetReady(reconciling(generation(obj)))
    return Plan((show,), Step.APPLY if policy.writes else Step.OBSERVE)


def claimed(
    *,
    finalizers: Sequence[str],
    owner_references: Sequence[JsonObject],
    owner: Owner | None,
    build: str,
    operator_namespace: str,
) -> tuple[Effect, ...]:
    """Claim an object in one write, stored before any change outside the cluster."""
    references = with_owner_reference([*owner_references], owner)
    kept = [name for name in finalizers if name != FINALIZER]
    meta: JsonObject = {
        "finalizers": [*kept, FINALIZER],
        "annotations": {OPERATOR_NAMESPACE: operator_namespace},
        "labels": {
            **owner_labels(owner),
            LAST_RECONCILED_VERSION: label_value(build),
        },
        **({"ownerReferences": references} if references else {}),
    }
    return (Log("info", "Claiming"), PatchSharedMetadata(meta), RecordOwnWrite())


def marked(*, operator_namespace: str) -> tuple[Effect, ...]:
    """Write which operator owns an object that cannot be claimed yet."""
    notes: Mapping[str, str] = {OPERATOR_NAMESPACE: operator_namespace}
    return (PatchSharedMetadata({"annotations": notes}), RecordOwnWrite())


def released(finalizers: Sequence[str]) -> tuple[Effect, ...]:
    """Remove our finalizer, if it is there: Kubernetes may end the object."""
    if FINALIZER not in finalizers:
        return ()
    rest = [name for name in finalizers if name != FINALIZER]
    return (
        Log("info", "Removing finalizer"),
        PatchSharedMetadata({"finalizers": rest}),
    )
