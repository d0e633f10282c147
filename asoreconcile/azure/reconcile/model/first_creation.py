"""Tells whether the next PUT of an object may be its first one. Pure.

Some extensions purge or restore the remains of a deleted resource. They do so only at
the first PUT of an object, not when its resource is deleted later.
"""

from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.drift_baseline import OBSERVED
from asoreconcile.base.objects import JsonObject, status


def was_there(found: JsonObject) -> bool:
    """Return whether a status contains values from Azure. The operator itself writes
    only conditions.
    """
    return any(name != "conditions" for name in found)


def is_first_creation(obj: JsonObject) -> bool:
    """Return whether there is no sign that a resource of this object was ever read or
    PUT.

    obj: reads `status` and the annotation with the record of the last PUT.
    """
    return not (was_there(status(obj)) or annotations(obj).get(OBSERVED))
