"""Collects the facts about an object to claim, for `claim` to decide. Blocking."""

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.catalogue.payload import to_arm
from asoreconcile.azure.reconcile.identity.claim import ClaimFacts
from asoreconcile.azure.reconcile.identity.identity import is_from_config
from asoreconcile.azure.reconcile.identity.identity_reads import identify
from asoreconcile.azure.reconcile.model.owner import Owner, require_ready, waiting
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.scope.validate import require_valid
from asoreconcile.base.objects import finalizers, owner_references, spec


def facts_of_claim(scope: ReconcileScope) -> ClaimFacts:
    """Raises ConditionError for what the claim waits for."""
    require_valid(scope)
    owner = claimable_owner(scope)
    identity = identify(scope, owner)
    scope.require_subscription(identity.arm_id)
    # Resolve every input now: an object that cannot be PUT is not claimed yet.
    to_arm(scope.version, spec(scope.obj), name=identity.name, inputs=scope.references)
    return ClaimFacts(
        name=identity.name,
        arm_id=identity.arm_id,
        name_is_from_config=is_from_config(scope.obj),
        generation=scope.patcher.generation,
        finalizers=finalizers(scope.obj),
        owner_references=owner_references(scope.obj),
        owner=owner,
        credential=scope.connection.source,
        build=scope.operator.build,
    )


def claimable_owner(scope: ReconcileScope) -> Owner | None:
    """The owner, which must exist and be Ready; otherwise the object waits (R1.5)."""
    try:
        owner = scope.owner()
    except ConditionError as error:
        if error.reason == "ReferenceNotFound":
            raise waiting(str(error)) from error
        raise
    require_ready(owner)
    return owner
