"""Runs the checks that decide whether a PUT may be sent.

The checks use answers of new GETs, never an older status. Rules: R1.9, R1.10. Before
the checks, the resources that the spec refers to must be in Azure (OW-5).
"""

from collections.abc import Sequence

from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass
from asoreconcile.azure.arm.errors import ArmError, stated_resource
from asoreconcile.azure.catalogue.inputs import inputs_of
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.status import status_of
from asoreconcile.azure.middleware.extension_points import (
    PRE_RECONCILE,
    PRE_RECONCILE_OWNER,
)
from asoreconcile.azure.middleware.requests import (
    Block,
    Postpone,
    PreReconcile,
    PreReconcileOwner,
    PreResult,
    Proceed,
)
from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.annotations import (
    POLLER_ID,
    PUT_POLLER,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.claim_record import PutAnswers, claim_of
from asoreconcile.azure.reconcile.model.conditions import BLOCKED
from asoreconcile.azure.reconcile.model.decisions import Requeue
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.model.owner import Owner, waiting
from asoreconcile.azure.reconcile.model.reference_waits import (
    is_far_enough,
    waiting_for,
    waits_for_references,
)
from asoreconcile.azure.reconcile.scope.owner_reads import OwnerReads
from asoreconcile.azure.reconcile.scope.patch_helper import PatchHelper
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.scope.references import target_of
from asoreconcile.azure.reconcile.scope.shared_dependencies import (
    Connection,
    SharedDependencies,
)
from asoreconcile.azure.reconcile.writes.holds import severity_of_wait
from asoreconcile.base.objects import JsonObject, ObjectKey, spec


def after_precheck(result: PreResult) -> Requeue | None:
    """Return the end of the reconcile without a PUT; None if the PUT may be sent.

    Raises ConditionError `ReconciliationBlocked` if a check blocks the PUT (R1.10).
    """
    match result:
        case Proceed():
            return None
        case Postpone(after_seconds=after_seconds):
            return Requeue(after_seconds)
        case Block(message=message, retry=retry):
            raise ConditionError(message, reason=BLOCKED, retry=retry)


def run_prechecks(scope: ReconcileScope, owner: Owner | None) -> Requeue | None:
    """Return the end of the reconcile if a check decides against the PUT; None if the
    PUT may be sent.

    Blocking: a GET for each check. Raises ConditionError `WaitingForOwner` if the owner
    does not exist in Azure, and the exceptions of the checks; `WaitingForReference`.
    """
    patcher, extensions = scope.patcher, scope.operator.extensions
    # First: an object that has to wait asks Azure nothing for it.
    if patcher.version.is_arm:
        require_references(scope)
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


def require_references(scope: ReconcileScope) -> None:
    """Make sure that Azure accepts the references of a PUT.

    Not checked if the object need not wait for them, or if they form a cycle. Raises
    ConditionError `WaitingForReference`.
    """
    operator, patcher, memory = scope.operator, scope.patcher, scope.memory
    missing = [
        node
        for node in _referred(patcher)
        if _is_missing(operator, patcher, node, scope.objects.get(*node))
    ]
    if missing and not waits_for_references(
        patcher.annotations,
        scope.namespace_annotations,
        default=operator.wait_for_references,
    ):
        missing = []
    if not missing:
        memory.waiting_since = None
        return
    if memory.waiting_since is None:
        memory.waiting_since = scope.began
    seconds = scope.began - memory.waiting_since
    is_info = severity_of_wait(patcher) == "Info"
    raise waiting_for(missing, seconds=seconds, is_info=is_info)


def _referred(patcher: PatchHelper) -> Sequence[ObjectReference]:
    """Return the Azure objects that the spec refers to by name, each once."""
    found = (
        ObjectReference(group_kind, ObjectKey(patcher.key.namespace, name))
        for one in inputs_of(patcher.version, spec(patcher.obj))
        if one.kind == "reference"
        for group_kind, name in [target_of(one.value)]
    )
    return tuple(dict.fromkeys(found))


def _is_missing(
    operator: SharedDependencies,
    patcher: PatchHelper,
    node: ObjectReference,
    target: JsonObject | None,
) -> bool:
    """Return whether Azure does not accept the object's reference to another object
    yet.

    node, target: the other object; target is None if there is no such object.
    """
    version = patcher.version
    # The rendering of the body reports an object that is absent or has no id.
    if target is None or not annotations(target).get(RESOURCE_ID):
        return False
    claim = claim_of(target, operator.record_key)
    is_accepted = claim is not None and claim.answers is PutAnswers.ACCEPTED
    is_running = annotations(target).get(POLLER_ID) == PUT_POLLER
    if is_far_enough(version.arm_type, target, is_accepted=is_accepted or is_running):
        return False
    return not operator.leads_to(node, patcher.node)


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
