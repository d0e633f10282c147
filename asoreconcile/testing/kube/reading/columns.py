"""A column of a Table: what it is called, and what an object has there. Pure."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import attrs

from asoreconcile.base.objects import JsonObject, dig
from asoreconcile.testing.kube.reading.ages import age

Show = Callable[[JsonObject, datetime], Any]


@attrs.frozen
class Column:
    """show: the cell of an object at a time. is_wide: shown by `-o wide` alone."""

    name: str
    show: Show
    type: str = "string"
    is_wide: bool = False
    format: str = ""

    def definition(self) -> JsonObject:
        """The column as a Table's `columnDefinitions` has it; wide ones have priority
        1.
        """
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": "",
            "priority": int(self.is_wide),
        }


def age_of(path: str) -> Show:
    """How long ago a time was that stands there."""
    return lambda obj, now: age(dig(obj, path), now)


AGE = Column("Age", age_of("metadata.creationTimestamp"))
