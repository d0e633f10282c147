"""Globally unique names: for some types, a name can exist only once in all of Azure.

Each provider has its own error code for a name that is taken.
"""

import attrs

from asoreconcile.testing.arm.address import ArmAddress
from asoreconcile.testing.arm.refusals import RefusedError
from asoreconcile.testing.arm.resources import Resources


@attrs.frozen
class _Taken:
    code: str
    status: int = 409


_UNIQUE = {
    "microsoft.cache/redis": _Taken("NameNotAvailable"),
    "microsoft.containerregistry/registries": _Taken("AlreadyInUse"),
    "microsoft.dbforpostgresql/flexibleservers": _Taken("ServerNameAlreadyExists"),
    "microsoft.documentdb/databaseaccounts": _Taken("BadRequest", 400),
    "microsoft.keyvault/vaults": _Taken("VaultAlreadyExists"),
    "microsoft.search/searchservices": _Taken("ServiceNameUnavailable"),
    "microsoft.sql/servers": _Taken("NameAlreadyExists"),
    "microsoft.storage/storageaccounts": _Taken("StorageAccountAlreadyTaken"),
    "microsoft.web/sites": _Taken("Conflict"),
}


def check_name(resources: Resources, address: ArmAddress) -> None:
    """Refuse a new resource whose name is taken. Raises RefusedError."""
    taken = _UNIQUE.get(address.type)
    if taken is None:
        return
    name = address.name.lower()
    for resource in resources.of_type(address.type):
        if resource.address.name.lower() == name:
            raise RefusedError(
                taken.status,
                taken.code,
                f"The name '{address.name}' is already taken.",
                from_gateway=False,
            )
