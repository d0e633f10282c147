"""The checks before a PUT: may the owner take it, may the resource take it.

Order and cost are the contract (R1.9): a fresh GET of the owner, its check, and only
if that passes a fresh GET of the resource and its check. No check, no GET; and children
that wait on one owner share its GETs (`owner_reads`).
"""

from asoreconcile.arm.faults import ArmError
from asoreconcile.azure.owner import Owner
from asoreconcile.azure.work import Work
from asoreconcile.catalogue.kinds import KindVersion
from asoreconcile.catalogue.status import status_of
from asoreconcile.errors import ConditionError
from asoreconcile.middleware.points import PRE_RECONCILE, PRE_RECONCILE_OWNER
from asoreconcile.middleware.requests import (
    Block,
    Postpone,
    PreReconcile,
    PreReconcileOwner,
    PreResult,
    Proceed,
)
from asoreconcile.objects import JsonObject


def run_prechecks(work: Work, owner: Owner | None) -> Postpone | None:
    """Whether the PUT may go out now: None is yes.

    Raises ConditionError `ReconciliationBlocked` when a check blocks (R1.10).
    """
    extensions, gk = work.operator.extensions, work.kind.group_kind
    if owner is not None and extensions.has(PRE_RECONCILE_OWNER, gk):
        check_owner = extensions.chain(PRE_RECONCILE_OWNER, gk)
        fresh = _fresh_owner(work, owner)
        if fresh is not None:
            result = check_owner(
                PreReconcileOwner(ctx=work.context, owner=fresh, obj=work.obj)
            )
            if postponed := _passed(result):
                return postponed
    if extensions.has(PRE_RECONCILE, gk):
        check = extensions.chain(PRE_RECONCILE, gk)
        return _passed(check(PreReconcile(ctx=work.context, obj=_fresh(work))))
    return None


def _passed(result: PreResult) -> Postpone | None:
    match result:
        case Proceed():
            return None
        case Postpone():
            return result
        case Block(message=message, retry=retry):
            raise ConditionError(message, reason="ReconciliationBlocked", retry=retry)


def _fresh_owner(work: Work, owner: Owner) -> JsonObject | None:
    """The owner with the status Azure reports now; kept in memory only.

    None when Azure does not know the owner: the PUT will say so better.
    """
    version = _owner_version(work, owner)
    if version is None:
        return None
    base = owner.obj or {
        "apiVersion": version.gvk.api_version,
        "kind": version.gvk.kind,
        "metadata": {"name": owner.arm_id.rpartition("/")[2]},
    }
    try:
        body = work.operator.owner_reads.get(
            work.connection.client,
            owner.arm_id,
            version.api_version,
            credential=work.connection.source,
        )
    except ArmError as error:
        if error.status == 404:
            return None
        raise
    return {**base, "status": status_of(version, body)}


def _owner_version(work: Work, owner: Owner) -> KindVersion | None:
    """The version to read the owner at: the one served, else the newest catalogued."""
    group_kind = owner.group_kind or work.version.owner
    if group_kind is None:
        return None
    served = work.operator.objects.served(group_kind)
    return served or work.operator.catalogue.kind(group_kind).version()


def _fresh(work: Work) -> JsonObject:
    """The object with the status Azure reports now; as it was if Azure has none."""
    body = work.context.raw_get()
    if body is None:
        return work.obj
    return {**work.obj, "status": status_of(work.version, body)}
