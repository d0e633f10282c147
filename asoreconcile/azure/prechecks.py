"""The checks before a PUT: may the owner take it, may the resource take it.

Order and cost are the contract (R1.9): a fresh GET of the owner, its check, and only
if that passes a fresh GET of the resource and its check. No check, no GET; and children
that wait on one owner share its GETs (`owner_reads`). What the GETs say decides, never
what a status remembers.
"""

from asoreconcile.arm.condition_error import ConditionError, RetryClass
from asoreconcile.arm.errors import ArmError
from asoreconcile.azure.owner import Owner, waiting
from asoreconcile.azure.scope import ReconcileScope
from asoreconcile.catalogue.kinds import KindVersion
from asoreconcile.catalogue.status import status_of
from asoreconcile.middleware.extension_points import PRE_RECONCILE, PRE_RECONCILE_OWNER
from asoreconcile.middleware.requests import (
    Block,
    Postpone,
    PreReconcile,
    PreReconcileOwner,
    PreResult,
    Proceed,
)
from asoreconcile.objects import JsonObject


def run_prechecks(scope: ReconcileScope, owner: Owner | None) -> Postpone | None:
    """Whether the PUT may go out now: None is yes.

    Raises ConditionError: `ReconciliationBlocked` when a check blocks (R1.10),
    `WaitingForOwner` when Azure has no owner that could be checked.
    """
    extensions, gk = scope.operator.extensions, scope.kind.group_kind
    if owner is not None and extensions.has(PRE_RECONCILE_OWNER, gk):
        check_owner = extensions.chain(PRE_RECONCILE_OWNER, gk)
        version = _owner_version(scope, owner)
        if version is not None:
            fresh = _fresh_owner(scope, owner, version)
            result = check_owner(
                PreReconcileOwner(ctx=scope.context, owner=fresh, obj=scope.obj)
            )
            if postponed := _passed(result):
                return postponed
    if extensions.has(PRE_RECONCILE, gk):
        check = extensions.chain(PRE_RECONCILE, gk)
        return _passed(check(PreReconcile(ctx=scope.context, obj=_fresh(scope))))
    return None


def _passed(result: PreResult) -> Postpone | None:
    match result:
        case Proceed():
            return None
        case Postpone():
            return result
        case Block(message=message, retry=retry):
            raise ConditionError(message, reason="ReconciliationBlocked", retry=retry)


def _fresh_owner(
    scope: ReconcileScope, owner: Owner, version: KindVersion
) -> JsonObject:
    """The owner with the status Azure reports now; kept in memory only.

    Raises ConditionError `WaitingForOwner` when Azure has none: the check would judge
    what is not there, and a child is not put under it.
    """
    base = owner.obj or {
        "apiVersion": version.gvk.api_version,
        "kind": version.gvk.kind,
        "metadata": {"name": owner.arm_id.rpartition("/")[2]},
    }
    try:
        body = scope.operator.owner_reads.get(
            scope.connection.client,
            owner.arm_id,
            version.api_version,
            credential=scope.connection.source,
        )
    except ArmError as error:
        if error.is_not_found:
            raise _absent(owner) from error
        raise
    return {**base, "status": status_of(version, body)}


def _absent(owner: Owner) -> ConditionError:
    what = "correct spec.owner" if owner.obj is None else "see its own Ready condition"
    return waiting(
        f"the owner {owner.arm_id} does not exist in Azure, so nothing is sent: it is "
        f"waited for; {what}",
        retry=RetryClass.SLOW,
    )


def _owner_version(scope: ReconcileScope, owner: Owner) -> KindVersion | None:
    """The version to read the owner at: the one served, else the newest catalogued.

    None for an owner given by id whose kind is not known: it cannot be read as one.
    """
    group_kind = owner.group_kind or scope.version.owner
    if group_kind is None:
        return None
    served = scope.operator.objects.served(group_kind)
    return served or scope.operator.catalogue.kind(group_kind).version()


def _fresh(scope: ReconcileScope) -> JsonObject:
    """The object with the status Azure reports now; with none if Azure has none: what
    its status remembers of a resource that went must not hold back the next one.
    """
    body = scope.context.raw_get()
    return {
        **scope.obj,
        "status": {} if body is None else status_of(scope.version, body),
    }
