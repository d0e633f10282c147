"""From Azure's answers to specs: what is taken, what is spelled otherwise, what not."""

from pathlib import Path

import pytest

from asoreconcile.azure.catalogue.arm_to_spec import to_spec
from asoreconcile.azure.catalogue.manifests import read_manifests
from asoreconcile.azure.catalogue.payload import to_arm
from asoreconcile.azure.catalogue.render import render
from asoreconcile.azure.catalogue.resolution import Answers
from asoreconcile.azure.catalogue.validation import problems
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base.objects import GroupKind, GroupVersionKind, gvk_of

SAMPLES = Path(__file__).resolve().parents[4] / "deploy" / "samples"
SUBSCRIPTION = "00000000-0000-0000-0000-000000000000"
NETWORK = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg/providers/Microsoft.Network"


class OnlyIds:
    """A spec made of Azure's answer names no object, and Secrets alone by name."""

    def reference(self, reference):
        raise AssertionError(reference)

    def config_map(self, reference):
        raise AssertionError(reference)

    def secret(self, reference):
        return "***"

    def secret_map(self, reference):
        return "***"


def version(kind, name=""):
    group, _, kind = kind.partition("/")
    found = builtin().kind(GroupKind(group, kind))
    return builtin().version(GroupVersionKind(group, name or found.storage, kind))


def spec_of(kind, body, **options):
    return to_spec(version(kind), body, name="n", secret_name="s", **options)


def test_what_the_samples_send_comes_back_as_specs_that_send_the_same():
    manifests = [
        m for m in read_manifests([SAMPLES]) if gvk_of(m.obj).group != "entra.azure.com"
    ]
    principal = "11111111-1111-1111-1111-111111111111"
    answers = Answers(config_maps={"shop-identity/principal-id": principal})
    rendered = render(
        builtin(), manifests, answers=answers, subscription_id=SUBSCRIPTION
    )
    kinds = [m.obj for m in manifests if gvk_of(m.obj).group.endswith("azure.com")]
    assert len(kinds) == len(rendered.requests) > 15
    for obj, request in zip(kinds, rendered.requests, strict=True):
        of = builtin().version(gvk_of(obj))
        name = request.path.rpartition("/")[2]
        mapped = to_spec(of, request.body, name=name, secret_name="s")
        assert to_arm(of, mapped.spec, name=name, inputs=OnlyIds()) == request.body
        owned = {**mapped.spec, "owner": {"name": "o", "group": "g", "kind": "k"}}
        named = {"metadata": {"name": "n"}, "spec": owned}
        found = [p for p in problems(of, named) if not p.path.startswith("spec.owner")]
        assert found == []


def test_what_only_azure_writes_is_not_in_the_spec():
    body = {
        "id": f"{NETWORK}/virtualNetworks/n",
        "etag": "x",
        "location": "westeurope",
        "properties": {
            "provisioningState": "Succeeded",
            "addressSpace": {"addressPrefixes": ["10.0.0.0/16"]},
            "subnets": [{"id": "/x", "name": "web"}],
        },
    }
    mapped = spec_of("network.azure.com/VirtualNetwork", body)
    assert mapped.spec == {
        "azureName": "n",
        "location": "westeurope",
        "addressSpace": {"addressPrefixes": ["10.0.0.0/16"]},
    }
    assert mapped.left_out == ()


def test_values_that_azure_fills_in_are_kept_where_the_author_chose_it():
    identities = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg/providers"
    own = f"{identities}/Microsoft.ManagedIdentity/userAssignedIdentities/kubelet"
    kubelet = {"resourceId": own, "clientId": "x", "objectId": "y"}
    cluster = {
        "nodeResourceGroup": "MC_rg",
        "identityProfile": {"kubeletidentity": kubelet},
        "servicePrincipalProfile": {"clientId": "00000000-aaaa"},
    }
    kind = "containerservice.azure.com/ManagedCluster"
    spec = spec_of(kind, {"properties": cluster}).spec
    reference = {"resourceReference": {"armId": own}}
    assert spec["identityProfile"] == {"kubeletidentity": reference}
    assert "servicePrincipalProfile" in spec
    kubelet["resourceId"] = own.replace("/rg/", "/mc_rg/")
    assert "identityProfile" not in spec_of(kind, {"properties": cluster}).spec
    hosts = [{"name": "a", "sslState": state} for state in ("Disabled", "SniEnabled")]
    site = {"properties": {"hostNameSslStates": hosts}}
    assert "hostNameSslStates" in spec_of("web.azure.com/Site", site).spec


def test_enums_and_names_are_spelled_as_the_schema_has_them():
    body = {"kind": "storagev2", "sku": {"Name": "standard_lrs"}, "location": "x"}
    spec = spec_of("storage.azure.com/StorageAccount", body).spec
    assert (spec["kind"], spec["sku"]) == ("StorageV2", {"name": "Standard_LRS"})


@pytest.mark.parametrize("value", ["NoSuchKind", 7, ["StorageV2"]])
def test_a_value_that_the_version_cannot_hold_is_left_out_and_said(value):
    mapped = spec_of("storage.azure.com/StorageAccount", {"kind": value})
    assert "kind" not in mapped.spec
    assert "spec.kind: has a value that this version cannot hold" in map(
        str, mapped.left_out
    )
    assert "NoSuchKind" not in str(mapped.left_out)


def test_ids_become_references_by_whoever_knows_them():
    group = f"{NETWORK}/networkSecurityGroups/web"
    body = {"properties": {"networkSecurityGroup": {"id": group}}}
    kind = "network.azure.com/VirtualNetworksSubnet"
    assert spec_of(kind, body).spec["networkSecurityGroup"] == {
        "reference": {"armId": group}
    }
    named = spec_of(kind, body, reference=lambda arm_id: {"name": arm_id[-3:]}).spec
    assert named["networkSecurityGroup"] == {"reference": {"name": "web"}}


@pytest.mark.parametrize("bad", ["web", "", 7, "/subscriptions/x/../y"])
def test_what_is_no_id_is_left_out(bad):
    body = {"properties": {"networkSecurityGroup": {"id": bad}}}
    mapped = spec_of("network.azure.com/VirtualNetworksSubnet", body)
    assert "reference" not in mapped.spec.get("networkSecurityGroup", {})


def test_identities_become_a_list_and_a_role_its_id():
    one = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.ManagedIdentity"
    one += "/userAssignedIdentities/app"
    body = {
        "identity": {
            "type": "UserAssigned",
            "userAssignedIdentities": {one: {"principalId": "p", "clientId": "c"}},
        }
    }
    spec = spec_of("storage.azure.com/StorageAccount", body).spec
    assert spec["identity"] == {
        "type": "UserAssigned",
        "userAssignedIdentities": [{"reference": {"armId": one}}],
    }


def test_a_required_secret_is_named_and_what_belongs_into_it_is_said():
    mapped = spec_of(
        "documentdb.azure.com/MongodbUserDefinition",
        {"properties": {"userName": "u", "databaseName": "d"}},
    )
    required = version("documentdb.azure.com/MongodbUserDefinition").spec_schema
    if "password" in required["required"]:
        assert mapped.spec["password"] == {"name": "s", "key": "password"}
        assert "put its value into Secret s, key password" in str(mapped.left_out[0])


def test_a_secret_that_may_be_set_is_said_and_not_made_up():
    body = {"location": "westeurope", "properties": {"version": "16"}}
    mapped = spec_of("dbforpostgresql.azure.com/FlexibleServer", body)
    assert "administratorLoginPassword" not in mapped.spec
    (found,) = [
        str(one) for one in mapped.left_out if "administratorLoginPassword" in one.path
    ]
    assert found == (
        "spec.administratorLoginPassword: Azure does not show whether it is set; name a "
        "Secret if the operator is to write it"
    )


def test_a_value_of_a_secret_that_azure_shows_is_not_written():
    body = {"properties": {"administratorLoginPassword": "hunter2"}}
    mapped = spec_of("dbforpostgresql.azure.com/FlexibleServer", body)
    assert mapped.spec["administratorLoginPassword"]["name"] == "s"
    assert "hunter2" not in str(mapped)


def test_a_union_is_the_leaf_that_the_body_says():
    body = {
        "properties": {
            "filterType": "SqlFilter",
            "sqlFilter": {"sqlExpression": "1=1"},
        }
    }
    kind = "servicebus.azure.com/NamespacesTopicsSubscriptionsRule"
    assert spec_of(kind, body).spec["sqlFilter"] == {"sqlExpression": "1=1"}
    policy = {
        "properties": {"objectType": "BackupPolicy", "datasourceTypes": ["x"]},
    }
    vault = "dataprotection.azure.com/BackupVaultsBackupPolicy"
    assert "backupPolicy" in spec_of(vault, policy).spec["properties"]
    unknown = {"properties": {"objectType": "Other"}}
    mapped = spec_of(vault, unknown)
    assert "is none of" in str(mapped.left_out)


def test_any_json_is_mapped_to_something_the_schema_takes_or_left_out():
    bodies = ({}, {"properties": []}, {"properties": {"x": {"y": [None, 1]}}})
    for kind in (k for k in builtin().kinds() if k.is_arm):
        for body in bodies:
            assert problems_of(kind.version(), body) == [], kind


def problems_of(of, body):
    """What is wrong with the spec beside what a person has to add."""
    mapped = to_spec(of, body, name="n", secret_name="s")
    return [
        problem
        for problem in problems(of, {"metadata": {"name": "n"}, "spec": mapped.spec})
        if "is required" not in problem.message
        and "set one of" not in problem.message
        and not problem.path.startswith(("spec.owner", "spec.azureName"))
    ]
