"""Annotations that switch something on, for an object or a whole Namespace. Pure.

The switches hold the operator back, so any value but `false` switches on: if `true` is
misspelt, no request may be sent. An object's `false` does not lift its Namespace's
value.
"""

from collections.abc import Mapping
from enum import Enum

from asoreconcile.azure.reconcile.model.annotation_row import Annotation


class Switch(Enum):
    """The values of a switch."""

    ON = "true"
    OFF = "false"


def is_on(annotations: Mapping[str, str], row: Annotation[Switch]) -> bool:
    """Return whether annotations of an object or a Namespace switch something on."""
    text = row.text(annotations)
    return text is not None and row.meaning(text) is Switch.ON


def switched_by(
    own: Mapping[str, str], inherited: Mapping[str, str], row: Annotation[Switch]
) -> str:
    """Return the annotation that switches something on for an object, in words: its own
    or its Namespace's; "" if it is not switched on.
    """
    for one in row.stated(own, inherited):
        if row.meaning(one.text) is Switch.ON:
            where = " on the Namespace" if one.on_namespace else ""
            return f"the annotation {row.name}{where}"
    return ""
