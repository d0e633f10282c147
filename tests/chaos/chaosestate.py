"""The objects of a chaos trial, and their expected state in Azure."""

from world import resource_group, virtual_network

LOCATION = "westeurope"
NETWORK = "network.azure.com/v20250301"
_ID = "/subscriptions/{subscription}/resourceGroups/{group}"


class Member:
    """One object.

    It has a manifest for each edition, an Azure id, and a field that shows the edition.
    """

    def __init__(self, manifest, tail, *, shows, deletable=False):
        """Make a member.

        manifest: returns the object at an edition.
        tail: last part of the ARM id, below the subscription.
        shows: returns the edition that an ARM body shows.
        """
        self.manifest = manifest
        self.tail = tail
        self.shows = shows
        self.deletable = deletable
        self.edition = 1
        self.wanted = True

    @property
    def name(self):
        return self.manifest(1)["metadata"]["name"]

    @property
    def obj(self):
        return self.manifest(self.edition)

    def arm_id(self, subscription):
        return f"/subscriptions/{subscription}/{self.tail}".lower()


def estate(groups=2):
    """Return the members, owners first.

    Each group has a network, two subnets, a security group with two rules, and a
    storage account.
    """
    members = []
    for number in range(groups):
        members += _group(f"g{number}")
    return members


def _group(group):
    base = f"resourceGroups/{group}"
    under = f"{base}/providers/Microsoft.Network"
    yield Member(
        lambda e: resource_group(group, tags=_tags(e)), base, shows=_edition_of_tags
    )
    yield Member(
        lambda e: virtual_network(f"{group}-net", group, tags=_tags(e)),
        f"{under}/virtualNetworks/{group}-net",
        shows=_edition_of_tags,
    )
    for index in (1, 2):
        yield _subnet(group, index, under)
    yield Member(
        lambda e: _network(
            "NetworkSecurityGroup", f"{group}-nsg", group, tags=_tags(e)
        ),
        f"{under}/networkSecurityGroups/{group}-nsg",
        shows=_edition_of_tags,
    )
    for index in (1, 2):
        yield _rule(group, index, under)
    account = f"{group}account"
    yield Member(
        lambda e: _storage(account, group, e),
        f"{base}/providers/Microsoft.Storage/storageAccounts/{account}",
        shows=_edition_of_tags,
        deletable=True,
    )


def _subnet(group, index, under):
    name = f"{group}-subnet{index}"

    def manifest(edition):
        prefix = f"10.0.{100 * (index - 1) + edition}.0/24"
        return _network(
            "VirtualNetworksSubnet", name, f"{group}-net", addressPrefix=prefix
        )

    def shows(body):
        prefix = body["properties"]["addressPrefix"]
        return int(prefix.split(".")[2]) - 100 * (index - 1)

    return Member(
        manifest,
        f"{under}/virtualNetworks/{group}-net/subnets/{name}",
        shows=shows,
        deletable=True,
    )


def _rule(group, index, under):
    name = f"{group}-rule{index}"

    def manifest(edition):
        return _network(
            "NetworkSecurityGroupsSecurityRule",
            name,
            f"{group}-nsg",
            priority=1000 * index + edition,
            direction="Inbound",
            access="Allow",
            protocol="Tcp",
            sourceAddressPrefix="Internet",
            sourcePortRange="*",
            destinationAddressPrefix="*",
            destinationPortRange="443",
        )

    return Member(
        manifest,
        f"{under}/networkSecurityGroups/{group}-nsg/securityRules/{name}",
        shows=lambda body: body["properties"]["priority"] - 1000 * index,
        deletable=True,
    )


def _network(kind, name, owner, **spec):
    if kind == "NetworkSecurityGroup":
        spec["location"] = LOCATION
    return {
        "apiVersion": NETWORK,
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"owner": {"name": owner}, **spec},
    }


def _storage(name, owner, edition):
    return {
        "apiVersion": "storage.azure.com/v20250601",
        "kind": "StorageAccount",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "owner": {"name": owner},
            "location": LOCATION,
            "kind": "StorageV2",
            "sku": {"name": "Standard_LRS"},
            "tags": _tags(edition),
        },
    }


def _tags(edition):
    return {"edition": str(edition)}


def _edition_of_tags(body):
    return int(body["tags"]["edition"])
