"""The actions of a deletion: the reads before the DELETE, the DELETE, its end.

Blocking, but no action sleeps. `delete` decides.
"""

from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.middleware import requests
from asoreconcile.azure.middleware.extension_points import DELETE
from asoreconcile.azure.reconcile.identity.duplicate_reads import holder
from asoreconcile.azure.reconcile.identity.identity_reads import is_own
from asoreconcile.azure.reconcile.model.decisions import Decision
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.sync.bulk_reads import note_write
from asoreconcile.azure.reconcile.writes import delete
from asoreconcile.azure.reconcile.writes.default_delete import is_absent
from asoreconcile.base.objects import annotations, finalizers, status


def prepare_delete(scope: ReconcileScope) -> Decision:
    """Find out whether the object may delete the resource. Raises as `execute`."""
    scope.require_subscription(scope.arm_id)
    of_type = delete.is_of_type(scope.arm_id, scope.version.arm_type)
    own = of_type and is_own(scope)
    facts = delete.DeleteFacts(
        arm_id=scope.arm_id,
        arm_type=scope.version.arm_type,
        is_own=own,
        older=holder(scope, scope.arm_id) if own else None,
        seen=_seen(scope),
    )
    return delete.before_delete(facts)


def send_delete(scope: ReconcileScope) -> Decision:
    """Send the DELETE through the extensions. Raises as `execute`."""
    chain = scope.operator.extensions.chain(DELETE, scope.kind.group_kind)
    scope.log.info("Deleting resource", armId=scope.arm_id)
    answer: requests.DeleteResult | ArmError
    try:
        # A concurrent PUT of the parent that contains this child must not recreate it.
        with scope.operator.parent_writes.writing(scope.arm_id):
            answer = chain(requests.DeleteRequest(ctx=scope.context, obj=scope.obj))
    except ArmError as error:
        answer = error
    finally:
        # Also without an answer: Azure may have accepted the DELETE.
        note_write(scope)
    return delete.after_delete(
        answer,
        stored=annotations(scope.obj),
        now=scope.operator.clock.monotonic(),
    )


def check_absent(scope: ReconcileScope) -> Decision:
    """Find out whether a resource was deleted with its parent. Raises as `execute`."""
    kind = scope.version.gvk.kind
    return delete.after_look(is_absent=is_absent(scope.context), kind=kind)


def release(scope: ReconcileScope) -> Decision:
    """Release the object: drop its memory and remove the finalizer."""
    scope.operator.forget(scope.kind, scope.key)
    return delete.released(
        finalizers(scope.obj), arm_id=scope.arm_id, seen=_seen(scope)
    )


def _seen(scope: ReconcileScope) -> str:
    """The id that the status shows."""
    return str(status(scope.obj).get("id") or "")
