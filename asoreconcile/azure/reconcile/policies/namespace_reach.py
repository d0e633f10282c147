"""The reach of a Namespace: the scopes and types in which its objects may write.

The decision is `model.reach`. Rule: OW-9.
"""

from functools import partial

from asoreconcile.azure.reconcile.model.reach import require_in_reach
from asoreconcile.azure.reconcile.policies.requests import WriteRequest


def within_reach(write: WriteRequest) -> None:
    """Make sure that the Namespace allows the resource. Raises ConditionError
    `NotAllowedInNamespace`.
    """
    operator, patcher = write.scope.operator, write.scope.patcher
    version, arm_id = patcher.version, patcher.arm_id
    kind, namespace = version.group_kind, patcher.key.namespace
    is_granted = partial(operator.is_granted, kind, namespace, arm_id)
    require_in_reach(arm_id, version.arm_type, write.inherited, is_granted)
