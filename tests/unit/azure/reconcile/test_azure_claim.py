"""Making an object ours, as a table over facts."""

import attrs
import pytest

from asoreconcile.azure.reconcile.identity.claim import (
    ClaimFacts,
    claimed,
    marked,
    restored_id,
    restored_owner,
)
from asoreconcile.azure.reconcile.model.annotations import (
    AZURE_NAME_FROM_CONFIG,
    FINALIZER,
    LAST_RECONCILED_VERSION,
    LATEST_RECONCILED_GENERATION,
    OPERATOR_NAMESPACE,
    OWNER_UID,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.decisions import (
    IN_PROGRESS_PRIORITY,
    Decision,
    EmitEvent,
    Log,
    PatchMetadata,
    PatchSharedMetadata,
    RecordOwnWrite,
    Requeue,
    UpdateMemory,
)
from asoreconcile.azure.reconcile.model.owner import Owner, owner_labels
from asoreconcile.base.objects import GroupKind

ID = "/subscriptions/s/resourceGroups/rg"
OWNER = Owner(
    ID,
    {
        "apiVersion": "resources.azure.com/v1api20200601",
        "kind": "ResourceGroup",
        "metadata": {"name": "rg", "namespace": "ns", "uid": "u-2"},
    },
    GroupKind("resources.azure.com", "ResourceGroup"),
)
REFERENCE = {
    "apiVersion": "resources.azure.com/v1api20200601",
    "kind": "ResourceGroup",
    "name": "rg",
    "uid": "u-2",
}
THEIRS = {"apiVersion": "v1", "kind": "ConfigMap", "name": "release", "uid": "u-9"}
FACTS = ClaimFacts(
    name="vnet",
    arm_id=ID,
    name_is_from_config=False,
    generation=7,
    finalizers=["theirs"],
    owner_references=[THEIRS],
    owner=OWNER,
    credential="ns/aso",
    build="v1+local",
)
AGAIN = Requeue(0.0, priority=IN_PROGRESS_PRIORITY)


def test_r1_4_a_claim_is_one_write_and_the_end_of_its_reconcile():
    assert claimed(FACTS) == Decision(
        (
            Log("info", "Claiming", arm_id=ID),
            PatchSharedMetadata(
                {
                    "finalizers": ["theirs", FINALIZER],
                    "annotations": {
                        RESOURCE_ID: ID,
                        LATEST_RECONCILED_GENERATION: "7",
                    },
                    "labels": {
                        **owner_labels(OWNER),
                        LAST_RECONCILED_VERSION: "v1-local",
                    },
                    "ownerReferences": [THEIRS, REFERENCE],
                }
            ),
            UpdateMemory(credential="ns/aso"),
            EmitEvent("Normal", "CredentialFrom", 'Using credential from "ns/aso"'),
            RecordOwnWrite(),
        ),
        AGAIN,
    )


def shared(decision):
    (one,) = [
        effect for effect in decision.effects if isinstance(effect, PatchSharedMetadata)
    ]
    return one.metadata


def test_what_has_no_owner_names_none():
    meta = shared(claimed(attrs.evolve(FACTS, owner=None, owner_references=[])))
    assert "ownerReferences" not in meta
    assert meta["labels"] == {LAST_RECONCILED_VERSION: "v1-local"}


def test_a_name_from_a_config_map_is_kept():
    meta = shared(claimed(attrs.evolve(FACTS, name_is_from_config=True)))
    assert meta["annotations"][AZURE_NAME_FROM_CONFIG] == "vnet"


def test_r1_3_the_mark_goes_with_the_claim_or_alone():
    ours = {OPERATOR_NAMESPACE: "ops"}
    both = shared(marked(FACTS, operator_namespace="ops"))
    alone = shared(claimed(FACTS))
    assert both == {**alone, "annotations": {**ours, **alone["annotations"]}}
    mark = PatchSharedMetadata({"annotations": ours})
    expected = Decision((mark, RecordOwnWrite()), AGAIN)
    assert marked(None, operator_namespace="ops") == expected


def test_d10_a_lost_id_is_written_before_azure_is_asked():
    log, record, _ = restored_id(ID).effects
    assert log.level == "warning"
    assert record == PatchMetadata({RESOURCE_ID: ID})
    assert restored_id(ID).then == AGAIN


@pytest.mark.parametrize(
    ("labels", "owner", "writes"),
    [
        ({OWNER_UID: "u-1"}, OWNER, True),  # made again
        ({OWNER_UID: "u-2"}, OWNER, False),
        ({OWNER_UID: "u-1"}, None, False),
        ({OWNER_UID: "u-1"}, Owner(ID), False),  # by ARM id
        ({}, OWNER, False),  # taken away by somebody: stays away
    ],
)
def test_an_owner_made_again_is_named_again(labels, owner, writes):
    decided = restored_owner(labels, [THEIRS, {**REFERENCE, "uid": "u-1"}], owner)
    assert (decided is not None) == writes
    if decided is not None:
        assert shared(decided) == {
            "labels": owner_labels(OWNER),
            "ownerReferences": [THEIRS, REFERENCE],
        }
        assert decided.then == AGAIN
