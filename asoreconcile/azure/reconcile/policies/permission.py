"""Confirms, before each write, that the object and its Namespace as they are now permit
it. At most two requests to the API server.
"""

from collections.abc import Iterable

from asoreconcile.azure.reconcile.model.annotations import operators_own
from asoreconcile.azure.reconcile.model.existence import annotation_of_claim
from asoreconcile.azure.reconcile.model.policy import policy_of
from asoreconcile.azure.reconcile.policies.phase import PhaseOf, run
from asoreconcile.azure.reconcile.policies.requests import WriteRequest
from asoreconcile.azure.reconcile.scope.patch_helper import PatchHelper, behind
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.scope.shared_dependencies import SharedDependencies


def confirm_object(operator: SharedDependencies, patcher: PatchHelper) -> None:
    """Make sure that the object is unchanged since this reconcile read it.

    At most one request. Raises GoneError, StaleError.
    """
    is_asked = not patcher.is_live
    patcher.confirm()
    if is_asked:
        operator.count_confirmation("object")


def confirm(
    scope: ReconcileScope,
    phases: Iterable[PhaseOf[WriteRequest, None]],
    *,
    is_delete: bool,
) -> None:
    """Make sure that the object and its Namespace, as they are now, permit a write.

    They are read from the API server, as late as possible: because of a cache that
    lags, a resource must not be created for an object that is gone (D2), nor be changed
    or deleted against a policy. phases: the policies to ask. Raises GoneError;
    StaleError, after which the reconcile starts again from the newer object;
    ConditionError `NamespaceUnreadable`; and the exceptions of the phases.
    """
    patcher, operator = scope.patcher, scope.operator
    confirm_object(operator, patcher)
    inherited = operator.namespace_annotations.live(
        patcher.key.namespace, since=scope.began
    )
    operator.count_confirmation("namespace")
    known = scope.namespace_annotations
    # The body rests on some annotations of the Namespace, as those about tags.
    if inherited != known and operators_own(inherited) != operators_own(known):
        if patcher.version.decides_existence and scope.manages_nothing:
            # The decision about a resource that exists rested on the former
            # annotations.
            patcher.record(annotation_of_claim(patcher.annotations, inherited))
        raise behind(patcher)
    run(phases, WriteRequest(scope, inherited, is_delete), _permitted)


def _permitted(_: WriteRequest) -> None:
    """Permit a write to which no policy objects."""


def confirm_release(scope: ReconcileScope) -> None:
    """Make sure that the policy of the Namespace, as it is now, also keeps the resource
    of a deleted object.

    A release cannot be undone: the resource would stay in Azure. Raises StaleError,
    ConditionError `NamespaceUnreadable`.
    """
    patcher, operator = scope.patcher, scope.operator
    inherited = operator.namespace_annotations.live(
        patcher.key.namespace, since=scope.began
    )
    operator.count_confirmation("namespace")
    policy = policy_of(patcher.annotations, inherited, operator.default_policy)
    if policy is None or policy.deletes:
        raise behind(patcher)
