"""The transformation classes of a spec, one small case each, by class id."""

import copy

import pytest

from asoreconcile.azure.catalogue.inputs import inputs_of
from asoreconcile.azure.catalogue.payload import SpecError, to_arm
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base.objects import GroupKind

RG = "/subscriptions/s/resourceGroups/rg"
VNET = "network.azure.com/VirtualNetwork"


class Answering:
    """Inputs that answer with what they were asked for, and remember it."""

    def __init__(self):
        self.asked = []

    def reference(self, reference):
        self.asked.append(("reference", reference))
        return f"/ids/{reference['kind']}/{reference['name']}"

    def secret(self, reference):
        self.asked.append(("secret", reference))
        return f"secret {reference['name']}/{reference['key']}"

    def secret_map(self, reference):
        self.asked.append(("secret-map", reference))
        return {"a": "1", "b": f"from {reference['name']}"}

    def config_map(self, reference):
        self.asked.append(("config-map", reference))
        return f"config {reference['name']}/{reference['key']}"


def version_of(kind, version=""):
    group, _, name = kind.partition("/")
    return builtin().kind(GroupKind(group, name)).version(version)


def body_of(kind, spec, version="", name="it"):
    return to_arm(version_of(kind, version), spec, name=name, inputs=Answering())


def ref(kind, name):
    return {"group": "g.azure.com", "kind": kind, "name": name}


SPACE = {"addressPrefixes": ["10.0.0.0/16"]}
AKS = "containerservice.azure.com"


CASES = [
    pytest.param(
        VNET,
        {"location": "westus", "tags": {"a": "b"}, "enableVmProtection": False},
        {
            "name": "it",
            "location": "westus",
            "tags": {"a": "b"},
            "properties": {"enableVmProtection": False},
        },
        id="1-verbatim",
    ),
    pytest.param(
        "containerregistry.azure.com/RegistryCacheRule",
        {
            "sourceRepository": "docker.io/library/*",
            "targetRepository": "hub/*",
            "credentialSetResourceReference": {"armId": "/set"},
        },
        {
            "name": "it",
            "properties": {
                "credentialSetResourceId": "/set",
                "sourceRepository": "docker.io/library/*",
                "targetRepository": "hub/*",
            },
        },
        id="1-kind-of-a-newer-release",
    ),
    pytest.param(VNET, {"addressSpace": SPACE},
                 {"name": "it", "properties": {"addressSpace": SPACE}}, id="2-nested-object"),
    pytest.param(
        "documentdb.azure.com/SqlDatabaseContainer",
        {
            "resource": {
                "indexingPolicy": {
                    "compositeIndexes": [
                        [{"path": "/a", "order": "ascending"}],
                        [{"path": "/b"}],
                    ]
                }
            }
        },
        {
            "name": "it",
            "properties": {
                "resource": {
                    "indexingPolicy": {
                        "compositeIndexes": [
                            [{"path": "/a", "order": "ascending"}],
                            [{"path": "/b"}],
                        ]
                    }
                }
            },
        },
        id="3-list-of-lists-of-objects",
    ),
    pytest.param(
        "kubernetesconfiguration.azure.com/FluxConfiguration",
        {"kustomizations": {"one": {"path": "./a"}, "two": {}}},
        {
            "name": "it",
            "properties": {"kustomizations": {"one": {"path": "./a"}, "two": {}}},
        },
        id="3-map-of-objects",
    ),
    pytest.param(VNET, {"ipAllocations": []}, {"name": "it", "properties": {}},
                 id="4-container-of-an-empty-list"),
    pytest.param(VNET, {"location": "x"}, {"name": "it", "location": "x"}, id="4-no-container"),
    pytest.param(
        VNET,
        {
            "addressSpace": {
                "ipamPoolPrefixAllocations": [{"reference": {"armId": "/p"}}]
            }
        },
        {
            "name": "it",
            "properties": {
                "addressSpace": {"ipamPoolPrefixAllocations": [{"pool": {"id": "/p"}}]}
            },
        },
        id="4-container-pool",
    ),
    pytest.param(VNET, {"azureName": "zzz"}, {"name": "it"}, id="5-name-only"),
    pytest.param("cache.azure.com/Redis", {"subnetReference": ref("Subnet", "s")},
                 {"name": "it", "properties": {"subnetId": "/ids/Subnet/s"}},
                 id="6-reference-by-name"),
    pytest.param("cache.azure.com/Redis", {"subnetReference": {"armId": RG}},
                 {"name": "it", "properties": {"subnetId": RG}}, id="6-reference-by-arm-id"),
    pytest.param("insights.azure.com/ActivityLogAlert",
                 {"scopesReferences": [ref("A", "a"), {"armId": RG}]},
                 {"name": "it", "properties": {"scopes": ["/ids/A/a", RG]}},
                 id="7-list-of-references"),
    pytest.param("authorization.azure.com/RoleAssignment",
                 {"roleDefinitionReference": {"wellKnownName": "Reader"}},
                 {"name": "it", "properties": {"roleDefinitionId": "Reader"}},
                 id="8-well-known-name"),
    pytest.param("authorization.azure.com/RoleAssignment",
                 {"roleDefinitionReference": ref("RoleDefinition", "mine")},
                 {"name": "it", "properties": {"roleDefinitionId": "/ids/RoleDefinition/mine"}},
                 id="8-well-known-reference-by-name"),
    pytest.param(
        "app.azure.com/ContainerApp",
        {
            "identity": {
                "type": "UserAssigned",
                "userAssignedIdentities": [
                    {"reference": ref("UserAssignedIdentity", "one")},
                    {"reference": {"armId": "/two"}},
                ],
            }
        },
        {
            "name": "it",
            "identity": {
                "type": "UserAssigned",
                "userAssignedIdentities": {
                    "/ids/UserAssignedIdentity/one": {},
                    "/two": {},
                },
            },
        },
        id="9-identities",
    ),
    pytest.param("apimanagement.azure.com/User", {"password": {"name": "s", "key": "k"}},
                 {"name": "it", "properties": {"password": "secret s/k"}}, id="10-secret"),
    pytest.param("apimanagement.azure.com/Logger", {"credentials": {"name": "s"}},
                 {"name": "it", "properties": {"credentials": {"a": "1", "b": "from s"}}},
                 id="11-secret-map"),
    pytest.param("sql.azure.com/ServersAdministrator",
                 {"sidFromConfig": {"name": "c", "key": "k"}},
                 {"name": "it", "properties": {"sid": "config c/k"}}, id="12-config-map"),
    pytest.param(
        "insights.azure.com/ActionGroup",
        {
            "webhookReceivers": [
                {"name": "w", "serviceUriFromSecret": {"name": "s", "key": "k"}}
            ]
        },
        {
            "name": "it",
            "properties": {
                "webhookReceivers": [{"name": "w", "serviceUri": "secret s/k"}]
            },
        },
        id="13-from-secret",
    ),
    pytest.param("insights.azure.com/Workbook",
                 {"tags": {"outer": "1"}, "properties_tags": ["inner"]},
                 {"name": "it", "tags": {"outer": "1"}, "properties": {"tags": ["inner"]}},
                 id="14-rename"),
    pytest.param(
        "cdn.azure.com/Secret",
        {
            "parameters": {
                "managedCertificate": {"type": "ManagedCertificate"},
                "urlSigningKey": None,
            }
        },
        {"name": "it", "properties": {"parameters": {"type": "ManagedCertificate"}}},
        id="15-union",
    ),
    pytest.param("kusto.azure.com/Database",
                 {"readWriteDatabase": {"kind": "ReadWrite", "location": "westus"}},
                 {"kind": "ReadWrite", "location": "westus", "name": "it"},
                 id="16-union-at-the-root-is-named"),
    pytest.param("containerservice.azure.com/Fleet", {"location": "westus"},
                 {"name": "it", "location": "westus", "tags": None},
                 id="17-explicit-collection"),
    pytest.param("cdn.azure.com/Secret", {"parameters": {"managedCertificate": {"type": ""}}},
                 {"name": "it", "properties": {"parameters": {}}}, id="18-empty-required-text"),
    pytest.param(VNET, {"tags": {}, "addressSpace": {"addressPrefixes": []}, "location": ""},
                 {"name": "it", "location": "", "properties": {"addressSpace": {}}},
                 id="19-empty-collections"),
    pytest.param(VNET,
                 {"bgpCommunities": {}, "flowTimeoutInMinutes": 0, "enableDdosProtection": None},
                 {"name": "it", "properties": {"bgpCommunities": {}, "flowTimeoutInMinutes": 0}},
                 id="19-empty-object-and-zero-are-sent"),
    pytest.param(
        "dbforpostgresql.azure.com/FlexibleServersAdministrator",
        {
            "owner": {"name": "server"},
            "operatorSpec": {"secretExpressions": []},
            "azureName": "n",
            "azureNameFromConfig": {"name": "c", "key": "k"},
        },
        {"name": "it"},
        id="20-never-sent",
    ),
    pytest.param(
        "insights.azure.com/MetricAlert",
        {
            "actions": [
                {"actionGroupReference": {"armId": "/by/reference"}},
                {"actionGroupId": "/by/text"},
                {
                    "actionGroupReference": {"armId": "/by/reference"},
                    "actionGroupId": "/by/text",
                },
            ]
        },
        {
            "name": "it",
            "properties": {
                "actions": [
                    {"actionGroupId": "/by/reference"},
                    {"actionGroupId": "/by/text"},
                    {"actionGroupId": "/by/reference"},
                ]
            },
        },
        id="21-compatibility-pair",
    ),
    pytest.param("network.azure.com/RouteTable",
                 {"location": "westus", "routes": [{"name": "no field"}]},
                 {"name": "it", "location": "westus"}, id="22-children-are-not-mapped"),
    pytest.param("quota.azure.com/Quota",
                 {"properties": {"properties": {}, "resourceType": "cores"}},
                 {"name": "it", "properties": {"properties": {}, "resourceType": "cores"}},
                 id="j-empty-json-is-sent"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "spec", "expected"), CASES)
def test_transformation_class(kind, spec, expected):
    assert body_of(kind, spec) == expected


def test_class_17_explicit_empty_collections_need_their_container():
    pool = f"{AKS}/ManagedClustersAgentPool"

    assert body_of(pool, {}) == {"name": "it"}

    properties = body_of(pool, {"count": 1})["properties"]
    assert properties["count"] == 1
    assert properties["nodeLabels"] == {}
    assert properties["nodeTaints"] == []
    assert properties["availabilityZones"] is None


def test_class_17_defaults_are_not_shared_between_bodies():
    pool = f"{AKS}/ManagedClustersAgentPool"
    body_of(pool, {"count": 1})["properties"]["nodeLabels"]["changed"] = "yes"

    assert body_of(pool, {"count": 1})["properties"]["nodeLabels"] == {}


def test_class_22_parents_know_which_collections_their_children_own():
    owned = {
        kind: version_of(f"network.azure.com/{kind}").table.owned
        for kind in ("VirtualNetwork", "RouteTable", "NetworkSecurityGroup")
    }

    assert owned == {
        "VirtualNetwork": ("properties/subnets", "properties/virtualNetworkPeerings"),
        "RouteTable": ("properties/routes",),
        "NetworkSecurityGroup": ("properties/securityRules",),
    }


def test_class_23_embedded_resources_have_their_writable_part_only():
    schema = version_of("network.azure.com/LoadBalancer").spec_schema
    backend = schema["properties"]["backendAddressPools"]["items"]["properties"]

    assert "provisioningState" not in backend
    assert "etag" not in backend


def test_class_24_nothing_is_injected():
    # The api-version and the type go into the URL.
    assert body_of(VNET, {}) == {"name": "it"}


def test_class_25_schema_defaults_are_not_filled_in_by_the_mapping():
    assert body_of("resources.azure.com/ResourceGroup", {"location": "w"}) == {
        "name": "it",
        "location": "w",
    }


def test_config_map_wins_over_the_plain_value():
    body = body_of(
        "sql.azure.com/ServersAdministrator",
        {"sid": "plain", "sidFromConfig": {"name": "c", "key": "k"}},
    )

    assert body["properties"]["sid"] == "config c/k"


def test_union_without_a_leaf_sends_nothing():
    body = body_of("cdn.azure.com/Secret", {"parameters": {"urlSigningKey": None}})

    assert body == {"name": "it", "properties": {}}


def test_spec_is_neither_changed_nor_shared():
    spec = {"tags": {"a": "b"}, "addressSpace": {"addressPrefixes": ["x"]}}
    before = copy.deepcopy(spec)

    body = body_of(VNET, spec)
    body["tags"]["c"] = "d"
    body["properties"]["addressSpace"]["addressPrefixes"].append("y")

    assert spec == before


@pytest.mark.parametrize(
    ("kind", "spec", "at"),
    [
        (VNET, {"addressSpace": "10.0.0.0/8"}, "spec.addressSpace: must be an object"),
        (VNET, {"ipAllocations": {"a": 1}}, "spec.ipAllocations: must be a list"),
        ("cache.azure.com/Redis", {"subnetReference": "/subscriptions/s"},
         "spec.subnetReference: must be a reference"),
        ("cache.azure.com/Redis",
         {"identity": {"userAssignedIdentities": ["/subscriptions/s"]}},
         "spec.identity.userAssignedIdentities[0].reference: must be a reference"),
        ("cache.azure.com/Redis",
         {"identity": {"userAssignedIdentities": {"/subscriptions/s": {}}}},
         "spec.identity.userAssignedIdentities: must be a list"),
        ("kubernetesconfiguration.azure.com/FluxConfiguration", {"kustomizations": []},
         "spec.kustomizations: must be a map"),
    ],
)  # fmt: skip
def test_malformed_spec_is_refused_with_its_field(kind, spec, at):
    with pytest.raises(SpecError) as error:
        body_of(kind, spec)

    assert str(error.value).startswith(at)


def test_inputs_are_exactly_what_the_mapping_asks_for_in_its_order():
    spec = {
        "subnetReference": ref("Subnet", "s"),
        "identity": {
            "userAssignedIdentities": [
                {"reference": ref("Identity", "i")},
                {"reference": {"armId": "/verbatim"}},
            ]
        },
    }
    answering = Answering()
    version = version_of("cache.azure.com/Redis")
    to_arm(version, spec, name="it", inputs=answering)

    found = inputs_of(version, spec)

    assert [(one.kind, one.value) for one in found] == answering.asked
    assert [one.path for one in found] == [
        "spec.identity.userAssignedIdentities[0].reference",
        "spec.subnetReference",
    ]


def test_inputs_of_a_malformed_spec_are_none():
    version = version_of("cache.azure.com/Redis")

    assert inputs_of(version, {"subnetReference": "text", "identity": [1]}) == ()


def test_inputs_name_every_place_of_the_same_reference():
    spec = {"scopesReferences": [ref("A", "a"), ref("A", "a")]}
    version = version_of("insights.azure.com/ActivityLogAlert")

    assert [one.path for one in inputs_of(version, spec)] == [
        "spec.scopesReferences[0]",
        "spec.scopesReferences[1]",
    ]


def test_all_kinds_of_inputs_are_distinctions_of():
    cases = {
        "reference": ("cache.azure.com/Redis", {"subnetReference": ref("S", "s")}),
        "secret": (
            "apimanagement.azure.com/User",
            {"password": {"name": "s", "key": "k"}},
        ),
        "secret-map": (
            "apimanagement.azure.com/Logger",
            {"credentials": {"name": "s"}},
        ),
        "config-map": (
            "sql.azure.com/ServersAdministrator",
            {"sidFromConfig": {"name": "c", "key": "k"}},
        ),
    }

    for kind, (of, spec) in cases.items():
        assert [one.kind for one in inputs_of(version_of(of), spec)] == [kind]
