"""The reads and extension checks of owner and resource before a PUT.

Order and cost are the contract (R1.9): a fresh GET of the owner, its check, and only if
that passes a fresh GET of the resource and its check. Without a check there is no GET.
Children that wait for one owner share its GETs (`owner_reads`).
"""

from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.middleware.extension_points import (
    PRE_RECONCILE,
    PRE_RECONCILE_OWNER,
)
from asoreconcile.azure.middleware.requests import PreReconcile, PreReconcileOwner
from asoreconcile.azure.reconcile.model.decisions import Decision
from asoreconcile.azure.reconcile.model.owner import Owner
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.writes.prechecks import (
    after_precheck,
    fresh_object,
    fresh_owner,
    owner_absent,
)
from asoreconcile.base.objects import JsonObject


def run_prechecks(scope: ReconcileScope, owner: Owner | None) -> Decision | None:
    """The checks' decision (`prechecks`); None: the PUT may be sent.

    Blocking: a GET for each check. Raises ConditionError `WaitingForOwner` if the owner
    does not exist in Azure, and what the checks raise.
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
            if decided := after_precheck(result):
                return decided
    if extensions.has(PRE_RECONCILE, gk):
        check = extensions.chain(PRE_RECONCILE, gk)
        body = scope.context.raw_get()
        obj = fresh_object(scope.obj, scope.version, body)
        return after_precheck(check(PreReconcile(ctx=scope.context, obj=obj)))
    return None


def _fresh_owner(
    scope: ReconcileScope, owner: Owner, version: KindVersion
) -> JsonObject:
    """The owner with the status Azure reports now; kept in memory only.

    Raises ConditionError `WaitingForOwner` if Azure has none, as the check would have
    nothing to judge.
    """
    try:
        body = scope.operator.owner_reads.get(
            scope.connection.client,
            owner.arm_id,
            version.api_version,
            credential=scope.connection.source,
        )
    except ArmError as error:
        if error.is_not_found:
            raise owner_absent(owner) from error
        raise
    return fresh_owner(owner, version, body)


def _owner_version(scope: ReconcileScope, owner: Owner) -> KindVersion | None:
    """The version to read the owner at: the one served, else the newest catalogued.

    None for an owner given by id whose kind is unknown: its body cannot be mapped.
    """
    group_kind = owner.group_kind or scope.version.owner
    if group_kind is None:
        return None
    served = scope.operator.objects.served(group_kind)
    return served or scope.operator.catalogue.kind(group_kind).version()
