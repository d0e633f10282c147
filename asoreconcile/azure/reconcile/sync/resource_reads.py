"""A reconcile's read of its resource. Blocking."""

from asoreconcile.azure.arm.errors import ArmError, stated_resource
from asoreconcile.azure.catalogue.status import status_of
from asoreconcile.azure.middleware.context import ReconcileContext
from asoreconcile.base.objects import JsonObject


def observed_status(
    context: ReconcileContext, body: JsonObject | None
) -> JsonObject | None:
    """Return the status that Azure reports; None if the resource does not exist.

    body: the resource, if it has just been read. Raises ArmError, ArmTransportError.
    """
    client, arm_id, version = context.arm, context.arm_id, context.version
    if "Get" not in version.operations:
        # Azure offers only HEAD for the kind: there is no status to show (V4).
        return {} if client.head(arm_id, version.api_version) else None
    if body is None:
        try:
            read = client.get(arm_id, version.api_version)
        except ArmError as error:
            if error.is_not_found:
                return None
            raise
        body = stated_resource(read, url=arm_id)
    context.observed(body)
    return status_of(version, body)
