"""A column of a Table: its definition, and an object's cell. Pure."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import attrs

from asoreconcile.base.objects import JsonObject, dig
from asoreconcile.testing.kube.reading.ages import age

Show = Callable[[JsonObject, datetime], Any]


@attrs.frozen
class Column:
    """One column.

    show: returns the cell of an object at a time.
    is_wide: whether only `-o wide` shows the column.
    """

    name: str
    show: Show
    type: str = "string"
    is_wide: bool = False
    format: str = ""

    def definition(self) -> JsonObject:
        """Return the column as in a Table's `columnDefinitions`; wide ones have
        priority 1.
        """
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": "",
            "priority": int(self.is_wide),
        }


def age_of(path: str) -> Show:
    """Return a function that shows the age of the time at a path."""
    return lambda obj, now: age(dig(obj, path), now)


AGE = Column("Age", age_of("metadata.creationTimestamp"))
