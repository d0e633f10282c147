"""What a user's object is found among: its owner, other objects, Secrets, a credential.

A reconcile finds them in the cluster, `asoctl plan` among manifests.
"""

from collections.abc import Callable

import attrs

from asoreconcile.azure.catalogue.kinds import Catalogue
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.base.objects import GroupKind, JsonObject, ObjectKey, status


@attrs.frozen
class UserLookups:
    """Of one object; each call may block.

    owner: the object that `spec.owner` names, or None. find: any object of the
    namespaces at hand. status: of an object. secret: the value that a reference to a
    Secret names. token: one for an audience, and whose it is. The last three raise what
    says why they cannot.
    """

    catalogue: Catalogue
    obj: JsonObject
    owner: Callable[[], JsonObject | None]
    find: Callable[[GroupKind, ObjectKey], JsonObject | None]
    status: Callable[[JsonObject], JsonObject]
    secret: Callable[[JsonObject], str]
    token: Callable[[str], tuple[str, str]]


def of_reconcile(scope: ReconcileScope) -> UserLookups:
    """Those of a reconcile; it is woken by changes of what it asks for."""

    def owner() -> JsonObject | None:
        found = scope.owner()
        return found.obj if found is not None else None

    def token(audience: str) -> tuple[str, str]:
        connection = scope.connection
        holder = f"{connection.source} {connection.content}"
        return connection.client.token(audience), holder

    return UserLookups(
        catalogue=scope.operator.catalogue,
        obj=scope.obj,
        owner=owner,
        find=scope.objects.get,
        status=status,
        secret=scope.references.secret,
        token=token,
    )
