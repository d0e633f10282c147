"""Changes that Azure refuses because a field cannot be changed. Pure.

The fields are in `type_facts`. `is_refused_change` knows the codes with which Azure
refuses. Rule: OW-6.
"""

import re
from collections.abc import Iterable

from asoreconcile.azure.catalogue.element_paths import replace_elements
from asoreconcile.azure.catalogue.type_facts import facts_of

_REFUSED = re.compile(
    r"Immutable|ChangeNotAllowed|ChangeNotSupported|ChangeIsNotAllowed"
    r"|ChangingProperty|NotAllowedToChange|CannotBeChanged|CannotBeUpdated"
    r"|CannotChange|CannotUpdate|UpdateNotPermitted|UpdateNotAllowed"
    r"|InvalidResourceLocation|InvalidResourceGroupLocation",
    re.IGNORECASE,
)
_ANOTHER_CAUSE = re.compile(
    r"Quota|Capacity|Allocation|SkuNotAvailable|OfferRestricted|Locked|Policy"
    r"|Authorization|InProgress|Busy|Throttl|TooManyRequests|Retryable",
    re.IGNORECASE,
)


def is_refused_change(codes: Iterable[str]) -> bool:
    """Return whether a code of Azure's refusal says that a field cannot be changed."""
    return any(_REFUSED.search(code) for code in codes)


def has_another_cause(codes: Iterable[str]) -> bool:
    """Return whether a code of Azure's refusal names a cause outside the resource, such
    as a quota: the same resource could not be made again.
    """
    return any(_ANOTHER_CAUSE.search(code) for code in codes)


def immutable_among(arm_type: str, paths: Iterable[str]) -> list[str]:
    """Return the paths of a body at which a type's resources cannot be changed."""
    known = ("location", "name", *facts_of(arm_type).immutable)
    return [path for path in paths if _is_within(path, known)]


def in_words_of_spec(path: str) -> str:
    """Return the path in a body as its author writes it: `spec.sku.name`."""
    inner = path.removeprefix("properties/").removesuffix("/id")
    return f"spec.{inner.replace('/', '.')}"


def _is_within(path: str, known: Iterable[str]) -> bool:
    plain = f"{replace_elements(path, '').casefold()}/"
    return any(plain.startswith(f"{one}/") for one in known)
