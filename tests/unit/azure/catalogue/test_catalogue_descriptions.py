"""What `kubectl explain` says: of every kind, of every field, and no more than fits."""

import orjson
import pytest

from asoreconcile.azure.catalogue.crd import crd
from asoreconcile.azure.catalogue.descriptions import explained_version
from asoreconcile.azure.catalogue.webhook_manifests import WebhookClient
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base.objects import GroupKind

# The annotation of `kubectl apply` on the client's side; etcd takes 1.5 MB.
LARGEST_ANNOTATIONS = 262_144 - 1_000
# A fifth of what Azure Service Operator's CRDs have.
ALL_BYTES = 52_000_000 / 5
CLIENT = WebhookClient(namespace="azureserviceoperator-system", name="webhooks")


@pytest.fixture(scope="module")
def complete():
    """Each kind's CRD with all that there is."""
    kinds = [kind for kind in builtin().kinds() if kind.is_arm]
    return {
        kind: crd(kind, versions=kind.versions, conversion=CLIENT, rules=True)
        for kind in kinds
    }


def without_description(schema, path):
    """Paths of the fields that nothing is said of."""
    for name, child in schema.get("properties", {}).items():
        if not child.get("description"):
            yield f"{path}.{name}"
        yield from without_description(child, f"{path}.{name}")
    for keyword in ("items", "additionalProperties"):
        if isinstance(inner := schema.get(keyword), dict):
            yield from without_description(inner, f"{path}[]")


def explained(group, kind, path, version=""):
    """What is said of a field, as `kubectl explain` finds it."""
    known = builtin().kind(GroupKind(group, kind))
    (made,) = crd(known, versions=[version] if version else [])["spec"]["versions"]
    schema = made["schema"]["openAPIV3Schema"]
    for step in filter(None, path.split(".")):
        while inner := schema.get("items"):
            schema = inner
        schema = schema["properties"][step]
    return schema["description"]


def test_every_field_of_the_version_that_is_explained_has_one(complete):
    silent = []
    for kind, document in complete.items():
        shown = explained_version(kind.versions)
        for version in document["spec"]["versions"]:
            schema = version["schema"]["openAPIV3Schema"]
            if version["name"].endswith("storage"):
                continue
            assert kind.version(version["name"]).arm_type in schema["description"]
            if version["name"] == shown:
                for part in ("spec", "status"):
                    silent += without_description(
                        schema["properties"][part], f"{kind}.{part}"
                    )
    assert silent == []


def test_all_versions_stay_below_the_limits(complete):
    sizes = {str(kind): len(orjson.dumps(made)) for kind, made in complete.items()}
    assert max(sizes.values()) < LARGEST_ANNOTATIONS
    assert sum(sizes.values()) < ALL_BYTES


@pytest.mark.parametrize(
    ("group", "kind", "path", "said"),
    [
        ("storage", "StorageAccount", "",
         "/azure/templates/microsoft.storage/2025-06-01/storageaccounts"),
        ("storage", "StorageAccount", "spec.sku.name", "ARM: sku.name"),
        ("storage", "StorageAccount", "spec.azureName", "cannot change once"),
        ("network", "VirtualNetworksSubnet", "spec.owner", "VirtualNetwork (network."),
        ("authorization", "RoleAssignment", "spec.owner", "by group, kind and name"),
        ("compute", "VirtualMachine", "spec.osProfile.adminPassword", "Secret: "),
        ("network", "LoadBalancer", "spec.frontendIPConfigurations.publicIPAddress.reference",
         "ARM: properties.frontendIPConfigurations[].properties.publicIPAddress.id"),
        ("storage", "StorageAccount", "spec.operatorSpec.secrets.key1", "key1"),
        ("storage", "StorageAccount", "status.conditions.reason", "One word"),
        ("storage", "StorageAccount", "status.sku.name", "ARM: sku.name"),
        ("storage", "StorageAccount", "status.accessTier", "ARM: properties.accessTier"),
        ("storage", "StorageAccount", "status.provisioningState", "From ARM."),
        ("containerservice", "ManagedCluster", "status.sku.name", "From ARM."),
    ],
)  # fmt: skip
def test_facts_are_said(group, kind, path, said):
    assert said in explained(f"{group}.azure.com", kind, path)


def test_the_explained_version_is_kubernetes_own_choice():
    assert explained_version(["v1api20200601", "v20250101", "v20240101"]) == "v20250101"
    assert explained_version(["v1api20240301", "v1api20211001"]) == "v1api20211001"
    assert explained_version(["v1alpha1", "v1", "v1beta2", "v1beta1"]) == "v1"
    assert explained_version([]) == ""


def test_in_other_versions_what_a_name_does_not_tell_is_said():
    known = builtin().kind(GroupKind("compute.azure.com", "VirtualMachine"))
    document = crd(known, versions=known.versions, conversion=CLIENT)
    shown = explained_version(known.versions)
    other = next(
        v
        for v in document["spec"]["versions"]
        if v["name"] in known.versions and v["name"] != shown
    )
    spec = other["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    assert "Secret: " in spec["osProfile"]["properties"]["adminPassword"]["description"]
    assert "cannot change" in spec["owner"]["description"]
    assert "description" not in spec["location"]
