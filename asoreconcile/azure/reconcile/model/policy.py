"""The reconcile policy of an object, which allows PUT, GET and DELETE or forbids them.
Pure.
"""

from collections.abc import Mapping
from enum import Enum

from asoreconcile.azure.reconcile.model.annotation_row import Annotation, choice
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
_QUIET = {"", Policy.MANAGE.value, Policy.DETACH_ON_DELETE.value}


def _matter(text: str, deleting: bool) -> str:
    """Return the part of a policy whose change needs a reconcile.

    A change to or from `skip` is a reason (R6.1, R6.3), and so is a change to or from
    an unknown value, which must be reported. For an object that is being deleted every
    change is a reason, because it may wait for `detach-on-delete`.
    """
    return text if deleting or text not in _QUIET else ""


RECONCILE_POLICY_ROW: Annotation[Policy] = Annotation(
    RECONCILE_POLICY,
    says="what is written to Azure: with `skip` the resource is only read, with "
    "`detach-on-delete` it stays when the object is deleted",
    values="`manage`, `skip` or `detach-on-delete`",
    effect="nothing is written or deleted in Azure",
    parse=choice(Policy),
    # An unknown value may have been meant to protect the resource (R1.7).
    if_wrong=None,
    holds_writes=True,
    setting="DEFAULT_RECONCILE_POLICY",
    default=Policy.MANAGE,
    in_deletion=True,
    matter=_matter,
    wakes_rivals=True,
)


def policy_of(
    own: Mapping[str, str], inherited: Mapping[str, str], default: Policy
) -> Policy | None:
    """Return the policy in force; None if its value is unknown.

    An unknown value may have been meant to protect the resource, so nothing may be
    written or deleted (`annotation_table.reports` says so).

    own, inherited: the annotations of the object and of its Namespace. Rule: R1.7.
    """
    return RECONCILE_POLICY_ROW.value(own, inherited, default)
