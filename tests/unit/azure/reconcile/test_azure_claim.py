"""Making an object ours, as a table over facts."""

import attrs
import pytest

from asoreconcile.azure.reconcile.identity.claim import (
    ClaimFacts,
    claim_metadata,
    renamed_owner,
)
from asoreconcile.azure.reconcile.model.annotations import (
    AZURE_NAME_FROM_CONFIG,
    FINALIZER,
    LAST_RECONCILED_VERSION,
    LATEST_RECONCILED_GENERATION,
    OPERATOR_NAMESPACE,
    OWNER_GROUP_KIND,
    OWNER_NAME,
    OWNER_UID,
    RESOURCE_ID,
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
OBJ = {
    "metadata": {
        "generation": 7,
        "finalizers": ["theirs"],
        "ownerReferences": [THEIRS],
    },
    "spec": {},
}
FACTS = ClaimFacts(OBJ, OWNER, "v1+local", name="vnet", arm_id=ID, credential="ns/aso")


def test_r1_4_a_claim_is_one_write():
    assert claim_metadata(FACTS, {}) == {
        "finalizers": ["theirs", FINALIZER],
        "annotations": {RESOURCE_ID: ID, LATEST_RECONCILED_GENERATION: "7"},
        "labels": {**owner_labels(OWNER), LAST_RECONCILED_VERSION: "v1-local"},
        "ownerReferences": [THEIRS, REFERENCE],
    }


def test_what_has_no_owner_names_none():
    facts = ClaimFacts({}, None, "v1+local", arm_id=ID)
    meta = claim_metadata(facts, {})
    assert "ownerReferences" not in meta
    assert meta["labels"] == {LAST_RECONCILED_VERSION: "v1-local"}


def test_a_kind_without_arm_is_claimed_for_no_resource():
    facts = attrs.evolve(FACTS, name="", arm_id="", credential="")
    meta = claim_metadata(facts, {OPERATOR_NAMESPACE: "ops"})
    assert meta["annotations"] == {OPERATOR_NAMESPACE: "ops"}


def test_a_name_from_a_config_map_is_kept():
    obj = {**OBJ, "spec": {"azureNameFromConfig": {"name": "names", "key": "a"}}}
    facts = attrs.evolve(FACTS, obj=obj)
    assert claim_metadata(facts, {})["annotations"][AZURE_NAME_FROM_CONFIG] == "vnet"


def test_r1_3_the_mark_goes_with_the_claim():
    ours = {OPERATOR_NAMESPACE: "ops"}
    alone = claim_metadata(FACTS, {})
    both = claim_metadata(FACTS, ours)
    assert both == {**alone, "annotations": {**ours, **alone["annotations"]}}


FORMER = dict.fromkeys((OWNER_NAME, OWNER_GROUP_KIND, OWNER_UID))
BY_NAME = {"labels": owner_labels(OWNER), "ownerReferences": [THEIRS, REFERENCE]}
BY_ID = {"labels": FORMER, "ownerReferences": [THEIRS]}


@pytest.mark.parametrize(
    ("labels", "owner", "named"),
    [
        ({OWNER_UID: "u-1"}, OWNER, BY_NAME),  # another one, or made again
        ({OWNER_UID: "u-2"}, OWNER, None),
        ({OWNER_UID: "u-1"}, Owner(ID), BY_ID),
        ({}, OWNER, None),  # taken away by somebody: stays away
    ],
)
def test_another_owner_is_named_in_place_of_the_former_one(labels, owner, named):
    meta = renamed_owner(labels, [THEIRS, {**REFERENCE, "uid": "u-1"}], owner)
    assert meta == named
