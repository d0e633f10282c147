"""Soft deletion of Key Vaults: a deleted vault keeps its name until it is
purged (I7).
"""

import attrs

from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.arm.address import ArmAddress
from asoreconcile.testing.arm.refusals import RefusedError
from asoreconcile.testing.arm.resources import ArmResource

_VAULTS = "microsoft.keyvault/vaults"


@attrs.frozen
class _Deleted:
    address: ArmAddress
    location: str


class SoftDeletedVaults:
    """The vaults that are deleted and not purged, by name."""

    def __init__(self) -> None:
        self._deleted: dict[str, _Deleted] = {}

    def note_removed(self, resource: ArmResource) -> None:
        """Keep the name of a removed vault taken. Other types are ignored."""
        address = resource.address
        if address.type == _VAULTS:
            location = str(resource.body.get("location") or "")
            self._deleted[address.name.lower()] = _Deleted(address, location)

    def check_put(self, address: ArmAddress, body: JsonObject) -> None:
        """Refuse a PUT whose name is taken by a deleted vault, or recover
        that vault.
        """
        if address.type != _VAULTS:
            return
        name = address.name.lower()
        mode = (body.get("properties") or {}).get("createMode", "default")
        if name not in self._deleted:
            return
        if mode != "recover":
            raise RefusedError(
                409,
                "ConflictError",
                "A vault with the same name already exists in deleted state. You need "
                "to either recover or purge existing key vault.",
                from_gateway=False,
            )
        del self._deleted[name]

    def find(self, location: str, name: str) -> JsonObject:
        """Return the deleted vault as its GET shows it. Raises RefusedError 404."""
        found = self._deleted.get(name.lower())
        if found is None or _place(found.location) not in ("", _place(location)):
            raise RefusedError(
                404,
                "DeletedVaultNotFound",
                f"The specified deleted vault '{name}' does not exist.",
                from_gateway=False,
            )
        return _shown(found)

    def all(self) -> list[JsonObject]:
        """Return the deleted vaults of every location."""
        return [_shown(found) for found in self._deleted.values()]

    def purge(self, location: str, name: str) -> None:
        """Release the name. Raises RefusedError 404."""
        self.find(location, name)
        del self._deleted[name.lower()]


def _shown(found: _Deleted) -> JsonObject:
    return {
        "id": (
            f"/subscriptions/{found.address.subscription}/providers/Microsoft.KeyVault/"
            f"locations/{_place(found.location)}/deletedVaults/{found.address.name}"
        ),
        "name": found.address.name,
        "type": "Microsoft.KeyVault/deletedVaults",
        "properties": {
            "vaultId": found.address.id,
            "location": found.location,
            "purgeProtectionEnabled": None,
        },
    }


def _place(location: str) -> str:
    return location.replace(" ", "").lower()
