"""A reconcile's reads of its resource. Blocking."""

from asoreconcile.azure.arm.body_digest import digest_of
from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.arm.errors import ArmError, is_resource, stated_resource
from asoreconcile.azure.catalogue.status import status_of
from asoreconcile.azure.reconcile.identity.identity import is_own
from asoreconcile.azure.reconcile.model.annotations import RESOURCE_ID
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.sync.bulk_reads import note_get
from asoreconcile.base.objects import JsonObject


def observed_status(
    scope: ReconcileScope, body: JsonObject | None
) -> JsonObject | None:
    """Return the status that Azure reports; None if the resource does not exist.

    body: the resource, if it has just been read. Raises ConditionError if the id is not
    the object's own; RetryError while the owner's kind is not listed yet; ArmError,
    ArmTransportError.
    """
    arm_id, version = scope.patcher.arm_id, scope.patcher.version
    scope.connection.require_subscription_of(arm_id)
    # Before the read: the id is in an annotation, which people can edit, and the status
    # is believed when the owner is gone.
    if not is_own(scope):
        raise ConditionError(
            f"annotation {RESOURCE_ID} is {arm_id}, which is not what spec.owner and "
            "the Azure name of this object make: remove it, and it is written anew",
            reason="Failed",
            severity="Error",
        )
    client = scope.connection.client
    if "Get" not in version.operations:
        # Azure offers only HEAD for the kind: there is no status to show (V4).
        return {} if client.head(arm_id, version.api_version) else None
    # The answer to a poll may be something else than the resource.
    if body is None or not is_resource(body):
        try:
            read = client.get(arm_id, version.api_version)
        except ArmError as error:
            if error.is_not_found:
                return None
            raise
        body = stated_resource(read, url=arm_id)
        note_get(scope, body)
    scope.context.observed(body)
    return status_of(version, body)


def is_same(stored: JsonObject, observed: JsonObject) -> bool:
    """Whether two statuses differ in nothing but their conditions and the case of ids:
    a list may write ids in another case than a GET.
    """
    one, other = ({**status, "conditions": None} for status in (stored, observed))
    return digest_of(one) == digest_of(other)
