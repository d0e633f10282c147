"""Claims an object before any request to Azure. Pure.

The claim is one write that ends its reconcile: the operator's namespace, the finalizer,
the ARM id, the owner's labels and reference. It is conditional on the resource version,
so that only one of two operators succeeds. It is stored before any PUT (R1.4), so that
after a crash the object's deletion still reaches Azure. As long as the owner, a
reference, a Secret or a ConfigMap is missing, no finalizer is written.
"""

from collections.abc import Mapping, Sequence

import attrs

from asoreconcile.azure.reconcile.model.annotations import (
    AZURE_NAME_FROM_CONFIG,
    FINALIZER,
    LAST_RECONCILED_VERSION,
    LATEST_RECONCILED_GENERATION,
    OPERATOR_NAMESPACE,
    OWNER_UID,
    RESOURCE_ID,
    label_value,
)
from asoreconcile.azure.reconcile.model.decisions import (
    IN_PROGRESS_PRIORITY,
    Decision,
    Effect,
    EmitEvent,
    Log,
    PatchMetadata,
    PatchSharedMetadata,
    RecordOwnWrite,
    Requeue,
    UpdateMemory,
)
from asoreconcile.azure.reconcile.model.owner import (
    Owner,
    owner_labels,
    with_owner_reference,
)
from asoreconcile.base.objects import JsonObject


@attrs.frozen
class ClaimFacts:
    """The facts about an object that can be claimed.

    name, arm_id: the resource's. name_is_from_config: the name comes from a ConfigMap.
    finalizers, owner_references: the object's. credential: the Secret of the credential
    in use. build: the operator's version.
    """

    name: str
    arm_id: str
    name_is_from_config: bool
    generation: int
    finalizers: Sequence[str]
    owner_references: Sequence[JsonObject]
    owner: Owner | None
    credential: str
    build: str


def claimed(facts: ClaimFacts) -> Decision:
    """Write finalizer, ARM id and owner, and end this reconcile (R1.4)."""
    return _written(*_claim(facts, {}))


def marked(facts: ClaimFacts | None, *, operator_namespace: str) -> Decision:
    """Write which operator owns the object, together with its claim if that is possible
    (R1.3). facts: None for an object that cannot be claimed yet or is claimed already.
    """
    ours = {OPERATOR_NAMESPACE: operator_namespace}
    if facts is None:
        return _written(PatchSharedMetadata({"annotations": ours}))
    return _written(*_claim(facts, ours))


def restored_id(arm_id: str) -> Decision:
    """Write the ARM id again after someone removed it (D10)."""
    log = Log("warning", "Writing the lost resource-id anew", arm_id=arm_id)
    return _written(log, PatchMetadata({RESOURCE_ID: arm_id}))


def restored_owner(
    labels: Mapping[str, str],
    owner_references: Sequence[JsonObject],
    owner: Owner | None,
) -> Decision | None:
    """Refresh the owner reference if another object has got the owner's name since the
    claim; None if it is up to date.

    The label written at the claim decides: a reference that a user removed is not added
    again.
    """
    named = labels.get(OWNER_UID)
    wanted = owner_labels(owner)
    if not named or not wanted or named == wanted[OWNER_UID]:
        return None
    log = Log("info", "Naming the new owner", wanted[OWNER_UID])
    references = with_owner_reference([*owner_references], owner)
    return _written(
        log, PatchSharedMetadata({"labels": wanted, "ownerReferences": references})
    )


def _claim(facts: ClaimFacts, ours: Mapping[str, str]) -> tuple[Effect, ...]:
    noted = {
        **ours,
        RESOURCE_ID: facts.arm_id,
        LATEST_RECONCILED_GENERATION: str(facts.generation),
    }
    # Remember the name: the ConfigMap may contain another one when a lost resource-id
    # annotation is written again.
    if facts.name_is_from_config:
        noted[AZURE_NAME_FROM_CONFIG] = facts.name
    labels = {
        **owner_labels(facts.owner),
        LAST_RECONCILED_VERSION: label_value(facts.build),
    }
    references = with_owner_reference([*facts.owner_references], facts.owner)
    meta = {
        # A merge patch replaces lists: write the whole list, on the resource version.
        "finalizers": [*facts.finalizers, FINALIZER],
        "annotations": noted,
        "labels": labels,
        **({"ownerReferences": references} if references else {}),
    }
    return (
        Log("info", "Claiming", arm_id=facts.arm_id),
        PatchSharedMetadata(meta),
        UpdateMemory(credential=facts.credential),
        uses_credential(facts.credential),
    )


def uses_credential(source: str) -> EmitEvent:
    """The event that names the credential in use. source: its Secret."""
    return EmitEvent("Normal", "CredentialFrom", f'Using credential from "{source}"')


def _written(*effects: Effect) -> Decision:
    """Such a write must be stored before any request to Azure, so it ends the
    reconcile. The next one starts at once from the written object.
    """
    return Decision(
        (*effects, RecordOwnWrite()), Requeue(0.0, priority=IN_PROGRESS_PRIORITY)
    )
