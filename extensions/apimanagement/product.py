"""Product: deleted together with its subscriptions."""

from collections.abc import Callable

from asoreconcile.azure.middleware.extension_points import DELETE
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.requests import DeleteRequest, DeleteResult

EXTENSIONS = built_in("apimanagement", "Product")


@EXTENSIONS.on(DELETE)
def with_subscriptions(
    req: DeleteRequest, call_next: Callable[[DeleteRequest], DeleteResult], /
) -> DeleteResult:
    """Delete the product with the query that also deletes its subscriptions.

    A plain DELETE of a product with subscriptions is refused. The next link is called
    afterwards; the product is then already deleted.
    """
    ctx = req.ctx
    ctx.lro(
        "delete-product",
        lambda: ctx.arm.delete(
            ctx.arm_id,
            ctx.version.api_version,
            query={"deleteSubscriptions": "true"},
            headers={"If-Match": "*"},
        ),
    )
    return call_next(req)
