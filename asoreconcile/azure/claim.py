"""Making an object ours before anything is asked of Azure. Pure.

One write, and the end of its reconcile: whose the object is, the finalizer, the ARM id,
the owner's labels and reference. It rests on the resource version, so that of two
operators only one may win it. It is stored before any PUT (R1.4), so whatever dies
afterwards leaves an object whose deletion still reaches Azure. What the spec needs must
be there: a missing owner, reference, Secret or ConfigMap means no finalizer yet.
"""

from collections.abc import Mapping, Sequence

import attrs

from asoreconcile.azure.annotations import (
    AZURE_NAME_FROM_CONFIG,
    FINALIZER,
    LAST_RECONCILED_VERSION,
    LATEST_RECONCILED_GENERATION,
    OPERATOR_NAMESPACE,
    OWNER_UID,
    RESOURCE_ID,
    label_value,
)
from asoreconcile.azure.decisions import (
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
from asoreconcile.azure.owner import Owner, owner_labels, with_owner_reference
from asoreconcile.objects import JsonObject


@attrs.frozen
class ClaimFacts:
    """What is known of an object that can be claimed.

    name, arm_id: the resource's. name_is_from_config: the name is a ConfigMap's.
    finalizers, owner_references: the object's. credential: the Secret of the one in
    use. build: the operator's.
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
    """One write of finalizer, ARM id and owner, and the end of this reconcile
    (R1.4).
    """
    return _written(*_claim(facts, {}))


def marked(facts: ClaimFacts | None, *, operator_namespace: str) -> Decision:
    """Write whose the object is, in one write with its claim where one is due and can
    be made (R1.3). facts: None for an object that cannot be claimed yet, or is.
    """
    ours = {OPERATOR_NAMESPACE: operator_namespace}
    if facts is None:
        return _written(PatchSharedMetadata({"annotations": ours}))
    return _written(*_claim(facts, ours))


def restored_id(arm_id: str) -> Decision:
    """Write the ARM id again, which someone removed after the claim (D10)."""
    log = Log("warning", "Writing the lost resource-id anew", arm_id=arm_id)
    return _written(log, PatchMetadata({RESOURCE_ID: arm_id}))


def restored_owner(
    labels: Mapping[str, str],
    owner_references: Sequence[JsonObject],
    owner: Owner | None,
) -> Decision | None:
    """Name the owner again when another object has its name since the claim; None where
    it is named.

    The label of the claim is the record: a reference that a user took away stays away.
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
    # The ConfigMap may say another name by the time that a lost resource-id is
    # written anew: it has to be this one again.
    if facts.name_is_from_config:
        noted[AZURE_NAME_FROM_CONFIG] = facts.name
    labels = {
        **owner_labels(facts.owner),
        LAST_RECONCILED_VERSION: label_value(facts.build),
    }
    references = with_owner_reference([*facts.owner_references], facts.owner)
    meta = {
        # A merge patch replaces lists: all of it, on the resource version.
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
    """What must be stored before Azure is asked ends its reconcile; the next one begins
    at once, from what was written just now.
    """
    return Decision(
        (*effects, RecordOwnWrite()), Requeue(0.0, priority=IN_PROGRESS_PRIORITY)
    )
