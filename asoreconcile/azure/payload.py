"""The body that a resource would be PUT with now: the spec, resolved and modified."""

from asoreconcile.azure.identity import ResourceIdentity
from asoreconcile.azure.scope import ReconcileScope
from asoreconcile.catalogue.payload import to_arm
from asoreconcile.middleware.extension_points import MODIFY_PAYLOAD
from asoreconcile.middleware.requests import ModifyPayload
from asoreconcile.objects import JsonObject, spec


def payload_of(work: ReconcileScope, identity: ResourceIdentity) -> JsonObject:
    """Blocking: reads Secrets and ConfigMaps once a reconcile, and whatever extensions
    read.

    Raises ConditionError for inputs that are not there, and what extensions raise.
    """
    body = to_arm(
        work.version, spec(work.obj), name=identity.name, inputs=work.references
    )
    modify = work.operator.extensions.chain(MODIFY_PAYLOAD, work.kind.group_kind)
    return modify(ModifyPayload(ctx=work.context, obj=work.obj, payload=body))
