"""The existing resources, with their parents, children and references.

A few parents show their children in their own body, and a write of the parent replaces
the children (`EMBEDDED`). Such children are stored once, as resources of their own.
"""

from collections.abc import Iterator
from typing import Any

import attrs

from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.arm.address import ArmAddress, parse

# Paths below `properties`. The last part is the collection's name.
EMBEDDED: dict[str, tuple[str, ...]] = {
    "microsoft.network/virtualnetworks": ("subnets",),
    "microsoft.network/networksecuritygroups": ("securityRules",),
    "microsoft.network/routetables": ("routes",),
    "microsoft.network/loadbalancers": ("inboundNatRules",),
    "microsoft.compute/virtualmachinescalesets": (
        "virtualMachineProfile.extensionProfile.extensions",
    ),
}
# Collections of children that Azure creates and shows in the parent's body.
SHOWN: dict[str, tuple[str, ...]] = {
    "microsoft.network/networksecuritygroups": ("defaultSecurityRules",),
}


def collection_of(path: str) -> str:
    """Return the collection that a path of `EMBEDDED` shows."""
    return path.rpartition(".")[2]


@attrs.define(eq=False)
class ArmResource:
    """One resource.

    body: body as reads show it, without a state and embedded children.
    sent: the last body that was written.
    state: its provisioningState; "" if it has none.
    version: grows with each change.
    lingers_until: time on the server's clock until which the state looks busy.
    created_at, changed_at: times in ARM's format.
    written_at: time of the last write on the server's clock.
    """

    address: ArmAddress
    body: JsonObject = attrs.field(repr=False)
    sent: JsonObject = attrs.field(repr=False)
    state: str = ""
    version: int = 1
    lingers_until: float = 0.0
    created_at: str = ""
    changed_at: str = ""
    written_at: float = 0.0

    def enter(self, state: str) -> None:
        """Change the state, which makes a new version."""
        self.state = state
        self.version += 1


class Resources:
    """All resources by id. The caller holds the server's lock."""

    def __init__(self) -> None:
        self._all: dict[str, ArmResource] = {}
        # The same resources by the part of the key before the name, and by type. A
        # write searches its children and its locks, and must not go through all
        # resources.
        self._by_collection: dict[str, dict[str, ArmResource]] = {}
        self._by_type: dict[str, dict[str, ArmResource]] = {}
        self._lifetimes: dict[str, int] = {}

    def __iter__(self) -> Iterator[ArmResource]:
        return iter(list(self._all.values()))

    def find(self, id_: str) -> ArmResource | None:
        """Return the resource with an id, in any casing, or None."""
        return self._all.get(id_.lower())

    def put(self, resource: ArmResource) -> None:
        """Store a resource. It replaces one with the same id."""
        key = resource.address.key
        self._all[key] = resource
        self._by_collection.setdefault(_collection(key), {})[key] = resource
        self._by_type.setdefault(resource.address.type, {})[key] = resource

    def born(self, address: ArmAddress) -> ArmAddress:
        """Return the address of a resource that is created now, with a new `life`."""
        count = self._lifetimes[address.key] = self._lifetimes.get(address.key, 0) + 1
        life = address.key if count == 1 else f"{address.key}#{count}"
        return attrs.evolve(address, life=life)

    def remove(self, id_: str) -> list[ArmResource]:
        """Remove a resource with everything below it; return the removed ones."""
        key = id_.lower()
        gone = [k for k in self._all if k == key or k.startswith(key + "/")]
        return [self._drop(k) for k in gone]

    def _drop(self, key: str) -> ArmResource:
        resource = self._all.pop(key)
        del self._by_collection[_collection(key)][key]
        del self._by_type[resource.address.type][key]
        return resource

    def of_type(self, type_: str) -> list[ArmResource]:
        """Return the resources of a type in order of creation.

        type_: in lower case.
        """
        return list(self._by_type.get(type_, {}).values())

    def children(self, parent: ArmAddress, collection: str) -> list[ArmResource]:
        """Return the direct children of one collection in order of creation."""
        prefix = f"{parent.key}/{collection.lower()}/"
        return list(self._by_collection.get(prefix, {}).values())

    def listed(self, path: str) -> list[ArmResource]:
        """Return the members of a collection's path, at its scope or anywhere below."""
        prefix = path.lower().rstrip("/") + "/"
        direct = list(self._by_collection.get(prefix, {}).values())
        at = prefix.rfind("/providers/")
        if direct or at < 0:
            return direct
        scope, type_ = prefix[:at], prefix[at + len("/providers/") : -1]
        return [r for r in self.of_type(type_) if r.address.key.startswith(scope + "/")]

    def users(self, id_: str) -> list[str]:
        """Return the ids of other resources that refer to a resource and are not
        deleted.
        """
        key = id_.lower()
        return [
            resource.address.id
            for resource in self._all.values()
            if not _within(resource.address.key, key)
            and not _within(key, resource.address.key)
            and any(_within(found, key) for found in references(resource.sent))
        ]


def references(value: Any, name: str = "") -> Iterator[str]:
    """Yield the ids in a body's fields named `id` or `...Id`."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from references(inner, key)
    elif isinstance(value, list):
        for item in value:
            yield from references(item, name)
    elif isinstance(value, str) and name.lower().endswith("id") and parse(value):
        yield value.lower()


def _collection(key: str) -> str:
    """Return a key without its name: `.../virtualnetworks/vnet/subnets/`."""
    return key[: key.rfind("/") + 1]


def _within(key: str, outer: str) -> bool:
    return key == outer or key.startswith(outer + "/")
