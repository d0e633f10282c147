"""The objects of a chaos trial, and their expected state in Azure."""

from collections.abc import Callable, Iterator
from typing import Any

from world import resource_group, virtual_network

LOCATION = "westeurope"
NETWORK = "network.azure.com/v20250301"
_ID = "/subscriptions/{subscription}/resourceGroups/{group}"


class Member:
    """One object.

    It has a manifest for each edition, an Azure id, and a field that shows the edition.
    """

    def __init__(
        self,
        manifest: Callable[[int], dict[str, Any]],
        tail: str,
        *,
        shows: Callable[[dict[str, Any]], int],
        deletable: bool = False,
    ) -> None:
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
    def name(self) -> str:
        name: str = self.manifest(1)["metadata"]["name"]
        return name

    @property
    def obj(self) -> dict[str, Any]:
        return self.manifest(self.edition)

    def arm_id(self, subscription: str) -> str:
        return f"/subscriptions/{subscription}/{self.tail}".lower()


def estate(groups: int = 2) -> list[Member]:
    """Return the members, owners first.

    Each group has a network, two subnets, a security group with two rules, and a
    storage account.
    """
    members: list[Member] = []
    for number in range(groups):
        members += _group(f"g{number}")
    return members


def _group(group: str) -> Iterator[Member]:
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


def _subnet(group: str, index: int, under: str) -> Member:
    name = f"{group}-subnet{index}"

    def manifest(edition: int) -> dict[str, Any]:
        prefix = f"10.0.{100 * (index - 1) + edition}.0/24"
        return _network(
            "VirtualNetworksSubnet", name, f"{group}-net", addressPrefix=prefix
        )

    def shows(body: dict[str, Any]) -> int:
        prefix: str = body["properties"]["addressPrefix"]
        return int(prefix.split(".")[2]) - 100 * (index - 1)

    return Member(
        manifest,
        f"{under}/virtualNetworks/{group}-net/subnets/{name}",
        shows=shows,
        deletable=True,
    )


def _rule(group: str, index: int, under: str) -> Member:
    name = f"{group}-rule{index}"

    def manifest(edition: int) -> dict[str, Any]:
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
        shows=lambda body: int(body["properties"]["priority"]) - 1000 * index,
        deletable=True,
    )


def _network(kind: str, name: str, owner: str, **spec: Any) -> dict[str, Any]:
    if kind == "NetworkSecurityGroup":
        spec["location"] = LOCATION
    return {
        "apiVersion": NETWORK,
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"owner": {"name": owner}, **spec},
    }


def _storage(name: str, owner: str, edition: int) -> dict[str, Any]:
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


def _tags(edition: int) -> dict[str, str]:
    return {"edition": str(edition)}


def _edition_of_tags(body: dict[str, Any]) -> int:
    return int(body["tags"]["edition"])
