"""The sole manager of a resource: of several objects that declare an id, one manages
it.

The decision is `identity.duplicates`. Rule: D22.
"""

from asoreconcile.azure.reconcile.identity.duplicates import require_sole
from asoreconcile.azure.reconcile.policies.requests import Intent


def sole(intent: Intent) -> None:
    """Make sure that no other object manages the resource, before the body is made: an
    object that has to wait asks Azure nothing. Raises as `require_sole`.
    """
    scope, patcher = intent.scope, intent.scope.patcher
    arm_id = intent.identity.arm_id
    require_sole(scope.operator, patcher.version, patcher.obj, arm_id, scope.claim)
