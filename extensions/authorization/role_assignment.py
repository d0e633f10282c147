"""RoleAssignment: find built-in roles by their well-known name."""

import threading
from collections.abc import Callable

from asoreconcile.azure.arm import ids
from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.middleware.context import ReconcileContext
from asoreconcile.azure.middleware.extension_points import IMPORT, MODIFY_PAYLOAD
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import skip_import_if
from asoreconcile.azure.middleware.requests import ModifyPayload
from asoreconcile.base.objects import JsonObject, dig

EXTENSIONS = built_in("authorization", "RoleAssignment")

_DEFINITIONS = "/providers/Microsoft.Authorization/roleDefinitions"
# Fixed: the types list role definitions at it, and not at 2020-08-01-preview.
_API_VERSION = "2022-04-01"
_DOCS = "https://learn.microsoft.com/azure/role-based-access-control/built-in-roles"
_MAX_AGE_SECONDS = 24 * 3600.0
# A name that is not there may be new in Azure; a misspelt one, retried for ever, must
# not list all roles each time.
_MIN_AGE_SECONDS = 300.0


class BuiltInRoles:
    """The names and GUIDs of Azure's built-in roles, listed once for a process.

    Safe from any thread; concurrent callers share one list.
    """

    def __init__(self) -> None:
        self._guids: dict[str, str] = {}
        self._listed_at: float | None = None
        self._lock = threading.Lock()

    def guid(self, ctx: ReconcileContext, name: str) -> str | None:
        """Return the GUID of a role, ignoring the name's letter case; None if there is
        none.

        Lists the roles if they have never been listed, if the list is a day old, or if
        it is some minutes old and lacks the name. Raises ArmError, ArmTransportError.
        """
        with self._lock:
            if self._age(ctx) > _MAX_AGE_SECONDS:
                self._list(ctx)
            found = self._guids.get(name.lower())
            if found is None and self._age(ctx) > _MIN_AGE_SECONDS:
                self._list(ctx)
                found = self._guids.get(name.lower())
            return found

    def _age(self, ctx: ReconcileContext) -> float:
        if self._listed_at is None:
            return float("inf")
        return ctx.clock.monotonic() - self._listed_at

    def _list(self, ctx: ReconcileContext) -> None:
        ctx.log.info("Listing built-in roles")
        guids = {}
        for role in ctx.arm.list(_DEFINITIONS, _API_VERSION):
            name, guid = dig(role, "properties.roleName"), role.get("name")
            is_built_in = dig(role, "properties.type") == "BuiltInRole"
            if is_built_in and isinstance(name, str) and guid and isinstance(guid, str):
                guids[name.lower()] = guid
        self._guids = guids
        self._listed_at = ctx.clock.monotonic()


def role_by_name(
    roles: BuiltInRoles,
) -> Callable[[ModifyPayload, Callable[[ModifyPayload], JsonObject]], JsonObject]:
    """Return the extension for one list of roles."""

    def resolve(
        req: ModifyPayload, call_next: Callable[[ModifyPayload], JsonObject], /
    ) -> JsonObject:
        payload = call_next(req)
        name = dig(req.obj, "spec.roleDefinitionReference.wellKnownName")
        if not name:
            return payload
        guid = roles.guid(req.ctx, name)
        if guid is None:
            raise ConditionError(
                f"Azure has no built-in role {name!r}; the names are at {_DOCS}",
                reason="Failed",
            )
        properties = payload.get("properties") or {}
        role_id = f"{_scope(req.ctx)}{_DEFINITIONS}/{guid}"
        return {**payload, "properties": {**properties, "roleDefinitionId": role_id}}

    return resolve


def _scope(ctx: ReconcileContext) -> str:
    """Return the assignment's subscription, or the tenant for assignments above one."""
    subscription = ids.subscription_of(ctx.arm_id)
    return f"/subscriptions/{subscription}" if subscription else ""


EXTENSIONS.on(MODIFY_PAYLOAD)(role_by_name(BuiltInRoles()))


def _is_inherited(obj: JsonObject, owner_id: str) -> bool:
    return not ids.same(str(dig(obj, "status.scope") or ""), owner_id)


EXTENSIONS.on(IMPORT)(skip_import_if("is inherited from a wider scope", _is_inherited))
