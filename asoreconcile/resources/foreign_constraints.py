"""Constraints of annotated-types and pydantic, as `Schema` notes. Pure.

Neither package is a dependency or imported here: their notes are recognized by module
and attribute. A constraint that no schema can express is refused, as the API server
would not check it.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from asoreconcile.resources.annotations import Schema


class InexpressibleError(ValueError):
    """A constraint that no schema can express; the text shows it and says what to
    do.
    """


class Constraint(Schema):
    """A note of another package. All constraints of a type must hold, while an outer
    `Schema` replaces the keywords of an inner one.
    """


_FOREIGN = ("annotated_types", "pydantic")
_KEYWORDS = {
    "ge": "minimum",
    "le": "maximum",
    "gt": "minimum",
    "lt": "maximum",
    "multiple_of": "multiple_of",
    "min_length": "min_length",
    "max_length": "max_length",
    "pattern": "pattern",
}
_EXCLUSIVE = {"gt": "exclusive_minimum", "lt": "exclusive_maximum"}
# True of every JSON value that the API server stores, or a hint for people.
_WITHOUT_EFFECT = frozenset(
    ("strict", "allow_inf_nan", "coerce_numbers_to_str", "fail_fast", "unit")
)


def understood(note: Any) -> Iterator[Any]:
    """Yield a note of `Annotated` in our words; a note that is of no concern is
    unchanged.

    Raises InexpressibleError for a constraint that no schema can express.
    """
    name = type(note).__name__
    if name in ("Doc", "DocInfo"):
        yield str(note.documentation)
    elif type(note).__module__.partition(".")[0] not in _FOREIGN:
        yield note
    elif name == "FieldInfo":
        yield from understood_all(note.metadata)
        if note.description:
            yield note.description
    else:
        yield from _constraints(note)


def understood_all(notes: Iterable[Any]) -> Iterator[Any]:
    """Yield all notes in our words, in their order."""
    for note in notes:
        yield from understood(note)


def _constraints(note: Any) -> Iterator[Constraint]:
    names = getattr(note, "__dataclass_fields__", None) or getattr(note, "__dict__", {})
    if not any(name in _KEYWORDS or name in _WITHOUT_EFFECT for name in names):
        raise _refused(note)
    for name in names:
        value = getattr(note, name, None)
        if value is None or value is False or name in _WITHOUT_EFFECT:
            continue
        if name not in _KEYWORDS:
            raise _refused(note)
        keywords = {_KEYWORDS[name]: _plain(value, note)}
        if name in _EXCLUSIVE:
            keywords[_EXCLUSIVE[name]] = True
        yield Constraint(**keywords)


def _plain(value: Any, note: Any) -> Any:
    if isinstance(value, re.Pattern):
        if value.flags & ~re.UNICODE:
            raise _refused(note)
        return value.pattern
    if isinstance(value, str | int | float):
        return value
    raise _refused(note)


def _refused(note: Any) -> InexpressibleError:
    return InexpressibleError(
        f"{note!r:.80} cannot be expressed in a CRD, so the API server would not check "
        "it: write a Rule, or check it in a webhook"
    )
