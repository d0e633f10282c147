"""What one reconcile reads of its resource, and of what that was made of. Blocking."""

from asoreconcile.arm.condition_error import ConditionError
from asoreconcile.arm.errors import ArmError, is_resource, stated_resource
from asoreconcile.azure.annotations import INPUTS, RESOURCE_ID
from asoreconcile.azure.identity import is_own
from asoreconcile.azure.scope import ReconcileScope
from asoreconcile.catalogue.payload import to_arm
from asoreconcile.catalogue.status import status_of
from asoreconcile.objects import JsonObject, spec


def observed_status(work: ReconcileScope, body: JsonObject | None) -> JsonObject | None:
    """The status that Azure reports; None for a resource that is not there.

    body: the resource, if it has just been read. Raises ArmError, ArmTransportError.
    """
    client, api_version = work.connection.client, work.version.api_version
    if "Get" not in work.version.operations:
        # Azure offers HEAD alone for the kind: there is no status to show (V4).
        return {} if client.head(work.arm_id, api_version) else None
    if body is None or not is_resource(body):
        try:
            read = client.get(work.arm_id, api_version)
        except ArmError as error:
            if error.is_not_found:
                return None
            raise
        body = stated_resource(read, url=work.arm_id)
    work.context.observed(body)
    return status_of(work.version, body)


def require_own(work: ReconcileScope) -> None:
    """The status is believed when the owner is gone: nothing else may get there.

    Raises ConditionError; RetryError while the owner's kind is not listed yet.
    """
    if is_own(work):
        return
    raise ConditionError(
        f"annotation {RESOURCE_ID} is {work.arm_id}, which is not what spec.owner and "
        "the Azure name of this object make: remove it, and it is written anew",
        reason="Failed",
        severity="Error",
    )


def inputs_changed(work: ReconcileScope) -> bool:
    """Whether a Secret or ConfigMap is another than when the running PUT was made.

    The event of that change was spent on a poll, and the spec's generation does not
    tell. What cannot be read now is another too: the next PUT says so.
    """
    begun = work.session.annotation(INPUTS)
    if not begun:
        return False
    try:
        to_arm(work.version, spec(work.obj), name="", inputs=work.references)
    except ConditionError:
        return True
    return work.references.mark() != begun
