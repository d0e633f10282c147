"""The names that an object declares in maps and lists which others write, too, and the
values that it declares where Azure moves them.

Foreign tags, identities and child resources are kept. A name that this object's last
accepted PUT declared and the spec no longer does is not foreign: it is removed. Only
hashes of names are recorded.
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

import attrs

from asoreconcile.base import jsontext
from asoreconcile.base.objects import JsonObject, dig

IDENTITIES = "identity.userAssignedIdentities"
TAGS = "tags"
# In place of a path: the names are the paths of lists.
LISTS = "lists"

_DIGITS = 8


def name_mark(path: str, name: str) -> str:
    """Return a short hash of a name, ignoring letter case, at a path of the ARM
    body.
    """
    text = f"{path}/{name}".lower()
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def _value_mark(path: str, value: Any) -> str:
    text = jsontext.dumps(value, sort_keys=True).decode()
    return f"{name_mark(path, '')}={name_mark(path, text)}"


def names_at(body: JsonObject, path: str) -> Iterator[str]:
    """Yield the keys of the map at a path, or the names of the elements of the
    list there.
    """
    found = dig(body, path)
    if isinstance(found, dict):
        yield from (name for name, value in found.items() if value is not None)
    elif isinstance(found, list):
        yield from (
            str(one["name"]) for one in found if isinstance(one, dict) and "name" in one
        )


@attrs.define
class Declared:
    """The names of one object, for one reconcile.

    before: marks of the names that accepted PUTs have declared. now: marks of the names
    that the spec declares. paths: the places of the maps and lists with such names.
    Marks of values are in `before` and `now`, too.
    """

    before: frozenset[str] = frozenset()
    now: set[str] = attrs.field(factory=set)
    paths: set[str] = attrs.field(factory=set)

    def declare_value(self, path: str, value: Any) -> None:
        """Record the value that the spec declares at a path of the ARM body."""
        self.now.add(_value_mark(path, value))

    def is_new_value(self, path: str, value: Any) -> bool:
        """Return whether the last accepted PUT declared another value there; False if
        that is not known.
        """
        mark = _value_mark(path, value)
        place = mark.partition("=")[0] + "="
        before = {one for one in self.before if one.startswith(place)}
        return bool(before) and mark not in before

    def declare(self, path: str, names: Iterable[str]) -> None:
        """Record the names that the spec declares at a path."""
        self.paths.add(path)
        self.now.update(name_mark(path, name) for name in names)

    def is_withdrawn(self, path: str, name: str) -> bool:
        """Return whether an accepted PUT declared a name that the spec no longer
        does. Call `declare` for the path before.
        """
        mark = name_mark(path, name)
        return mark in self.before and mark not in self.now

    def withdrawn_in(self, body: JsonObject, path: str) -> list[str]:
        """Return the withdrawn names that a resource still has at a path."""
        return [name for name in names_at(body, path) if self.is_withdrawn(path, name)]

    def left_in(self, body: JsonObject) -> frozenset[str]:
        """Return the marks of withdrawn names that the resource still has."""
        shown = {
            name_mark(path, name)
            for path in self.paths
            for name in names_at(body, path)
        }
        return (self.before - self.now) & shown
