"""Owners: found by kind and name or by ARM id, waited for, written down."""

import pytest

from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.reconcile.model.annotations import (
    CHILD_ID_OVERRIDE,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.owner import (
    Owner,
    owner_labels,
    require_ready,
    resolve_owner,
    with_owner_reference,
)
from asoreconcile.base.objects import GroupKind, GroupVersionKind, ObjectKey

GROUP = GroupKind("resources.azure.com", "ResourceGroup")
NETWORK = builtin().version(
    GroupVersionKind("network.azure.com", "v1api20240301", "VirtualNetwork")
)
ASSIGNMENT = builtin().version(
    GroupVersionKind("authorization.azure.com", "v1api20220401", "RoleAssignment")
)
GROUP_VERSION = builtin().version(
    GroupVersionKind("resources.azure.com", "v1api20200601", "ResourceGroup")
)
GROUP_ID = "/subscriptions/s/resourceGroups/rg"


class Objects:
    def __init__(self, objects=(), installed=(GROUP,)):
        self.objects = dict(objects)
        self.installed = set(installed)

    def get(self, group_kind, key):
        return self.objects.get((group_kind, key))

    def is_installed(self, group_kind):
        return group_kind in self.installed


def group(*, ready="True", **annotations):
    return {
        "apiVersion": "resources.azure.com/v1api20200601",
        "kind": "ResourceGroup",
        "metadata": {
            "name": "rg",
            "namespace": "n",
            "uid": "u1",
            "annotations": annotations,
        },
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    }


def network(owner):
    return {"metadata": {"name": "vn", "namespace": "n"}, "spec": {"owner": owner}}


def known(obj):
    return Objects({(GROUP, ObjectKey("n", "rg")): obj})


def test_owner_by_name_is_found_by_kind_in_the_same_namespace():
    obj = group(**{RESOURCE_ID: GROUP_ID})
    owner = resolve_owner(NETWORK, network({"name": "rg"}), known(obj))
    assert owner == Owner(GROUP_ID, obj, GROUP)


ELSEWHERE = Objects({(GROUP, ObjectKey("other", "rg")): group()})
BY_NAME = {"name": "rg"}


@pytest.mark.parametrize(
    ("version", "owner", "objects", "said"),
    [
        (NETWORK, BY_NAME, ELSEWHERE, "does not exist in this namespace"),
        (NETWORK, BY_NAME, Objects(installed=()), "not installed"),
        (NETWORK, BY_NAME, known(group(ready="False")), "not Ready yet: it is waited"),
        (NETWORK, BY_NAME, known(group()), "no Azure resource id yet"),
        (NETWORK, {"name": GROUP_ID}, Objects(), r"spec\.owner\.armId"),
        (NETWORK, None, Objects(), r"spec\.owner is missing"),
        (ASSIGNMENT, BY_NAME, Objects(), r"spec\.owner"),
    ],
)
def test_an_owner_that_cannot_be_used_yet_is_told(version, owner, objects, said):
    with pytest.raises(ConditionError, match=said) as caught:
        resolve_owner(version, network(owner), objects)
    if version is ASSIGNMENT:
        assert caught.value.severity == "Error"


def test_r1_6_missing_owner_is_reference_not_found_fast():
    with pytest.raises(ConditionError) as caught:
        resolve_owner(NETWORK, network(BY_NAME), Objects())
    assert caught.value.reason == "ReferenceNotFound"
    assert caught.value.retry is RetryClass.FAST


def test_owner_by_arm_id_needs_no_object():
    obj = network({"armId": GROUP_ID + "/"})
    assert resolve_owner(NETWORK, obj, Objects()) == Owner(GROUP_ID)


def test_extension_names_group_and_kind_itself():
    reference = {"group": GROUP.group, "kind": GROUP.kind, "name": "rg"}
    owner = resolve_owner(
        ASSIGNMENT, network(reference), known(group(**{RESOURCE_ID: GROUP_ID}))
    )
    assert owner is not None
    assert owner.arm_id == GROUP_ID


def test_resource_group_has_no_owner():
    assert resolve_owner(GROUP_VERSION, {"spec": {}}, Objects()) is None


def test_override_annotation_replaces_the_base_of_child_ids():
    obj = group(**{RESOURCE_ID: GROUP_ID, CHILD_ID_OVERRIDE: "/subscriptions/x"})
    owner = resolve_owner(NETWORK, network({"name": "rg"}), known(obj))
    assert owner is not None
    assert owner.arm_id == "/subscriptions/x"


def test_r1_5_claim_waits_for_a_ready_owner():
    with pytest.raises(ConditionError) as caught:
        require_ready(Owner(GROUP_ID, group(ready="False"), GROUP))
    assert caught.value.reason == "WaitingForOwner"
    require_ready(Owner(GROUP_ID, group(), GROUP))
    require_ready(Owner(GROUP_ID))
    require_ready(None)


def test_r2_3_labels_only_for_owners_by_name():
    assert owner_labels(Owner(GROUP_ID)) == {}
    labels = owner_labels(Owner(GROUP_ID, group(), GROUP))
    assert labels == {
        "serviceoperator.azure.com/owner-name": "rg",
        "serviceoperator.azure.com/owner-group-kind": (
            "ResourceGroup.resources.azure.com"
        ),
        "serviceoperator.azure.com/owner-uid": "u1",
    }


def test_owner_reference_replaces_the_one_of_an_earlier_uid():
    stale = {
        "apiVersion": "resources.azure.com/v1api20200601storage",
        "kind": "ResourceGroup",
        "name": "rg",
        "uid": "u0",
    }
    other = {"apiVersion": "v1", "kind": "ConfigMap", "name": "rg", "uid": "c"}
    found = with_owner_reference([stale, other], Owner(GROUP_ID, group(), GROUP))
    assert found == [
        {
            "apiVersion": "resources.azure.com/v1api20200601",
            "kind": "ResourceGroup",
            "name": "rg",
            "uid": "u1",
        },
        other,
    ]
    assert stale["uid"] == "u0"  # what was read is as it was read
