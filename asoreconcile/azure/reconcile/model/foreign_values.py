"""Finds the values of other writers that a PUT removes or overwrites. Pure.

A value is foreign if the object did not declare it in its last accepted PUT. The record
of that PUT has a short hash of each declared path, and of each element of its lists.
Rule: OW-9.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from asoreconcile.azure.catalogue.body_shape import plain_path
from asoreconcile.azure.middleware.declared import name_mark
from asoreconcile.azure.reconcile.model.differences import IDENTIFYING, Difference
from asoreconcile.azure.reconcile.model.drift_baseline import DriftBaseline
from asoreconcile.azure.reconcile.model.normalization import plain
from asoreconcile.base.objects import JsonObject
from asoreconcile.base.printable import listed

REPLACED = "ForeignValuesReplaced"
"""The reason of the event about a PUT that replaces foreign values."""

_UNDECLARED = frozenset({"map-extra", "list-extra"})
_DIGITS = 4
# Without the elements of lists, the record of a longer body stays small.
_MOST = 150
_TOO_MANY = "="


def places_of(body: JsonObject) -> str:
    """Return the hashes of the places in a body, for the record of its PUT."""
    places = {*_places("", body)}
    if len(places) > _MOST:
        places = {_TOO_MANY, *(place for place in places if "=" not in place)}
    return "".join(sorted({_mark(place) for place in places}))


@attrs.frozen
class ReplacedValues:
    """The paths at which a PUT replaces values of other writers.

    overwritten: paths that the object declares now. removed: paths that it does not
    declare.
    """

    overwritten: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """All paths."""
        return self.overwritten + self.removed

    def __str__(self) -> str:
        said = []
        if self.overwritten:
            where = listed(self.overwritten)
            said.append(f"overwrites what others have set at {where}")
        if self.removed:
            where = listed(self.removed)
            said.append(f"removes what this object does not declare at {where}")
        return f"the PUT {' and '.join(said)}"


def replaced_values(
    found: Sequence[Difference], before: DriftBaseline | None, put: str
) -> ReplacedValues:
    """Return the paths at which a PUT removes or overwrites values of other writers.

    found: the differences between the body and the last read. before: the record of the
    last PUT; without one, nothing was declared. put: the fingerprint of the PUT.
    """
    foreign = [one for one in found if _is_foreign(one, before, put)]
    return ReplacedValues(
        tuple(one.path for one in foreign if one.kind not in _UNDECLARED),
        tuple(one.path for one in foreign if one.kind in _UNDECLARED),
    )


def _is_foreign(one: Difference, before: DriftBaseline | None, put: str) -> bool:
    if one.kind in ("absent", "list-missing"):
        return False  # nothing is there to be replaced
    if before is None:
        return True
    if one.kind == "map-extra":
        at, _, name = one.path.partition("/")
        if at == "identity":
            at, name = "identity.userAssignedIdentities", name.partition("/")[2]
        return name_mark(at, name) not in before.declared | before.owed
    is_same = before.put == put
    if is_same or not before.places:
        return is_same and one.kind == "list-extra"
    marks = {
        before.places[i : i + _DIGITS] for i in range(0, len(before.places), _DIGITS)
    }
    path = plain_path(one.path, "[]")
    if one.kind != "list-extra":
        return _mark(path) not in marks
    if _mark(_TOO_MANY) in marks:
        return False  # not known
    if isinstance(one.have, dict):
        stated = _stated(one.have)
        known = [n for n in stated if _mark(f"{path}/{n}") in marks]
        names = [name for name in IDENTIFYING if name in known][:1] or known
        wanted = [f"{path}/{name}={stated[name]}" for name in names]
    else:
        wanted = [f"{path}[]={plain(one.have)}"]
    return not wanted or any(_mark(place) not in marks for place in wanted)


def _places(path: str, value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _places(f"{path}/{name}" if path else name, inner)
    elif isinstance(value, list):
        at = plain_path(path, "[]")
        yield at
        for element in value:
            if isinstance(element, dict):
                stated = _stated(element)
                names = [name for name in IDENTIFYING if name in stated][:1] or stated
                for name in names:
                    yield f"{at}[]/{name}={stated[name]}"
                yield from _places(f"{path}[]", element)
            else:
                yield f"{at}[]={plain(element)}"
    elif value is not None:
        yield plain_path(path, "[]")


def _stated(element: JsonObject) -> dict[str, str]:
    """Return the members of a list's element that are neither objects nor lists."""
    return {
        name: plain(value)
        for name, value in element.items()
        if value is not None and not isinstance(value, dict | list)
    }


def _mark(place: str) -> str:
    return hashlib.sha256(place.casefold().encode()).hexdigest()[:_DIGITS]
