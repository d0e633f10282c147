"""Placeholders of an imported manifest, which its author has to replace. Their texts
are `model.placeholders`.
"""

from asoreconcile.azure.reconcile.model.placeholders import (
    PLACEHOLDERS_ROW,
    placeholders_left,
)
from asoreconcile.azure.reconcile.policies.requests import Intent


def replaced(intent: Intent) -> None:
    """Make sure that the object says that no placeholder is left. Raises
    ConditionError.
    """
    names = PLACEHOLDERS_ROW.text(intent.scope.patcher.annotations)
    if names is not None:
        raise placeholders_left(names)
