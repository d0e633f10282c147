"""A reconcile's reads of its resource, and of the inputs of its PUT. Blocking."""

from asoreconcile.azure.arm.body_digest import digest_of
from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.arm.errors import ArmError, is_resource, stated_resource
from asoreconcile.azure.catalogue.payload import to_arm
from asoreconcile.azure.catalogue.status import status_of
from asoreconcile.azure.reconcile.identity.identity_reads import is_own
from asoreconcile.azure.reconcile.model.annotations import INPUTS, RESOURCE_ID
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.sync.bulk_reads import note_get
from asoreconcile.base.objects import JsonObject, spec


def observed_status(
    scope: ReconcileScope, body: JsonObject | None
) -> JsonObject | None:
    """The status that Azure reports; None if the resource does not exist.

    body: the resource, if it has just been read. Raises ArmError, ArmTransportError.
    """
    client, api_version = scope.connection.client, scope.version.api_version
    if "Get" not in scope.version.operations:
        # Azure offers only HEAD for the kind: there is no status to show (V4).
        return {} if client.head(scope.arm_id, api_version) else None
    # The answer to a poll may be something else than the resource.
    if body is None or not is_resource(body):
        try:
            read = client.get(scope.arm_id, api_version)
        except ArmError as error:
            if error.is_not_found:
                return None
            raise
        body = stated_resource(read, url=scope.arm_id)
        note_get(scope, body)
    scope.context.observed(body)
    return status_of(scope.version, body)


def is_stored(scope: ReconcileScope, observed: JsonObject) -> bool:
    """Whether the stored status equals one that was read by a list.

    A list may write ids in another case than a GET; that alone is no reason to write
    the status.
    """
    if scope.listed_at is None:
        return False
    stored = {**scope.patcher.status, "conditions": None}
    return digest_of({**observed, "conditions": None}) == digest_of(stored)


def require_own(scope: ReconcileScope) -> None:
    """Refuse to read an id that is not the object's own: the status must contain only
    the own resource, as it is trusted when the owner is gone.

    Raises ConditionError; RetryError while the owner's kind is not listed yet.
    """
    if is_own(scope):
        return
    raise ConditionError(
        f"annotation {RESOURCE_ID} is {scope.arm_id}, which is not what spec.owner and "
        "the Azure name of this object make: remove it, and it is written anew",
        reason="Failed",
        severity="Error",
    )


def inputs_changed(scope: ReconcileScope) -> bool:
    """Whether a Secret or ConfigMap has changed since the running PUT was built.

    The event of that change has only caused a poll, and the spec's generation is the
    same. One that cannot be read now counts as changed: the next PUT reports it.
    """
    recent_writes = scope.patcher.annotation(INPUTS)
    if not recent_writes:
        return False
    try:
        to_arm(scope.version, spec(scope.obj), name="", inputs=scope.references)
    except ConditionError:
        return True
    return scope.references.mark() != recent_writes
