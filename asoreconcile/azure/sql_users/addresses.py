"""Ask Azure for the address of a server.

The status of the server's object has it too, but other users may be allowed to write
that status, and the operator sends an administrator's password to the address. So only
Azure's answer counts, read with the credential of the user's object.
"""

import attrs

from asoreconcile.azure.arm import ids
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.catalogue.status import status_of
from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.annotations import RESOURCE_ID
from asoreconcile.azure.reconcile.model.owner import waiting
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.base.clock import Clock
from asoreconcile.base.lru import LruCache
from asoreconcile.base.objects import JsonObject, gvk_of, key_of, status, uid_of

# A server keeps its address. One that is deleted and made again has the same.
_KEPT_SECONDS = 600.0
_MOST = 1024


@attrs.frozen
class _Answer:
    """Azure's status of a server, and the end of its use."""

    status: JsonObject
    until: float


class ServerAddresses:
    """Azure's answers about servers, each kept for ten minutes. Safe from any
    thread.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._answers = LruCache[tuple[str, ...], _Answer](_MOST)

    def status_in_azure(self, scope: ReconcileScope, server: JsonObject) -> JsonObject:
        """Return the status of a server's object, as it follows from Azure's answer.

        Blocks for one GET. Sends nothing while the object's own status is empty: then
        its own reconcile has not seen the resource yet.
        Raises ConditionError, also if the object's id is not that of a server.
        """
        if not status(server).get("fullyQualifiedDomainName"):
            return {}
        version = scope.operator.catalogue.version(gvk_of(server))
        arm_id = annotations(server).get(RESOURCE_ID, "")
        what = f"{version.gvk.kind} {key_of(server).name!r}"
        try:
            type_ = ids.parse(arm_id).type
        except ids.ArmIdError:
            type_ = ""
        if type_.lower() != version.arm_type.lower():
            raise waiting(f"{what} has no id of a {version.arm_type} yet")
        connection = scope.connection
        where = (uid_of(server), ids.key(arm_id), connection.source, connection.content)
        now, kept = self._clock.monotonic(), self._answers.get(where)
        if kept is not None and now < kept.until:
            return kept.status
        try:
            body = connection.client.get(arm_id, version.api_version)
        except ArmError as error:
            raise scope.errors.read_failed(error) from error
        found = status_of(version, body)
        self._answers.put(where, _Answer(found, now + _KEPT_SECONDS))
        return found
