"""The lookups for a user's object: its owner, other objects, Secrets, a credential.

A reconcile finds them in the cluster, `asoctl plan` among manifests.
"""

from collections.abc import Callable

import attrs

from asoreconcile.azure.catalogue.kinds import Catalogue
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.sql_users.addresses import ServerAddresses
from asoreconcile.azure.sql_users.dialect import Dialect
from asoreconcile.azure.sql_users.server import DatabaseServer, OpenSession, SignIn
from asoreconcile.base.objects import GroupKind, JsonObject, ObjectKey


@attrs.frozen
class UserLookups:
    """The lookups for one object; each call may block.

    owner: returns the object that `spec.owner` names, or None.
    find: returns any object of the namespaces that are searched.
    status: returns the status of an object.
    secret: returns the value that a reference to a Secret names.
    token: returns a token for an audience, and its holder.

    The last three raise an error that says why they fail.
    """

    catalogue: Catalogue
    obj: JsonObject
    owner: Callable[[], JsonObject | None]
    find: Callable[[GroupKind, ObjectKey], JsonObject | None]
    status: Callable[[JsonObject], JsonObject]
    secret: Callable[[JsonObject], str]
    token: Callable[[str], tuple[str, str]]


FindServer = Callable[[UserLookups], DatabaseServer]
FindSignIn = Callable[[UserLookups, DatabaseServer], SignIn]


@attrs.frozen
class UserKind:
    """One kind of users.

    find_server, find_sign_in: functions that raise ConditionError, and the errors of
    a lookup.
    """

    dialect: Dialect
    connect: OpenSession
    find_server: FindServer
    find_sign_in: FindSignIn


def of_reconcile(scope: ReconcileScope, addresses: ServerAddresses) -> UserLookups:
    """Return the lookups of a reconcile. Changes of the results cause another
    reconcile.
    """

    def owner() -> JsonObject | None:
        found = scope.owner()
        return found.obj if found is not None else None

    def token(audience: str) -> tuple[str, str]:
        connection = scope.connection
        holder = f"{connection.source} {connection.content}"
        return connection.client.token(audience), holder

    return UserLookups(
        catalogue=scope.operator.catalogue,
        obj=scope.patcher.obj,
        owner=owner,
        find=scope.objects.get,
        status=lambda server: addresses.status_in_azure(scope, server),
        secret=scope.references.secret,
        token=token,
    )
