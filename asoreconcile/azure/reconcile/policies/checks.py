"""Runs the checks of extensions that decide whether a PUT may be sent.

The checks use answers of new GETs, never an older status. Rules: R1.9, R1.10.
"""

from collections.abc import Callable

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass
from asoreconcile.azure.arm.errors import ArmError, stated_resource
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.status import status_of
from asoreconcile.azure.middleware.chain import Extensions
from asoreconcile.azure.middleware.context import ReconcileContext
from asoreconcile.azure.middleware.extension_points import (
    EVERY_SUCCESS,
    POST_RECONCILE,
    PRE_RECONCILE,
    PRE_RECONCILE_OWNER,
)
from asoreconcile.azure.middleware.requests import (
    Block,
    NotReady,
    Postpone,
    PostReconcile,
    PreReconcile,
    PreReconcileOwner,
    PreResult,
    Proceed,
    Ready,
    Success,
)
from asoreconcile.azure.reconcile.model.conditions import BLOCKED, reconciling
from asoreconcile.azure.reconcile.model.decisions import Requeue
from asoreconcile.azure.reconcile.model.owner import Owner, waiting
from asoreconcile.azure.reconcile.policies.requests import (
    DecidedPut,
    Intent,
    SettleRequest,
)
from asoreconcile.azure.reconcile.scope.owner_reads import OwnerReads
from asoreconcile.azure.reconcile.scope.patch_helper import PatchHelper
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.scope.shared_dependencies import (
    Connection,
    SharedDependencies,
)
from asoreconcile.base.objects import JsonObject
from asoreconcile.kube.patch import apply_merge_patch


def check_first(intent: Intent) -> Intent | Requeue | None:
    """Run the checks before the body is made, if a PUT is sent whatever is read. Raises
    as `run_prechecks`.

    Otherwise they run once a PUT was decided (`check_late`): an extension may make room
    for the resource.
    """
    if intent.is_sync or intent.scope.memory.accepted is not None:
        return None
    pause = run_prechecks(intent.scope, intent.owner)
    if pause is not None:
        return postponed(intent.scope.patcher, pause)
    return attrs.evolve(intent, is_checked=True)


def check_late(request: DecidedPut) -> Requeue | None:
    """Run the checks before a PUT, unless they have run. Raises as `run_prechecks`."""
    if request.intent.is_checked:
        return None
    pause = run_prechecks(request.scope, request.intent.owner)
    return None if pause is None else postponed(request.scope.patcher, pause)


def postponed(patcher: PatchHelper, pause: Requeue) -> Requeue:
    """End a postponed reconcile: Ready stays as it is; a new object shows that it is
    being reconciled.
    """
    if not patcher.status.get("conditions"):
        patcher.set_ready(reconciling(patcher.generation))
    return pause


def after_precheck(result: PreResult) -> Requeue | None:
    """Return the end of the reconcile without a PUT; None if the PUT may be sent.

    Raises ConditionError `ReconciliationBlocked` if a check blocks the PUT (R1.10).
    """
    return None if isinstance(result, Proceed) else pause_of(result)


def pause_of(result: Block | Postpone) -> Requeue:
    """Return the end of a reconcile that an extension postpones. Raises ConditionError
    `ReconciliationBlocked` if it blocks the PUT (R1.10).
    """
    if isinstance(result, Block):
        raise ConditionError(result.message, reason=BLOCKED, retry=result.retry)
    return Requeue(result.after_seconds)


def run_prechecks(scope: ReconcileScope, owner: Owner | None) -> Requeue | None:
    """Return the end of the reconcile if a check decides against the PUT; None if the
    PUT may be sent.

    Blocking: a GET for each check. Raises ConditionError `WaitingForOwner` if the owner
    does not exist in Azure, and the exceptions of the checks.
    """
    patcher, extensions = scope.patcher, scope.operator.extensions
    gk = patcher.version.group_kind
    if owner is not None and extensions.has(PRE_RECONCILE_OWNER, gk):
        check_owner = extensions.chain(PRE_RECONCILE_OWNER, gk)
        version = _owner_version(scope.operator, patcher.version, owner)
        if version is not None:
            fresh = _fresh_owner(
                scope.operator.owner_reads, scope.connection, owner, version
            )
            result = check_owner(
                PreReconcileOwner(ctx=scope.context, owner=fresh, obj=patcher.obj)
            )
            if decided := after_precheck(result):
                return decided
    if extensions.has(PRE_RECONCILE, gk):
        check = extensions.chain(PRE_RECONCILE, gk)
        obj = patcher.obj
        if patcher.version.is_arm:
            body = scope.context.raw_get()
            # Without a status if Azure has no resource: the old status of a deleted
            # resource must not block the next one.
            fresh = {} if body is None else status_of(patcher.version, body)
            obj = {**obj, "status": fresh}
        return after_precheck(check(PreReconcile(ctx=scope.context, obj=obj)))
    return None


def _fresh_owner(
    reads: OwnerReads, connection: Connection, owner: Owner, version: KindVersion
) -> JsonObject:
    """Return the owner with the status that Azure reports now; it is not written.

    Raises ConditionError `WaitingForOwner` if the owner does not exist in Azure, so
    that there is nothing to check.
    """
    try:
        body = reads.get(
            connection.client,
            owner.arm_id,
            version.api_version,
            credential=connection.source,
        )
    except ArmError as error:
        if error.is_not_found:
            what = "correct spec.owner" if owner.obj is None else _SEE_OWNER
            raise waiting(
                f"the owner {owner.arm_id} does not exist in Azure, so nothing is sent:"
                f" it is waited for; {what}",
                retry=RetryClass.SLOW,
            ) from error
        raise
    body = stated_resource(body, url=owner.arm_id)
    base = owner.obj or {
        "apiVersion": version.gvk.api_version,
        "kind": version.gvk.kind,
        "metadata": {"name": owner.arm_id.rpartition("/")[2]},
    }
    return {**base, "status": status_of(version, body)}


_SEE_OWNER = "see its own Ready condition"


def _owner_version(
    operator: SharedDependencies, version: KindVersion, owner: Owner
) -> KindVersion | None:
    """Return the version at which to read the owner: the served one, else the newest in
    the catalogue.

    version: version of the child. None for an owner by ARM id whose kind is unknown,
    because its body cannot be mapped.
    """
    group_kind = owner.group_kind or version.owner
    if group_kind is None:
        return None
    served = operator.objects.served(group_kind)
    return served or operator.catalogue.kind(group_kind).version()


def require_usable(request: SettleRequest) -> None:
    """Check a read resource by extensions. Raises as `check_usable`."""
    scope = request.scope
    extensions, context = scope.operator.extensions, scope.context
    check_usable(scope.patcher, context, extensions, scope.owner)


def report_success(request: SettleRequest) -> None:
    """Set the annotations that extensions give the object at each success."""
    scope = request.scope
    annotate_success(scope.patcher, scope.context, scope.operator.extensions)


def check_usable(
    patcher: PatchHelper,
    context: ReconcileContext,
    extensions: Extensions,
    owner_of: Callable[[], Owner | None],
) -> None:
    """Raise ConditionError if an extension says that the resource is not usable.

    owner_of: returns the object's owner.
    """
    group_kind = patcher.version.group_kind
    if not extensions.has(POST_RECONCILE, group_kind):
        return
    owner = owner_of()
    result = extensions.chain(POST_RECONCILE, group_kind)(
        PostReconcile(
            ctx=context,
            obj={**patcher.obj, "status": patcher.status},
            owner=None if owner is None else owner.obj,
        )
    )
    match result:
        case NotReady() as failed:
            raise ConditionError(
                failed.message,
                reason=failed.reason,
                severity=failed.severity,
                retry=failed.retry,
            )
        case Ready(status_patch=patch) if patch:
            patcher.replace_status(apply_merge_patch(patcher.status, patch))


def annotate_success(
    patcher: PatchHelper, context: ReconcileContext, extensions: Extensions
) -> None:
    """Set the annotations that extensions give the object at each success."""
    group_kind = patcher.version.group_kind
    if not extensions.has(EVERY_SUCCESS, group_kind):
        return
    current = {**patcher.obj, "status": patcher.status}
    chain = extensions.chain(EVERY_SUCCESS, group_kind)
    patcher.annotate(chain(Success(ctx=context, obj=current)))
