"""Vault: recovers or purges a soft-deleted vault that still has the name.

A deleted vault keeps its name for weeks. The create mode `createOrRecover` recovers it,
`purgeThenCreate` removes it for good; both modes are this operator's, not Azure's. Both
are done only before the first creation that an object asks for, and only to a vault
that had the object's own ARM id: a vault that is deleted later is neither purged nor
recovered.
"""

from collections.abc import Callable

from asoreconcile.azure.arm import ids, outcomes
from asoreconcile.azure.arm.absence import Absence
from asoreconcile.azure.arm.condition_error import ConditionError, unusable
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.middleware.context import ReconcileContext
from asoreconcile.azure.middleware.extension_points import MODIFY_PAYLOAD
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.requests import ModifyPayload
from asoreconcile.base.objects import JsonObject, dig

EXTENSIONS = built_in("keyvault", "Vault")

# Fixed: Azure's published types have no deleted vaults, at no version.
_API_VERSION = "2024-11-01"
_RECOVER, _PURGE = "createOrRecover", "purgeThenCreate"


@EXTENSIONS.on(MODIFY_PAYLOAD)
def create_mode(
    req: ModifyPayload, call_next: Callable[[ModifyPayload], JsonObject], /
) -> JsonObject:
    """Replace the operator's two create modes by Azure's, `recover` or `default`.

    If there is no vault yet, the deleted vault is read by one GET; only 404 counts as
    "no deleted vault". A purge is a sub-operation and raises SuboperationPending while
    it runs. Raises ConditionError (Error) if the deleted vault had another id.
    """
    payload = call_next(req)
    mode = dig(payload, "properties.createMode")
    if mode not in (_RECOVER, _PURGE):
        return payload
    if not req.is_first or not _is_absent(req.ctx):
        return _with_mode(payload, "default")
    if mode == _RECOVER:
        return _with_mode(payload, _recover_or_default(req.ctx, payload))
    _purge(req.ctx, payload)
    return _with_mode(payload, "default")


def _is_absent(ctx: ReconcileContext) -> bool:
    return ctx.raw_get() is None and ctx.absence is Absence.CERTAIN


def _recover_or_default(ctx: ReconcileContext, payload: JsonObject) -> str:
    vault = _deleted_id(ctx, payload)
    if not _is_own(ctx, _deleted(ctx, vault)):
        return "default"
    ctx.event("Normal", "DeletedVaultRecovered", f"Recovering {vault}")
    return "recover"


def _is_own(ctx: ReconcileContext, deleted: JsonObject | None) -> bool:
    """Return whether there is a deleted vault. Raises ConditionError unless it had this
    object's id.
    """
    if deleted is None:
        return False
    theirs = _id_of(deleted)
    if not ids.same(theirs, ctx.arm_id):
        group = ids.parse(theirs).resource_group
        raise unusable(
            f"the deleted vault of this name was {theirs}, of resource group {group!r},"
            f" and not {ctx.arm_id}: recover or purge it there, or choose another "
            "azureName"
        )
    return True


def _id_of(deleted: JsonObject) -> str:
    found = dig(deleted, "properties.vaultId")
    try:
        if isinstance(found, str) and ids.parse(found).resource_group:
            return found
    except ids.ArmIdError:
        pass
    raise ConditionError(
        "Azure does not say which resource group the deleted vault of this name "
        "belongs to: recover or purge it by hand, or choose another azureName",
        reason="Failed",
    )


def _purge(ctx: ReconcileContext, payload: JsonObject) -> None:
    """Purge the deleted vault of this id, over as many reconciles as it takes."""
    vault = _deleted_id(ctx, payload)

    def begin() -> outcomes.ArmOutcome:
        if not _is_own(ctx, _deleted(ctx, vault)):
            return outcomes.OperationDone()
        ctx.log.info("Purging deleted vault", armId=vault)
        ctx.event("Warning", "DeletedVaultPurged", f"Purging {vault} for good")
        return ctx.arm.post(f"{vault}/purge", _API_VERSION)

    ctx.lro("purge-vault", begin)


def _deleted(ctx: ReconcileContext, vault: str) -> JsonObject | None:
    try:
        return ctx.arm.get(vault, _API_VERSION)
    except ArmError as error:
        if error.is_not_found:
            return None
        raise


def _deleted_id(ctx: ReconcileContext, payload: JsonObject) -> str:
    """Return the id that a deleted vault with this Azure name would have."""
    subscription = ids.subscription_of(ctx.arm_id) or ctx.subscription_id
    location = str(payload.get("location") or "").replace(" ", "").lower()
    name = ids.parse(ctx.arm_id).name
    return (
        f"/subscriptions/{subscription}/providers/Microsoft.KeyVault"
        f"/locations/{location}/deletedVaults/{name}"
    )


def _with_mode(payload: JsonObject, mode: str) -> JsonObject:
    return {**payload, "properties": {**payload["properties"], "createMode": mode}}
