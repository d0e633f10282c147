"""Find the server of a user from its owner, or from the owner's owner."""

from asoreconcile.azure.catalogue.kinds import Catalogue
from asoreconcile.azure.catalogue.names import azure_name
from asoreconcile.azure.reconcile.model.owner import owner_target, waiting
from asoreconcile.azure.sql_users.lookups import UserLookups
from asoreconcile.azure.sql_users.quoting import unusable
from asoreconcile.azure.sql_users.server import DatabaseServer
from asoreconcile.base.objects import (
    JsonObject,
    ObjectKey,
    gvk_of,
    key_of,
    spec,
)

_MAX_PORT = 65_535


def server_of(lookups: UserLookups, *, port: int, database: str) -> DatabaseServer:
    """Return the server of a user whose owner is the server.

    database: the database to sign in to.

    Raises ConditionError `WaitingForOwner` while the server has no address.
    """
    return DatabaseServer(*_address(lookups, _owner(lookups), port), database)


def database_of(lookups: UserLookups, *, port: int) -> DatabaseServer:
    """Return the server of a user whose owner is a database. Raises as `server_of`."""
    database = _owner(lookups)
    catalogue = lookups.catalogue
    version = catalogue.version(gvk_of(database))
    kind = owner_target(version, database)
    name = str((spec(database).get("owner") or {}).get("name") or "")
    if kind is None:
        raise unusable(
            f"the database {key_of(database).name!r} names its server by armId: give "
            "it a server of this namespace by name, which knows its address"
        )
    server = lookups.find(kind, ObjectKey(key_of(database).namespace, name))
    if server is None:
        raise waiting(f"{kind.kind} {name!r}, the owner of the database, is not there")
    return DatabaseServer(*_address(lookups, server, port), _name(catalogue, database))


def _owner(lookups: UserLookups) -> JsonObject:
    owner = lookups.owner()
    if owner is None:
        raise unusable("spec.owner must name an object of this namespace")
    return owner


def _name(catalogue: Catalogue, database: JsonObject) -> str:
    return azure_name(catalogue.version(gvk_of(database)), database)


def _address(lookups: UserLookups, server: JsonObject, port: int) -> tuple[str, int]:
    host = str(lookups.status(server).get("fullyQualifiedDomainName") or "")
    if not host:
        raise waiting(
            f"{server.get('kind')} {key_of(server).name!r} has no "
            "status.fullyQualifiedDomainName yet: Azure reports it once it is made"
        )
    name, colon, stated = host.partition(":")
    if colon and stated.isdigit() and 0 < int(stated) <= _MAX_PORT:
        return name, int(stated)
    return host, port
