"""The decision whether an object takes over a resource that exists already. Pure.

The annotation `asoreconcile/if-exists` is decided once. Until then the operator's own
annotation `asoreconcile/existence` says `undecided`; it is written with the claim, so
that an object that was claimed earlier need not decide. Rule: OW-3.
"""

from collections.abc import Iterable, Mapping

from asoreconcile.azure.reconcile.model.annotations import EXISTENCE, RESOURCE_ID
from asoreconcile.azure.reconcile.model.differences import Difference
from asoreconcile.azure.reconcile.model.if_exists import IF_EXISTS, IfExists
from asoreconcile.base.printable import listed

ADOPTED = "AzureResourceAdopted"
"""The reason of the event about an adoption."""

UNDECIDED = "undecided"
ADOPTED_HERE = "adopted"
CREATED_HERE = "created"
_REMOVED = frozenset({"list-extra", "map-extra"})


def stated_policy(
    own: Mapping[str, str], inherited: Mapping[str, str]
) -> IfExists | None:
    """Return the stated choice: the object's, else the Namespace's; None if neither
    states one.

    An unknown value counts as `fail`, because its author meant to forbid something.
    """
    value = own.get(IF_EXISTS) or inherited.get(IF_EXISTS)
    if not value:
        return None
    try:
        return IfExists(value)
    except ValueError:
        return IfExists.FAIL


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


def note_of_claim(
    own: Mapping[str, str], inherited: Mapping[str, str]
) -> dict[str, str]:
    """Return the annotation to write with the claim; none without `if-exists`."""
    return {} if stated_policy(own, inherited) is None else {EXISTENCE: UNDECIDED}


def what_changes(found: Iterable[Difference]) -> str:
    """Return a clause that names the paths a PUT will change and remove, without
    values.
    """
    ordered = list(found)
    changed = [one.path for one in ordered if one.kind not in _REMOVED]
    removed = [one.path for one in ordered if one.kind in _REMOVED]
    parts = [
        f"{verb} {listed(paths)}"
        for verb, paths in (("changes", changed), ("removes", removed))
        if paths
    ]
    return " and ".join(parts) or "changes nothing that Azure shows"
