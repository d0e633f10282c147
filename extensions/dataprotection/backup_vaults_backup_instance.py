"""BackupVaultsBackupInstance: ready once its protection has settled.

Protection that failed for want of a permission is tried again by a sync, which Azure
does not start by itself.
"""

from collections.abc import Callable

from asoreconcile.azure.middleware.context import KeptAs
from asoreconcile.azure.middleware.extension_points import POST_RECONCILE
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.requests import NotReady, PostReconcile, PostResult
from asoreconcile.base.objects import dig

EXTENSIONS = built_in("dataprotection", "BackupVaultsBackupInstance")

# Fixed: Azure's published types do not list the action, at no version.
_API_VERSION = "2024-04-01"
_SYNC = "sync-backup-instance"
_KEPT_AS = KeptAs(
    "serviceoperator.azure.com/bi-poller-resume-token",
    "BackupInstancesClientSyncBackupInstanceResponse",
)
_PROTECTION = "status.properties.protectionStatus"
_SETTLED = frozenset(
    {
        "configuringprotectionfailed",
        "invalid",
        "notprotected",
        "protectionconfigured",
        "softdeleted",
        "protectionstopped",
        "backupschedulessuspended",
        "retentionschedulessuspended",
    }
)


@EXTENSIONS.on(POST_RECONCILE)
def until_protection_settles(
    req: PostReconcile, call_next: Callable[[PostReconcile], PostResult], /
) -> PostResult:
    """Report not ready while protection is being configured; sync a user's error,
    unless the sync mode is `report`.

    The sync is a sub-operation and raises SuboperationPending while it runs; when it
    has ended, the next reconcile sees the state of the protection.
    """
    state = dig(req.obj, f"{_PROTECTION}.status")
    if req.owner is None or not dig(req.obj, "status.id") or not state:
        return call_next(req)
    if state.lower() in _SETTLED:
        req.ctx.operations.clear(_KEPT_AS.annotation)
        return call_next(req)
    code = dig(req.obj, f"{_PROTECTION}.errorDetails.code") or ""
    is_users = state.lower() == "protectionerror" and "usererror" in code.lower()
    if is_users and not req.ctx.only_reports:
        _sync(req)
        return NotReady(f'protection is in state "{state}" ({code}): it was synced')
    return NotReady(f'protection is in state "{state}"')


def _sync(req: PostReconcile) -> None:
    ctx = req.ctx
    action = f"{ctx.arm_id}/sync"
    body = {"syncType": "Default"}
    ctx.lro(_SYNC, lambda: ctx.arm.post(action, _API_VERSION, body), kept_as=_KEPT_AS)
