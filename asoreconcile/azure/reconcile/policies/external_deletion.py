"""External deletion: reports that a resource is another one with the same id. The
decision is `model.external_deletion`. Rule: I6.
"""

from asoreconcile.azure.reconcile.model.birth import is_another
from asoreconcile.azure.reconcile.model.decisions import ReadAfter
from asoreconcile.azure.reconcile.model.external_deletion import RECREATED, what_to_do
from asoreconcile.azure.reconcile.policies.requests import SettleRequest
from asoreconcile.base.objects import status


def report_another(request: SettleRequest) -> None:
    """Record an event if the read resource is another one than the status showed, and
    wake the child objects.

    If nothing was sent (policy skip), another resource at this id is not the object's
    to report.
    """
    scope, accepted = request.scope, request.scope.memory.accepted
    is_reported = accepted is not None and accepted.recreated
    if request.after is ReadAfter.NOTHING or is_reported:
        return
    if is_another(status(scope.patcher.obj), scope.patcher.status):
        scope.event("Warning", RECREATED, what_to_do(scope.patcher.arm_id))
        scope.wake_children()
