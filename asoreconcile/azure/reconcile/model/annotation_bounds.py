"""Reads the annotations that operators write or obey, each within its bound.

Each author of an object may write annotations of any length. All code of the operator
reads them through `annotations` or `bounded`: in place of a text that is too long it
finds `TOO_LONG`, which no parser accepts. So a value that was meant to protect still
protects, and a record counts for nothing. The reconcile then writes nothing in Azure
and shows the annotation and the limit (`why_unreadable`); admission refuses such a
new value (`length_problems`). Annotations of others are not read, and stay
as they are. Pure. Rules: FT-1, FT-2, FT-5.
"""

from collections.abc import Iterator, Mapping

from asoreconcile.azure.arm.text_bounds import ARM_ID, PERSONS_ANNOTATION, RECORD
from asoreconcile.azure.catalogue.conversion import CONVERSION_DATA
from asoreconcile.azure.reconcile.model.annotations import (
    CHILD_ID_OVERRIDE,
    RECONCILED_AT,
    RESOURCE_ID,
    is_operators_own,
)
from asoreconcile.base import objects
from asoreconcile.base.foreign_text import LengthBound
from asoreconcile.base.objects import AnyObject

TOO_LONG = "(longer than is read)"
"""The text that stands for a value beyond its bound."""

# Of annotations that operators write, with another bound than a record.
_BOUNDS: Mapping[str, LengthBound] = {
    RECONCILED_AT: PERSONS_ANNOTATION,
    CHILD_ID_OVERRIDE: ARM_ID,
    RESOURCE_ID: ARM_ID,
}
_LEAST = min(one.most for one in _BOUNDS.values())


def bound_of(name: str) -> LengthBound | None:
    """Return the bound of an annotation's value; None for annotations of others, and
    for the values of a spec that another version cannot hold.
    """
    if not is_operators_own(name) or name == CONVERSION_DATA:
        return None
    # Policies declare their annotations, and read others through this module. Called
    # only if a text may be too long.
    from asoreconcile.azure.reconcile.model.annotation_table import TABLE

    row = TABLE.by_name.get(name)
    return _BOUNDS.get(name, RECORD) if row is None else row.bound


def annotations(obj: AnyObject) -> Mapping[str, str]:
    """Return `metadata.annotations` as the operator reads them (`bounded`)."""
    return bounded(objects.annotations(obj))


def bounded(stated: Mapping[str, str]) -> Mapping[str, str]:
    """Return annotations with `TOO_LONG` in place of each value beyond its bound.

    The mapping itself is returned if there is none. The same for the annotations of a
    cache entry and of a Namespace.
    """
    if not _may_be_long(stated):
        return stated
    long = [name for name, value, bound in _bounds(stated) if not bound.fits(value)]
    return {**stated, **dict.fromkeys(long, TOO_LONG)} if long else stated


def length_problems(
    stated: Mapping[str, str], before: Mapping[str, str]
) -> dict[str, str]:
    """Return a sentence for each value beyond its bound, by annotation.

    stated: annotations as they were written, without `bounded`. before: the same before
    the write; a value that the write leaves as it was is not reported.
    """
    if not _may_be_long(stated):
        return {}
    return {
        name: bound.problem(value, f"annotation {name}")
        for name, value, bound in _bounds(stated)
        if not bound.fits(value) and value != before.get(name)
    }


def too_long(stated: Mapping[str, str]) -> list[str]:
    """Return the names of the annotations in place of which `bounded` put `TOO_LONG`,
    sorted.
    """
    if TOO_LONG not in stated.values():
        return []
    return sorted(name for name, value in stated.items() if value == TOO_LONG)


def why_unreadable(own: Mapping[str, str], inherited: Mapping[str, str]) -> str:
    """Return which annotations of an object or its Namespace are too long to be read,
    with their limits, as a sentence; "" if none is.

    own, inherited: the annotations of both, as `bounded` returns them.
    """
    return "; ".join(
        f"{whose} {name} has more than {bound.most} characters, so it is not read"
        for whose, stated in (
            ("annotation", own),
            ("the Namespace's annotation", inherited),
        )
        for name in too_long(stated)
        if (bound := bound_of(name)) is not None
    )


def _bounds(stated: Mapping[str, str]) -> Iterator[tuple[str, str, LengthBound]]:
    for name, value in stated.items():
        bound = bound_of(name)
        if bound is not None and isinstance(value, str):
            yield name, value, bound


def _may_be_long(stated: Mapping[str, str]) -> bool:
    """Return whether a value may be beyond its bound. Nearly always none is: a
    reconcile reads annotations a hundred times.
    """
    try:
        return bool(stated) and max(map(len, stated.values())) > _LEAST
    except TypeError:  # a manifest that no API server has checked
        return True
