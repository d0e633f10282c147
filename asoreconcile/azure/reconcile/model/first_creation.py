"""Tells whether the next PUT of an object may be its first one. Pure.

Some extensions destroy or restore what a deleted resource left behind. An object asks
for that once, when it is applied; a resource that is deleted later is another matter.
"""

from asoreconcile.azure.reconcile.model.drift_baseline import OBSERVED
from asoreconcile.base.objects import JsonObject, annotations, status


def was_there(found: JsonObject) -> bool:
    """Return whether a status has ever come from Azure: conditions alone are ours."""
    return any(name != "conditions" for name in found)


def is_first_creation(obj: JsonObject) -> bool:
    """Return whether nothing says that a resource of this object was ever read or PUT.

    obj: reads `status` and the annotation with the record of the last PUT.
    """
    return not (was_there(status(obj)) or annotations(obj).get(OBSERVED))
