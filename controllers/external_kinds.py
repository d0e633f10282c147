"""The kinds without ARM, and the dependencies of each.

One row per kind. The drivers are imported when the first object of the kind is
reconciled: most installations have none.
"""

from collections.abc import Callable, Mapping

import attrs

from asoreconcile.azure.entra.directory_objects import DirectoryObjects
from asoreconcile.azure.entra.kinds import ENTRA_KINDS
from asoreconcile.azure.non_arm.resource import ExternalResource
from asoreconcile.azure.sql_users.kinds import (
    azure_sql_users,
    mysql_users,
    postgresql_users,
)
from asoreconcile.base.clock import Clock
from asoreconcile.base.fencing import Fence
from asoreconcile.base.objects import GroupKind
from asoreconcile.runtime.application import Application


@attrs.frozen
class ExternalDependencies:
    """The dependencies that kinds without ARM share.

    fence: called before each write to the outside; raises if another process may lead.
    """

    clock: Clock
    fence: Fence | None = None


Factory = Callable[[ExternalDependencies], ExternalResource]

EXTERNAL: Mapping[GroupKind, Factory] = {
    GroupKind("dbformysql.azure.com", "User"): lambda shared: mysql_users(
        clock=shared.clock, fence=shared.fence
    ),
    GroupKind("dbforpostgresql.azure.com", "User"): lambda shared: postgresql_users(
        clock=shared.clock, fence=shared.fence
    ),
    GroupKind("sql.azure.com", "User"): lambda shared: azure_sql_users(
        clock=shared.clock, fence=shared.fence
    ),
    # Its clients, of the credentials, have clock and fence.
    **{group_kind: lambda _: DirectoryObjects() for group_kind in ENTRA_KINDS},
}


def external_resources(app: Application) -> Mapping[GroupKind, ExternalResource]:
    """Return a resource for each kind, closed with the application. Sends nothing."""
    shared = ExternalDependencies(app.clock, app.fence)
    made = {group_kind: make(shared) for group_kind, make in EXTERNAL.items()}
    for resource in made.values():
        app.on_close(resource.close)
    return made
