"""The decision whether an object takes over a resource that exists already. Pure.

The annotation `asoreconcile/if-exists` is asked before each PUT until Azure has
accepted one. Until then the operator's own annotation `asoreconcile/existence` says
`undecided`; it is written with the claim. An object that manages its resource is not
asked (`standing`). Rule: OW-3.
"""

from collections.abc import Mapping
from enum import Enum

from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass
from asoreconcile.azure.reconcile.model.annotation_row import Annotation, Whose, choice
from asoreconcile.azure.reconcile.model.annotations import (
    EXISTENCE,
    OWN_PREFIX,
    RESOURCE_ID,
    TAKES_OVER,
)
from asoreconcile.azure.reconcile.model.switches import Switch, is_on

IF_EXISTS = OWN_PREFIX + "if-exists"
ALREADY_EXISTS = "AlreadyExists"
ADOPTED = "AzureResourceAdopted"
"""The reason of the event about an adoption."""

UNDECIDED = "undecided"
ADOPTED_HERE = "adopted"
CREATED_HERE = "created"


class IfExists(Enum):
    """The values of `asoreconcile/if-exists`, on an object or its Namespace."""

    ADOPT = "adopt"  # as ASO does: it is changed to match the spec
    ADOPT_IF_SAME = "adopt-if-same"  # only if it matches the spec already
    OBSERVE = "observe"  # it is only read
    FAIL = "fail"  # a condition says that it exists


IF_EXISTS_ROW: Annotation[IfExists] = Annotation(
    IF_EXISTS,
    says="what happens if the resource is there before the object; asked before each "
    "PUT until Azure has accepted one",
    values="`adopt`, `adopt-if-same`, `observe` or `fail`",
    section="#a-resource-that-is-there-before-the-object",
    effect="a resource that is there is left alone",
    parse=choice(IfExists),
    # Its author meant to forbid something.
    if_wrong=IfExists.FAIL,
)


TAKES_OVER_ROW: Annotation[Switch] = Annotation(
    TAKES_OVER,
    says="the objects of this Namespace take over what is there, also with `if-exists: "
    "fail` or `adopt-if-same`: for a move, a restore or a switch to another cluster",
    values="`true`",
    section="clusters.md#objects-without-a-record",
    effect="if-exists counts as it is stated",
    parse=choice(Switch),
    whose=Whose.NAMESPACE,
    # It widens what objects may do, so that only the right word does.
    if_wrong=Switch.OFF,
    default=Switch.OFF,
)


def stated_policy(
    own: Mapping[str, str], inherited: Mapping[str, str]
) -> IfExists | None:
    """Return the stated choice: the object's, else the Namespace's; None if neither
    states one.

    An unknown value counts as `fail`, because its author meant to forbid something.
    While the Namespace takes over, `fail` and `adopt-if-same` count as `adopt`.
    """
    if not IF_EXISTS_ROW.stated(own, inherited):
        return None
    found = IF_EXISTS_ROW.value(own, inherited, IfExists.ADOPT)
    if found in _CAREFUL and is_on(inherited, TAKES_OVER_ROW):
        return IfExists.ADOPT
    return found


_CAREFUL = frozenset({IfExists.FAIL, IfExists.ADOPT_IF_SAME})


def is_undecided(own: Mapping[str, str]) -> bool:
    """Return whether the object has not yet decided, so that it manages nothing."""
    return own.get(EXISTENCE) == UNDECIDED


def is_observing(own: Mapping[str, str], inherited: Mapping[str, str]) -> bool:
    """Return whether the object only reads its resource."""
    return is_undecided(own) and stated_policy(own, inherited) is IfExists.OBSERVE


def will_observe(own: Mapping[str, str], inherited: Mapping[str, str]) -> bool:
    """Return whether the object only reads its resource, or will once it is claimed."""
    is_free = RESOURCE_ID not in own or is_undecided(own)
    return is_free and stated_policy(own, inherited) is IfExists.OBSERVE


def annotation_of_claim(
    own: Mapping[str, str], inherited: Mapping[str, str]
) -> dict[str, str]:
    """Return the annotation to write with the claim; none without `if-exists`."""
    return {} if stated_policy(own, inherited) is None else {EXISTENCE: UNDECIDED}


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
