"""The values of `asoreconcile/if-exists`, for a resource that Azure has already.

Rule: OW-3. Pure.
"""

from collections.abc import Mapping
from enum import Enum

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.catalogue.suggestions import hint
from asoreconcile.azure.reconcile.model.annotations import OWN_PREFIX

IF_EXISTS = OWN_PREFIX + "if-exists"
ALREADY_EXISTS = "AlreadyExists"
_MOST_SHOWN = 40


class IfExists(Enum):
    """`asoreconcile/if-exists`, on an object or its Namespace."""

    ADOPT = "adopt"  # as ASO does: it is changed to match the spec
    ADOPT_IF_SAME = "adopt-if-same"  # only if it matches the spec already
    OBSERVE = "observe"  # it is only read
    FAIL = "fail"  # a condition says that it exists


def if_exists_of(own: Mapping[str, str], inherited: Mapping[str, str]) -> IfExists:
    """Return the choice in force: the object's, else its Namespace's, else ADOPT.

    own, inherited: the annotations of the object and of its Namespace.

    Raises ConditionError for an unknown value: a misspelt `fail` must not adopt.
    """
    value = own.get(IF_EXISTS) or inherited.get(IF_EXISTS)
    if not value:
        return IfExists.ADOPT
    try:
        return IfExists(value)
    except ValueError:
        known = [one.value for one in IfExists]
        shown = value[:_MOST_SHOWN]
        raise ConditionError(
            f"annotation {IF_EXISTS} is {shown!r}, which is none of "
            f"{', '.join(known)}{hint(shown.strip().lower(), known)}: nothing is "
            "adopted until it is corrected",
            reason="Failed",
            severity="Error",
        ) from None
