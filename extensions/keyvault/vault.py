"""Vault: what becomes of a soft-deleted vault that holds the name.

A deleted vault keeps its name for weeks. `createOrRecover` brings it back,
`purgeThenCreate` removes it for good; Azure itself knows neither word.
"""

from collections.abc import Callable

from asoreconcile.azure.arm import ids, outcomes
from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.middleware.context import ReconcileContext
from asoreconcile.azure.middleware.extension_points import MODIFY_PAYLOAD
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.requests import ModifyPayload
from asoreconcile.base.objects import GroupKind, JsonObject, dig

VAULT = GroupKind("keyvault.azure.com", "Vault")
EXTENSIONS = ExtensionSet("keyvault.Vault", BUILT_IN_ORDER)

_API_VERSION = "2024-11-01"


@EXTENSIONS.on(MODIFY_PAYLOAD, VAULT)
def create_mode(
    req: ModifyPayload, call_next: Callable[[ModifyPayload], JsonObject], /
) -> JsonObject:
    """Turn our two create modes into what Azure takes: `recover` or `default`.

    The deleted vault is read by one GET; only 404 counts as "no deleted vault". A purge
    is a sub-operation and raises SuboperationPending while it runs. Raises
    ConditionError (Error) if the vault to recover belongs to another resource group.
    """
    payload = call_next(req)
    match dig(payload, "properties.createMode"):
        case "createOrRecover":
            return _with_mode(payload, _recover_or_default(req.ctx, payload))
        case "purgeThenCreate":
            _purge(req.ctx, payload)
            return _with_mode(payload, "default")
        case _:
            return payload


def _recover_or_default(ctx: ReconcileContext, payload: JsonObject) -> str:
    deleted = _deleted(ctx, _deleted_id(ctx, payload))
    if deleted is None:
        return "default"
    theirs = _group_of(dig(deleted, "properties.vaultId") or ctx.arm_id)
    ours = ids.parse(ctx.arm_id).resource_group
    if (theirs or "").lower() != (ours or "").lower():
        raise ConditionError(
            f"the deleted vault of this name belongs to resource group {theirs!r}, not "
            f"to {ours!r}: recover or purge it there, or choose another azureName",
            reason="Failed",
            severity="Error",
        )
    return "recover"


def _group_of(vault_id: object) -> str | None:
    try:
        if isinstance(vault_id, str):
            return ids.parse(vault_id).resource_group
    except ids.ArmIdError:
        pass
    raise ConditionError(
        "Azure does not say which resource group the deleted vault of this name "
        "belongs to: recover or purge it by hand, or choose another azureName",
        reason="Failed",
    )


def _purge(ctx: ReconcileContext, payload: JsonObject) -> None:
    """Purge the deleted vault of this name, over as many reconciles as it takes."""
    vault = _deleted_id(ctx, payload)

    def begin() -> outcomes.ArmOutcome:
        if _deleted(ctx, vault) is None:
            return outcomes.OperationDone()
        ctx.log.info("Purging deleted vault", armId=vault)
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
    """Return the id that a deleted vault with our Azure name would have."""
    subscription = ids.subscription_of(ctx.arm_id) or ctx.subscription_id
    location = str(payload.get("location") or "").replace(" ", "").lower()
    name = ids.parse(ctx.arm_id).name
    return (
        f"/subscriptions/{subscription}/providers/Microsoft.KeyVault"
        f"/locations/{location}/deletedVaults/{name}"
    )


def _with_mode(payload: JsonObject, mode: str) -> JsonObject:
    return {**payload, "properties": {**payload["properties"], "createMode": mode}}
