"""The reconcile policy, asked again before each write. The values and their meaning are
in `model.policy`. Rule: R1.7.
"""

from asoreconcile.azure.reconcile.model.policy import policy_of
from asoreconcile.azure.reconcile.policies.requests import WriteRequest
from asoreconcile.azure.reconcile.scope.patch_helper import behind


def policy_allows(write: WriteRequest) -> None:
    """Make sure that the policy of the object, or of its Namespace as it is now, allows
    the write.

    Raises StaleError, as the reconcile began with another policy.
    """
    patcher = write.scope.patcher
    default = write.scope.operator.default_policy
    policy = policy_of(patcher.annotations, write.inherited, default)
    if not (policy and (policy.deletes if write.is_delete else policy.writes)):
        raise behind(patcher)
