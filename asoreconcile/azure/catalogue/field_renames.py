"""Find fields that mean the same in two versions of a kind under two names.

A field that is an ARM id in an older version may be a reference to another object in a
newer one. Both write the same property of the ARM body. The pairs are found from the
mapping tables, without a list of kinds.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import attrs

from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.tables import Field, Table

# Names of fields from the spec down; lists and maps add nothing.
SpecPath = tuple[str, ...]
# Azure Service Operator takes this one out of the bag (FlexibleServer for MySQL).
_NOT_KEPT = frozenset({"sourceServerResourceId"})


@attrs.frozen
class FieldRename:
    """A field that has another name and type in the other version.

    target: the name of the other version's field.
    to_reference: if true, the value changes from an id to a reference, else the
    reverse.
    keeps_name: if true, the stored form also has the id in the bag, under its old name.
    """

    target: str
    to_reference: bool
    keeps_name: bool = False

    def apply(self, value: Any) -> Any:
        """Return the value for the other version; None if that version can hold nothing
        of it.

        A list of references becomes the list of those that are ids: see `says_all`.
        """
        if isinstance(value, list):
            moved = [self.apply(item) for item in value]
            held = [item for item in moved if item is not None]
            # A part of a list is shown as ids only if the rest is kept separately.
            all_of_them = len(held) == len(moved)
            return held if all_of_them or (held and not self.to_reference) else None
        if self.to_reference:
            return {"armId": value} if isinstance(value, str) else None
        return value["armId"] if _is_id(value) else None

    def says_all(self, value: Any) -> bool:
        """Return whether `apply` keeps the whole value."""
        if self.to_reference or not isinstance(value, list):
            return True
        return all(_is_id(item) for item in value)

    def merged(self, references: Any, kept: Any) -> Any:
        """Return references made from ids, combined with the references that are not
        ids.
        """
        if not isinstance(references, list) or not isinstance(kept, list):
            return references
        left = iter(references)
        made = [next(left, None) if _is_id(item) else item for item in kept]
        return [item for item in made if item is not None] + [*left]


def _is_id(value: Any) -> bool:
    return isinstance(value, dict) and set(value) == {"armId"}


@lru_cache(maxsize=4096)
def field_renames(
    source: KindVersion, target: KindVersion
) -> Mapping[SpecPath, Mapping[str, FieldRename]]:
    """Return the renamed fields of each object in the spec, by the object's
    path. Pure.
    """
    found: dict[SpecPath, dict[str, FieldRename]] = {}
    if source.is_arm and target.is_arm:
        _compare(source.table, target.table, (), found)
    return found


def _compare(
    source: Table,
    target: Table,
    at: SpecPath,
    found: dict[SpecPath, dict[str, FieldRename]],
) -> None:
    if source is target:
        return
    there = {field.source: field for field in target.fields}
    here = {field.source for field in source.fields}
    for field in source.fields:
        same = there.get(field.source)
        if same is None:
            for other in target.fields:
                if other.source not in here and _same_property(field, other):
                    to_reference = other.conversion == "reference"
                    moved = FieldRename(
                        target=other.source,
                        to_reference=to_reference,
                        keeps_name=to_reference and field.source not in _NOT_KEPT,
                    )
                    found.setdefault(at, {})[field.source] = moved
        elif field.table is not None and same.table is not None:
            _compare(field.table, same.table, (*at, field.source), found)


def _same_property(field: Field, other: Field) -> bool:
    return (
        field.path == other.path
        # A verbatim list is one value in the tables, a list of references is nested.
        and {field.conversion, other.conversion} == {"value", "reference"}
    )
