"""Making an object ours, as a table over facts."""

import pytest

from asoreconcile.azure.reconcile.identity.claim import claim_metadata
from asoreconcile.azure.reconcile.identity.identity import ResourceIdentity
from asoreconcile.azure.reconcile.identity.owner_change import renamed_owner
from asoreconcile.azure.reconcile.model.annotations import (
    AZURE_NAME_FROM_CONFIG,
    CLAIM,
    FINALIZER,
    LAST_RECONCILED_VERSION,
    LATEST_RECONCILED_GENERATION,
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
VNET = ResourceIdentity("vnet", ID)


def claimed(obj=OBJ, owner=OWNER, identity=VNET):
    return claim_metadata(
        obj, owner, {}, build="v1+local", identity=identity, claim={CLAIM: "open"}
    )


def test_r1_4_a_claim_is_one_write():
    assert claimed() == {
        "finalizers": ["theirs", FINALIZER],
        "annotations": {
            RESOURCE_ID: ID,
            LATEST_RECONCILED_GENERATION: "7",
            CLAIM: "open",
        },
        "labels": {**owner_labels(OWNER), LAST_RECONCILED_VERSION: "v1-local"},
        "ownerReferences": [THEIRS, REFERENCE],
    }


def test_what_has_no_owner_names_none():
    meta = claimed({}, None)
    assert "ownerReferences" not in meta
    assert meta["labels"] == {LAST_RECONCILED_VERSION: "v1-local"}


def test_a_kind_without_arm_is_claimed_for_no_resource():
    assert claimed(identity=None)["annotations"] == {}


def test_a_name_from_a_config_map_is_kept():
    obj = {**OBJ, "spec": {"azureNameFromConfig": {"name": "names", "key": "a"}}}
    assert claimed(obj)["annotations"][AZURE_NAME_FROM_CONFIG] == "vnet"


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
