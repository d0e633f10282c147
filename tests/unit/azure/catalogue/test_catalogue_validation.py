"""What validation says, and that it says what to do."""

import pytest

from asoreconcile.azure.catalogue.validation import problems
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base.objects import GroupKind

RG = "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/rg"
VNET_ID = f"{RG}/providers/Microsoft.Network/virtualNetworks/vnet"
VNET = "network.azure.com/VirtualNetwork"
SUBNET = "network.azure.com/VirtualNetworksSubnet"
OWNER = {"owner": {"name": "rg"}}


def said(kind, spec, **members):
    group, _, name = kind.partition("/")
    version = builtin().kind(GroupKind(group, name)).version()
    obj = {"metadata": {"name": "it"}, "spec": spec, **members}
    return [str(problem) for problem in problems(version, obj)]


def vnet(**spec):
    space = {"addressPrefixes": ["10.0.0.0/16"]}
    return said(VNET, {**OWNER, "location": "westus", "addressSpace": space, **spec})


def test_a_good_object_has_no_problems():
    assert vnet() == []


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param({"locatoin": "x"}, "spec.locatoin: unknown field", id="unknown-field"),
        pytest.param(
            {"EnableDdosProtection": True},
            "spec.EnableDdosProtection: unknown field, differs in letter case only:"
            " write 'enableDdosProtection'",
            id="case-only",
        ),
        pytest.param(
            {"enableDdosProtecton": True},
            "spec.enableDdosProtecton: unknown field;"
            " did you mean 'enableDdosProtection'?",
            id="nearest",
        ),
        pytest.param(
            {"properties": {}},
            "spec.properties: unknown field: what ARM keeps in `properties` stands"
            " one level higher",
            id="properties",
        ),
        pytest.param(
            {"enableDdosProtection": "yes"},
            "spec.enableDdosProtection: must be a boolean, is 'yes'",
            id="type",
        ),
        pytest.param({"tags": {"a": 1}}, "spec.tags.a: must be a string, is 1", id="map-value"),
        pytest.param(
            {"addressSpace": []},
            "spec.addressSpace: must be an object, is an array",
            id="object",
        ),
        pytest.param(
            {"encryption": {"enabled": True, "enforcement": "allowunencrypted"}},
            "spec.encryption.enforcement: 'allowunencrypted' differs in letter case"
            " only: write 'AllowUnencrypted'",
            id="enum-case",
        ),
        pytest.param(
            {"encryption": {"enforcement": "AllowUnencrypted"}},
            "spec.encryption.enabled: is required: set it",
            id="required",
        ),
    ],
)  # fmt: skip
def test_schema_problems(spec, message):
    (text,) = vnet(**spec)

    assert text.startswith(message)


def test_an_id_where_a_reference_belongs_names_the_reference():
    (text,) = said(
        "cache.azure.com/Redis",
        {
            **OWNER,
            "location": "westus",
            "sku": {"capacity": 1, "family": "C", "name": "Basic"},
            "subnetId": "/x",
        },
    )

    assert text == (
        "spec.subnetId: unknown field: set 'subnetReference',"
        " a reference to the resource"
    )


@pytest.mark.parametrize(
    ("kind", "path", "value", "message"),
    [
        ("storage.azure.com/StorageAccount", "azureName", "UPPER!", "does not match the pattern"),
        ("keyvault.azure.com/Vault", "azureName", "x" * 200, "does not match"),
        (
            "storage.azure.com/StorageAccount",
            "azureName",
            "ab",
            "needs at least 3 characters, has 2",
        ),
        (
            "storage.azure.com/StorageAccount",
            "azureName",
            "a" * 25,
            "takes at most 24 characters, has 25",
        ),
        ("storage.azure.com/StorageAccount", "kind", "Blobstorage", "'BlobStorage'"),
        ("network.azure.com/LoadBalancer", "location", 7, "must be a string, is 7"),
    ],
)  # fmt: skip
def test_constraints_are_explained(kind, path, value, message):
    texts = said(kind, {path: value})

    assert any(t.startswith(f"spec.{path}: ") and message in t for t in texts), texts


def test_a_pattern_does_not_accept_a_final_newline():
    texts = said("storage.azure.com/StorageAccount", {"azureName": "abcdef\n"})

    assert any("spec.azureName: 'abcdef\\n' does not match" in text for text in texts)


def test_numbers_are_held_to_their_range():
    spec = {"probes": [{"name": "p", "port": 0, "intervalInSeconds": 1.5}]}

    texts = said("network.azure.com/LoadBalancer", {**OWNER, **spec})

    assert "spec.probes[0].intervalInSeconds: must be an integer, is 1.5" in texts


def test_null_counts_as_absent():
    assert vnet(tags=None, enableDdosProtection=None) == []
    assert "spec.owner: is required: set it" in said(VNET, {"owner": None})


def test_what_is_missing_or_misplaced_at_the_top_is_named():
    texts = said(VNET, None, location="westus", metadata={})

    assert "metadata.name: is required: set it" in texts
    assert (
        "location: unknown field; settings of the resource belong under spec" in texts
    )
    assert "spec.owner: is required: set it" in texts


@pytest.mark.parametrize(
    ("kind", "owner", "message"),
    [
        pytest.param(VNET, {"name": "rg"}, None, id="by-name"),
        pytest.param(VNET, {"armId": RG}, None, id="resource-group-by-id"),
        pytest.param(VNET, {"armId": RG.lower()}, None, id="any-case"),
        pytest.param(SUBNET, {"armId": VNET_ID}, None, id="parent-by-id"),
        pytest.param(SUBNET, {"armId": VNET_ID.lower()}, None, id="parent-any-case"),
        pytest.param(VNET, {"armId": RG, "name": "rg"},
                     "set either armId or the owner's name, not both", id="both"),
        pytest.param(VNET, {}, "set name (of a ResourceGroup in the namespace) or armId",
                     id="neither"),
        pytest.param(SUBNET, {"armId": f"{RG}/providers/Microsoft.Sql/servers/s"},
                     "is of the provider Microsoft.Sql", id="R11.5-wrong-provider"),
        pytest.param(SUBNET, {"armId": f"{RG}/providers/Microsoft.Network/loadBalancers/l"},
                     "belongs to a Microsoft.Network/virtualNetworks; ", id="R11.5-wrong-type"),
        pytest.param(VNET, {"armId": VNET_ID}, "belongs to a resource group; ",
                     id="R11.5-no-resource-group"),
        pytest.param("insights.azure.com/DiagnosticSetting", {"armId": VNET_ID}, None,
                     id="extension-on-anything"),
        pytest.param("insights.azure.com/DiagnosticSetting",
                     {"name": "v", "kind": "VirtualNetwork"}, "set group too, or armId alone",
                     id="extension-incomplete"),
        pytest.param("insights.azure.com/DiagnosticSetting", {},
                     "set armId, or group, kind and name", id="extension-empty"),
    ],
)  # fmt: skip
def test_owner(kind, owner, message):
    texts = [t for t in said(kind, {"owner": owner}) if t.startswith("spec.owner")]

    if message is None:
        assert texts == []
    else:
        assert len(texts) == 1
        assert message in texts[0]


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ({"armId": VNET_ID}, None),
        ({"group": "g", "kind": "K", "name": "n"}, None),
        ({}, "set armId, or group, kind and name"),
        ({"name": "n"}, "set group and kind too, or armId alone"),
        (
            {"armId": VNET_ID, "name": "n"},
            "set either armId or group, kind and name, not both",
        ),
    ],
)
def test_reference_shape(reference, message):
    spec = {"owner": {"name": "v"}, "natGateway": {"reference": reference}}

    texts = said(SUBNET, spec)

    expected = [] if message is None else [f"spec.natGateway.reference: {message}"]
    assert texts == expected


def test_well_known_name_excludes_the_rest():
    def role(reference):
        spec = {"roleDefinitionReference": reference, "principalId": "p"}
        owner = {"owner": {"armId": RG}}
        return said("authorization.azure.com/RoleAssignment", {**owner, **spec})

    assert role({"wellKnownName": "Reader"}) == []
    assert role({}) == [
        "spec.roleDefinitionReference: set wellKnownName, armId, or group, kind and name"
    ]
    assert role({"wellKnownName": "Reader", "armId": VNET_ID}) == [
        (
            "spec.roleDefinitionReference:"
            " set either wellKnownName or the resource, not both"
        )
    ]


def test_two_sources_of_one_property_are_refused():
    spec = {
        **OWNER,
        "administratorType": "ActiveDirectory",
        "login": "l",
        "sid": "00000000-0000-0000-0000-000000000000",
        "sidFromConfig": {"name": "c", "key": "k"},
    }

    assert said("sql.azure.com/ServersAdministrator", spec) == [
        "spec: cannot specify both sid and sidFromConfig: remove one"
    ]


def test_a_union_takes_exactly_one_leaf():
    def secret(parameters):
        return said("cdn.azure.com/Secret", {**OWNER, "parameters": parameters})

    managed = {"managedCertificate": {"type": "ManagedCertificate"}}
    first_party = {
        "azureFirstPartyManagedCertificate": {
            "type": "AzureFirstPartyManagedCertificate"
        }
    }

    assert secret(managed) == []
    assert secret({**managed, **first_party}) == [
        (
            "spec.parameters: set only one of"
            " azureFirstPartyManagedCertificate, managedCertificate"
        )
    ]
    assert secret({})[0].startswith("spec.parameters: set one of ")


def test_all_problems_come_at_once():
    texts = vnet(owner={}, locatoin="x", enableDdosProtection=1, tags=[])

    assert len(texts) == 4


def test_a_kind_without_arm_is_checked_by_its_schema():
    texts = said("sql.azure.com/User", {"nonsense": 1})

    assert any(text.startswith("spec.nonsense: unknown field") for text in texts)


def test_two_exports_into_one_key_are_refused():
    to = {"name": "keys", "key": "k"}
    operator_spec = {
        "secrets": {"primaryKey": to, "secondaryKey": {"name": "keys", "key": "other"}},
        "secretExpressions": [{**to, "value": "secret.primaryKey"}],
        "configMapExpressions": [{**to, "value": "self.status.id"}],
    }
    spec = {**OWNER, "location": "westus", "operatorSpec": operator_spec}
    sku = {"sku": {"capacity": 1, "family": "C", "name": "Basic"}}

    assert said("cache.azure.com/Redis", {**spec, **sku}) == [
        (
            "spec.operatorSpec.secretExpressions[0]: keys/k is written by"
            " secrets.primaryKey already: choose another name or key"
        )
    ]


@pytest.mark.parametrize("name", ["aso-credential", "aso-controller-settings"])
def test_an_export_into_a_credential_is_refused(name):
    to = {"name": name, "key": "k"}
    operator_spec = {
        "secrets": {"primaryKey": to},
        "secretExpressions": [{**to, "key": "l", "value": "secret.primaryKey"}],
        # A ConfigMap may be called so.
        "configMapExpressions": [{**to, "value": "self.status.id"}],
    }
    sku = {"sku": {"capacity": 1, "family": "C", "name": "Basic"}}
    spec = {**OWNER, "location": "westus", "operatorSpec": operator_spec, **sku}

    texts = said("cache.azure.com/Redis", spec)
    assert sorted(text.partition(": ")[0] for text in texts) == [
        "spec.operatorSpec.secretExpressions[0].name",
        "spec.operatorSpec.secrets.primaryKey.name",
    ]


@pytest.mark.parametrize("name", ["a/b", "../../x", "..", "/abs", "a\\b", "a\nb"])
def test_an_azure_name_is_one_segment(name):
    texts = said("resources.azure.com/ResourceGroup", {"azureName": name})
    assert any(text.startswith(f"spec.azureName: {name!r} ") for text in texts)


def test_a_well_known_name_leads_nowhere():
    def texts(name):
        reference = {"wellKnownName": name}
        return said(
            "authorization.azure.com/RoleAssignment",
            {"owner": {"armId": RG}, "roleDefinitionReference": reference},
        )

    assert not any("wellKnownName" in t for t in texts("SignalR/Web PubSub Owner"))
    assert any("wellKnownName" in text for text in texts("../../x"))
    assert any("wellKnownName" in text for text in texts("a\x00"))
