"""Shows in a condition that an object cannot be read; does nothing else with it."""

from asoreconcile.azure.reconcile.model.annotations import OPERATOR_NAMESPACE
from asoreconcile.azure.reconcile.model.conditions import ReadyCondition, merge_ready
from asoreconcile.azure.reconcile.scope.reconcile_scope import (
    KindRuntime,
    SharedDependencies,
)
from asoreconcile.base.objects import (
    JsonObject,
    annotations,
    generation,
    key_of,
    status,
    uid_of,
)
from asoreconcile.cache.unreadable import REASON
from asoreconcile.kube.errors import InvalidError, NotFoundError
from asoreconcile.kube.patch import merge_patch


def report_unreadable(
    operator: SharedDependencies, kind: KindRuntime, known: JsonObject, message: str
) -> None:
    """Set the object's Ready condition and record an event, unless it is already set.

    known: the readable part: metadata and conditions. Raises ApiError or TransportError
    when that cannot be written now.
    """
    claimed_by = annotations(known).get(OPERATOR_NAMESPACE)
    # Another operator may be able to read it: only the object's own operator reports
    # it.
    if claimed_by and claimed_by != operator.namespace:
        return
    before = status(known).get("conditions") or []
    ready = ReadyCondition("False", REASON, "Error", message, generation(known))
    wanted = merge_ready(before, ready, operator.clock.now())
    change = merge_patch({"conditions": before}, {"conditions": wanted})
    if change is None:
        return
    body = {"metadata": {"uid": uid_of(known)}, "status": change}
    try:
        operator.client.patch(kind.resource, key_of(known), body, subresource="status")
    except (NotFoundError, InvalidError):
        return  # deleted, or another object has its name
    operator.recorder.event(known, "Warning", REASON, message)
