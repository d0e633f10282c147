"""Builds the body of a PUT: the spec with its references resolved, modified by
extensions.
"""

from asoreconcile.azure.catalogue.payload import to_arm
from asoreconcile.azure.middleware.extension_points import MODIFY_PAYLOAD
from asoreconcile.azure.middleware.requests import ModifyPayload
from asoreconcile.azure.reconcile.identity.identity import ResourceIdentity
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.base.objects import JsonObject, spec


def payload_of(scope: ReconcileScope, identity: ResourceIdentity) -> JsonObject:
    """Blocking: reads Secrets and ConfigMaps once a reconcile, and whatever extensions
    read.

    Raises ConditionError for missing inputs, and what extensions raise.
    """
    body = to_arm(
        scope.version, spec(scope.obj), name=identity.name, inputs=scope.references
    )
    modify = scope.operator.extensions.chain(MODIFY_PAYLOAD, scope.kind.group_kind)
    return modify(ModifyPayload(ctx=scope.context, obj=scope.obj, payload=body))
