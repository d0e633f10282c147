"""The reconcile policy of an object, which allows PUT, GET and DELETE or forbids them.
Pure.
"""

from collections.abc import Mapping
from enum import Enum

from asoreconcile.azure.reconcile.model.annotations import RECONCILE_POLICY


class Policy(Enum):
    """`serviceoperator.azure.com/reconcile-policy`; values are case-sensitive."""

    MANAGE = "manage"
    DETACH_ON_DELETE = "detach-on-delete"
    SKIP = "skip"

    @property
    def writes(self) -> bool:
        """Return whether the operator may PUT the resource."""
        return self is not Policy.SKIP

    @property
    def deletes(self) -> bool:
        """Return whether the operator may delete the resource."""
        return self is Policy.MANAGE


LET_GO = (
    f"To remove only this object, annotate it with {RECONCILE_POLICY}: detach-on-delete"
)
# Policies that differ only at a deletion.
_QUIET = {None, "", Policy.MANAGE.value, Policy.DETACH_ON_DELETE.value}


def policy_of(
    own: Mapping[str, str], inherited: Mapping[str, str], default: Policy
) -> Policy | None:
    """Return the policy in force; None if its value is unknown.

    An unknown value may have been meant to protect the resource, so nothing may be
    written or deleted (`annotation_values` reports it).

    own, inherited: the annotations of the object and of its Namespace. Rule: R1.7.
    """
    value = own.get(RECONCILE_POLICY) or inherited.get(RECONCILE_POLICY)
    try:
        return Policy(value) if value else default
    except ValueError:
        return None


def concerns(
    before: Mapping[str, str], after: Mapping[str, str], *, deleting: bool
) -> bool:
    """Return whether a change of a policy annotation is a reason for a reconcile.

    A change to or from `skip` is a reason (R6.1, R6.3), and so is a change to or from
    an unknown value, which must be reported. For an object that is being deleted every
    change is a reason, because it may wait for `detach-on-delete`.
    """
    old, new = before.get(RECONCILE_POLICY), after.get(RECONCILE_POLICY)
    if old == new:
        return False
    return deleting or not {old, new} <= _QUIET
