"""Call Microsoft Graph in a reconcile, with its refusals as conditions."""

from collections.abc import Callable
from typing import TypeVar

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.entra.decisions import Facts, facts_of, is_another_tenant
from asoreconcile.azure.entra.kinds import kind_of
from asoreconcile.azure.entra.links import object_ids
from asoreconcile.azure.graph.client import GraphClient, GroupLink
from asoreconcile.azure.non_arm.extension_points import require_permission
from asoreconcile.azure.reconcile.model.annotations import OWN_PREFIX
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.base.objects import spec

TENANT = OWN_PREFIX + "entra-tenant"  # the tenant of the entry
_FORBIDDEN = 403
_Answer = TypeVar("_Answer")


def present_facts(scope: ReconcileScope) -> Facts:
    """Return the facts in the object now. Raises ConditionError."""
    return facts_of(scope.patcher.obj, now=scope.operator.clock.now())


def graph_of(scope: ReconcileScope) -> GraphClient:
    """Return the Graph client. Raises ConditionError if the credential is of another
    tenant.

    Entra tells a client of another tenant that the object does not exist.
    """
    connection = scope.connection
    noted, tenant = (scope.patcher.annotations.get(TENANT) or ""), connection.tenant_id
    if is_another_tenant(noted, tenant):
        noun = kind_of(scope.patcher.obj).collection.noun
        raise ConditionError(
            f"the {noun} is in tenant {noted}, but the credential from "
            f"{connection.source} is of {tenant}: use a credential of the {noun}'s "
            f"tenant, or remove annotation {TENANT} to have one in the other",
            reason="TenantMismatch",
            severity="Error",
        )
    return connection.graph()


def wanted_links(scope: ReconcileScope, link: GroupLink) -> tuple[str, ...] | None:
    """Return the ids of a link in the spec (`links.object_ids`)."""
    return object_ids(spec(scope.patcher.obj), link, scope.references.config_map)


def read(scope: ReconcileScope, call: Callable[[], _Answer]) -> _Answer:
    """Return the result of a read. Raises ConditionError if Graph refuses."""
    try:
        return call()
    except ArmError as error:
        raise advised(scope, scope.errors.read_failed(error), error) from error


def written(scope: ReconcileScope, call: Callable[[], _Answer]) -> _Answer:
    """Return the result of a write. Raises ConditionError if Graph refuses, and as
    `require_permission`.
    """
    require_permission(scope)
    try:
        return call()
    except ArmError as error:
        raise refused(scope, error) from error


def refused(scope: ReconcileScope, error: ArmError) -> ConditionError:
    """Return the condition for a refused write."""
    return advised(scope, scope.errors.put_failed(error), error)


def advised(
    scope: ReconcileScope, condition: ConditionError, error: ArmError
) -> ConditionError:
    """Return the condition, with the permission to grant if one is missing."""
    if error.status != _FORBIDDEN:
        return condition
    permission = kind_of(scope.patcher.obj).permission
    advice = (
        f"grant the operator's application the permission {permission} of Microsoft "
        "Graph (an application permission, with an administrator's consent)"
    )
    return condition.reworded(f"{condition}: {advice}")
