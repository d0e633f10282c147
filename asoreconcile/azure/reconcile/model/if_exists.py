"""The annotation `asoreconcile/if-exists`: whether an object may take over a resource
that exists already.

Rule: OW-3. Pure.
"""

from collections.abc import Mapping
from enum import Enum

from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass, unusable
from asoreconcile.azure.catalogue.suggestions import hint
from asoreconcile.azure.reconcile.model.annotations import OWN_PREFIX

IF_EXISTS = OWN_PREFIX + "if-exists"
ALREADY_EXISTS = "AlreadyExists"
_MOST_SHOWN = 40


class IfExists(Enum):
    """The values of `asoreconcile/if-exists`, on an object or its Namespace."""

    ADOPT = "adopt"  # as ASO does: it is changed to match the spec
    ADOPT_IF_SAME = "adopt-if-same"  # only if it matches the spec already
    OBSERVE = "observe"  # it is only read
    FAIL = "fail"  # a condition says that it exists


def if_exists_of(own: Mapping[str, str], inherited: Mapping[str, str]) -> IfExists:
    """Return the choice in force: the object's, else its Namespace's, else ADOPT.

    own, inherited: the annotations of the object and of its Namespace.

    Raises ConditionError for an unknown value: a misspelt `fail` must not count as
    ADOPT.
    """
    value = own.get(IF_EXISTS) or inherited.get(IF_EXISTS)
    if not value:
        return IfExists.ADOPT
    try:
        return IfExists(value)
    except ValueError:
        known = [one.value for one in IfExists]
        shown = value[:_MOST_SHOWN]
        raise unusable(
            f"annotation {IF_EXISTS} is {shown!r}, which is none of "
            f"{', '.join(known)}{hint(shown.strip().lower(), known)}: nothing is "
            "adopted until it is corrected"
        ) from None


def require_adoptable(choice: IfExists, what: str, *, differs: str = "") -> bool:
    """Return whether PUTs may change a resource that exists already; false if it is
    only read.

    what: description of the resource, as the subject of a sentence. differs: the paths
    at which it differs from the spec; "" if it matches.

    Raises ConditionError `AlreadyExists` if the object must not have the resource.
    """
    why = ""
    if choice is IfExists.FAIL:
        why = f"annotation {IF_EXISTS} is fail"
    elif choice is IfExists.ADOPT_IF_SAME and differs:
        why = f"it differs from the spec at {differs}"
    if why:
        raise ConditionError(
            f"{what} is there already and is left alone, because {why}. To manage "
            f"it, set {IF_EXISTS} to adopt; to only read it, to observe. Deleting "
            "this object leaves it there",
            reason=ALREADY_EXISTS,
            retry=RetryClass.VERY_SLOW,
        )
    return choice is not IfExists.OBSERVE
