"""The default at the end of the DELETE chain, and the check for existence. Blocking."""

from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.middleware import default_handlers
from asoreconcile.azure.middleware.context import ReconcileContext
from asoreconcile.azure.middleware.requests import (
    DeleteRequest,
    DeleteResult,
    ResourceDeleted,
)


def delete_resource(request: DeleteRequest) -> DeleteResult:
    """One GET, one DELETE (R5.3, R5.4).

    Raises ArmError, ArmTransportError.
    """
    if is_absent(request.ctx):
        return ResourceDeleted()
    return default_handlers.delete_resource(request)


def is_absent(ctx: ReconcileContext) -> bool:
    """Whether Azure says that the resource does not exist; False if in doubt."""
    try:
        if "Get" not in ctx.version.operations:
            return not ctx.arm.head(ctx.arm_id, ctx.version.api_version)
        return ctx.raw_get() is None
    # In doubt the DELETE is sent, which does no harm if nothing is there. Otherwise the
    # resource could be left behind for ever.
    except (ArmError, ArmTransportError) as error:
        ctx.log.info("Cannot tell whether the resource exists", reason=str(error))
        return False
