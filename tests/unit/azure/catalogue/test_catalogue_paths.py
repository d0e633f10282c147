"""Where resources live in ARM. Rules R11.1-R11.4, D20."""

import pytest

from asoreconcile.azure.catalogue.paths import PathError, arm_id
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base.objects import GroupKind

SUB = "11111111-1111-1111-1111-111111111111"
RG = f"/subscriptions/{SUB}/resourceGroups/rg"
VNET = f"{RG}/providers/Microsoft.Network/virtualNetworks/vnet"


def place(kind, owner_id="", name="it", subscription_id=SUB):
    group, _, kind_name = kind.partition("/")
    version = builtin().kind(GroupKind(group, kind_name)).version()
    return arm_id(
        version, name=name, owner_id=owner_id, subscription_id=subscription_id
    )


EXTENSION = "insights.azure.com/DiagnosticSetting"
HUNG = "providers/Microsoft.Insights/diagnosticSettings/it"


@pytest.mark.parametrize(
    ("kind", "owner_id", "expected"),
    [
        pytest.param("resources.azure.com/ResourceGroup", "",
                     f"/subscriptions/{SUB}/resourceGroups/it", id="R11.1-resource-group"),
        pytest.param("network.azure.com/VirtualNetwork", RG,
                     f"{RG}/providers/Microsoft.Network/virtualNetworks/it", id="one-level"),
        pytest.param("network.azure.com/VirtualNetworksSubnet", VNET, f"{VNET}/subnets/it",
                     id="R11.2-two-levels"),
        pytest.param("sql.azure.com/ServersDatabasesSecurityAlertPolicy",
                     f"{RG}/providers/Microsoft.Sql/servers/s/databases/d",
                     f"{RG}/providers/Microsoft.Sql/servers/s/databases/d/securityAlertPolicies/it",
                     id="R11.2-three-levels"),
        pytest.param(EXTENSION, RG, f"{RG}/{HUNG}", id="R11.3-on-a-group"),
        pytest.param(EXTENSION, VNET, f"{VNET}/{HUNG}", id="R11.3-on-a-resource"),
        pytest.param(EXTENSION, "/providers/Microsoft.Management/managementGroups/mg",
                     f"/providers/Microsoft.Management/managementGroups/mg/{HUNG}",
                     id="R11.3-on-a-tenant-resource"),
        pytest.param(EXTENSION, f"{RG}/providers/Microsoft.Insights/components/c",
                     f"{RG}/providers/Microsoft.Insights/components/c/{HUNG}",
                     id="R11.3-on-its-own-provider"),
        pytest.param("network.azure.com/VirtualNetworksSubnet", f"{VNET}/",
                     f"{VNET}/subnets/it", id="R11.4-trailing-slash"),
        pytest.param("subscription.azure.com/Alias", "",
                     "/providers/Microsoft.Subscription/aliases/it", id="tenant"),
        pytest.param(
            "network.azure.com/VirtualNetwork",
            f"/subscriptions/{SUB}/resourceGroups/microsoft.network",
            f"/subscriptions/{SUB}/resourceGroups/microsoft.network"
            "/providers/Microsoft.Network/virtualNetworks/it",
            id="D20-group-named-like-the-provider",
        ),
        pytest.param("network.azure.com/TrafficManagerProfilesAzureEndpoint",
                     f"{RG}/providers/Microsoft.Network/trafficmanagerprofiles/p",
                     f"{RG}/providers/Microsoft.Network/trafficmanagerprofiles/p/AzureEndpoints/it",
                     id="case-of-the-type-is-kept"),
    ],
)  # fmt: skip
def test_arm_id(kind, owner_id, expected):
    assert place(kind, owner_id) == expected


def test_unknown_owner_name_or_subscription_is_an_error():
    with pytest.raises(PathError, match="owner of this VirtualNetwork"):
        place("network.azure.com/VirtualNetwork")
    with pytest.raises(PathError, match="Azure name of this VirtualNetwork"):
        place("network.azure.com/VirtualNetwork", RG, name="")
    with pytest.raises(PathError, match="subscription of resource group it"):
        place("resources.azure.com/ResourceGroup", subscription_id="")


def test_every_owner_type_is_the_own_type_without_its_last_segment():
    catalogue = builtin()
    for kind in catalogue.kinds():
        for name in kind.versions if kind.is_arm else ():
            version = kind.version(name)
            if version.owner is None or len(version.types) == 1:
                continue
            owner = catalogue.kind(version.owner).version()
            expected = version.arm_type.rpartition("/")[0]
            assert owner.arm_type.lower() == expected.lower(), version.gvk
