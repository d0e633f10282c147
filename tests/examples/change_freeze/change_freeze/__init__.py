"""Nothing that carries the label `frozen: "yes"` is changed in Azure."""

from asoreconcile.azure.middleware.extension_points import PRE_RECONCILE
from asoreconcile.azure.middleware.extension_set import ANY_KIND, ExtensionSet
from asoreconcile.azure.middleware.requests import Block
from asoreconcile.base.objects import labels

EXTENSIONS = ExtensionSet("change-freeze")


@EXTENSIONS.on(PRE_RECONCILE, ANY_KIND)
def hold_what_is_frozen(req, call_next):
    """Ask the other checks only if the object may change at all."""
    if labels(req.obj).get("frozen") == "yes":
        return Block("changes are frozen: remove the label frozen=yes")
    return call_next(req)
