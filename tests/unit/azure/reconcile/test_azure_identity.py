"""Which resource an object stands for, as tables of facts. Rules: R10.1, R10.3."""

from types import SimpleNamespace

import pytest

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.reconcile.identity.identity import (
    configured_name,
    name_of_other,
    resource_identity,
    stated_name,
)
from asoreconcile.azure.reconcile.model.annotations import (
    AZURE_NAME_FROM_CONFIG,
    RESOURCE_ID,
)
from asoreconcile.base.objects import GroupKind

SUBSCRIPTION = "00000000-0000-0000-0000-000000000001"
GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg"
NETWORKS = f"{GROUP}/providers/Microsoft.Network/virtualNetworks"
ROLE = f"{GROUP}/providers/Microsoft.Authorization/roleAssignments/drawn"
CONFIG = {"azureNameFromConfig": {"name": "names", "key": "vnet"}}


def version(group, kind):
    found = builtin().kind(GroupKind(group, kind))
    return found.version(found.storage)


VNET = version("network.azure.com", "VirtualNetwork")
ASSIGNMENT = version("authorization.azure.com", "RoleAssignment")


def obj(spec=None, *, claimed="", noted=""):
    notes = {RESOURCE_ID: claimed, AZURE_NAME_FROM_CONFIG: noted}
    meta = {"name": "mine", "namespace": "default", "annotations": notes}
    return {"metadata": meta, "spec": spec or {}, "status": {}}


def facts(spec=None, *, claimed="", noted="", of=VNET, may_move=False):
    return of, obj(spec, claimed=claimed, noted=noted), may_move


def named(given):
    version, stated, may_move = given
    return stated_name(version, stated, may_move=may_move)


def configured(name):
    return configured_name(obj(CONFIG), SimpleNamespace(config_map=lambda _: name))


def identity(claimed, **given):
    return resource_identity(
        VNET,
        "mine",
        claimed,
        **{"owner_id": GROUP, "subscription_id": SUBSCRIPTION, **given},
    )


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (facts(), "mine"),
        (facts({"azureName": "theirs"}), "theirs"),
        # What the spec says counts, also against a claim: `resource_identity` refuses.
        (facts({"azureName": "theirs"}, claimed=f"{NETWORKS}/old"), "theirs"),
        (facts(CONFIG), None),
        (facts(CONFIG, noted="as-noted"), "as-noted"),
        (facts(CONFIG, claimed=f"{NETWORKS}/old", noted="as-noted"), "old"),
        (facts({**CONFIG, "azureName": "theirs"}), "theirs"),
        (facts(of=ASSIGNMENT, claimed=ROLE), "drawn"),
        # While nothing was accepted a corrected ConfigMap counts; what was drawn stays.
        (facts(CONFIG, claimed=f"{NETWORKS}/old", may_move=True), None),
        (facts(of=ASSIGNMENT, claimed=ROLE, may_move=True), "drawn"),
    ],
)
def test_where_the_name_comes_from(given, name):
    assert named(given) == name


@pytest.mark.parametrize("name", ["a/b", ".."])
def test_a_name_is_one_segment_wherever_it_comes_from(name):
    for find in (
        lambda: named(facts({"azureName": name})),
        lambda: named(facts(CONFIG, noted=name)),
        lambda: configured(name),
    ):
        with pytest.raises(ConditionError, match="no resource can be called") as caught:
            find()
        assert (caught.value.reason, caught.value.severity) == ("Failed", "Error")


def test_an_empty_name_of_a_config_map_names_the_key_to_fill():
    with pytest.raises(ConditionError, match=r"'names'.*fill key 'vnet'"):
        configured("")


@pytest.mark.parametrize(
    ("claimed", "found"),
    [
        ("", f"{NETWORKS}/mine"),
        (f"{NETWORKS}/mine", f"{NETWORKS}/mine"),
        # As it was claimed, so that the annotation does not flap.
        (f"{NETWORKS}/MINE", f"{NETWORKS}/MINE"),
    ],
)
def test_r10_1_the_id_is_as_it_was_claimed(claimed, found):
    made = identity(claimed)
    assert (made.name, made.arm_id) == ("mine", found)


@pytest.mark.parametrize(
    ("claimed", "found"),
    [
        (f"{NETWORKS}/MINE", f"{NETWORKS}/MINE"),
        (f"{NETWORKS}/typo", f"{NETWORKS}/mine"),
    ],
)
def test_while_azure_has_accepted_nothing_the_spec_may_name_another(claimed, found):
    assert identity(claimed, may_move=True).arm_id == found


@pytest.mark.parametrize(
    ("claimed", "said"),
    [(f"{NETWORKS}/other", "change it back"), ("nonsense", "is no ARM id")],
)
def test_r10_1_another_id_than_the_claimed_one_is_refused(claimed, said):
    with pytest.raises(ConditionError, match=said):
        identity(claimed)


@pytest.mark.parametrize(
    ("of", "spec", "claimed", "name"),
    [
        (VNET, {}, "", "mine"),
        (VNET, {}, f"{NETWORKS}/other", "mine"),
        (VNET, CONFIG, "", ""),
        (VNET, CONFIG, f"{NETWORKS}/other", "other"),
        (ASSIGNMENT, {}, ROLE, "drawn"),
        (ASSIGNMENT, {"azureName": "given"}, ROLE, "given"),
    ],
)
def test_the_name_of_another_object_is_told_without_a_read(of, spec, claimed, name):
    assert name_of_other(of, obj(spec, claimed=claimed), claimed) == name
