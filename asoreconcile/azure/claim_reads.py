"""What is known of an object that is to be claimed, for `claim` to decide. Blocking."""

from asoreconcile.arm.condition_error import ConditionError
from asoreconcile.azure.claim import ClaimFacts
from asoreconcile.azure.identity import identify, is_from_config
from asoreconcile.azure.owner import Owner, require_ready, waiting
from asoreconcile.azure.scope import ReconcileScope
from asoreconcile.azure.validate import require_valid
from asoreconcile.catalogue.payload import to_arm
from asoreconcile.objects import finalizers, owner_references, spec


def facts_of_claim(work: ReconcileScope) -> ClaimFacts:
    """Raises ConditionError for what the claim waits for."""
    require_valid(work)
    owner = _owner(work)
    identity = identify(work, owner)
    work.require_subscription(identity.arm_id)
    # Resolve every input now: an object that cannot be PUT is not claimed yet.
    to_arm(work.version, spec(work.obj), name=identity.name, inputs=work.references)
    return ClaimFacts(
        name=identity.name,
        arm_id=identity.arm_id,
        name_is_from_config=is_from_config(work.obj),
        generation=work.session.generation,
        finalizers=finalizers(work.obj),
        owner_references=owner_references(work.obj),
        owner=owner,
        credential=work.connection.source,
        build=work.operator.build,
    )


def _owner(work: ReconcileScope) -> Owner | None:
    """The owner, existing and Ready. A missing one is waited for (R1.5)."""
    try:
        owner = work.owner()
    except ConditionError as error:
        if error.reason == "ReferenceNotFound":
            raise waiting(str(error)) from error
        raise
    require_ready(owner)
    return owner
