"""Check the annotations that people write, when they are written. Pure.

Only a changed value is checked: an object that has a wrong one must stay manageable.
"""

from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.problems import Problem
from asoreconcile.azure.reconcile.model import annotation_table
from asoreconcile.azure.reconcile.model.annotation_bounds import (
    bounded,
    length_problems,
)
from asoreconcile.base.objects import JsonObject, annotations


def annotation_problems(
    version: KindVersion | None, obj: JsonObject, old: JsonObject | None = None
) -> list[Problem]:
    """Return the problems of the values that differ from those of the old object.

    version: the object's kind; without it, values are not checked against the kind.
    """
    before, after = annotations(old or {}), annotations(obj)
    found = length_problems(after, before)
    # From here on a text that is too long is not read, however old it is.
    before, after = bounded(before), bounded(after)
    wrong = dict(annotation_table.problems(after, before, version))
    return [
        Problem(f"metadata.annotations[{name}]", why)
        for name, why in (wrong | found).items()
    ]


def new_warnings(obj: JsonObject, old: JsonObject | None) -> list[str]:
    """Return a warning for each new annotation of the operator that has no effect."""
    return annotation_table.without_effect(annotations(obj), annotations(old or {}))
