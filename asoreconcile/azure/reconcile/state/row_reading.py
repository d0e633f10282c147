"""Learns from a GET how to read a resource's row in Resource Graph. Pure.

A row is no ARM body: types are in lower case, empty members appear as nulls, the
api-version differs, and version tags are missing. A row can replace a GET only if it
holds everything that the GET showed, so that no change stays unseen. The mapping from
row to body is kept, and the whole row must be unchanged. Rule: Q9.
"""

import zlib
from typing import Any

import attrs

from asoreconcile.azure.arm.body_digest import digest_of
from asoreconcile.base import jsontext
from asoreconcile.base.objects import JsonObject, copy_json

# Longer edits are not kept: each of thousands of objects has its own.
_MOST_BYTES = 2048
# Author and tag of a version: no decision of a sync depends on them.
_NOT_IN_ROWS = frozenset({"etag", "systemData"})
# Columns that every resource has: a value that they lack does not exist.
_COLUMNS = frozenset(
    {"kind", "location", "managedBy", "sku", "plan", "tags", "identity", "zones"}
)
_IN_ANY_CASE = frozenset({"id", "name", "type"})
_Path = tuple[str | int, ...]


class _UndecidableError(Exception):
    """The GET shows a value that the row does not."""


@attrs.frozen
class RowReading:
    """digest: of the row. edits: turn it into the GET's body, packed."""

    digest: bytes
    edits: bytes = attrs.field(repr=False)

    @classmethod
    def learnt(cls, row: JsonObject, body: JsonObject) -> "RowReading | None":
        """From a row and the answer of a GET at the same time; None if the row does not
        show all of it, by its age or its kind.
        """
        edits: list[list[Any]] = []
        try:
            _compare(_columns_of(row), body, (), edits)
        except _UndecidableError:
            return None
        packed = zlib.compress(jsontext.dumps(edits), 9)
        return cls(digest_of(row), packed) if len(packed) <= _MOST_BYTES else None

    def body_of(self, row: JsonObject) -> JsonObject | None:
        """The GET's body, if the row is unchanged since then."""
        if digest_of(row) != self.digest:
            return None
        body: JsonObject = copy_json(_columns_of(row))
        for path, *value in jsontext.loads(zlib.decompress(self.edits)):
            inside: Any = body
            for step in path[:-1]:
                inside = inside[step]
            if value:
                inside[path[-1]] = value[0]
            else:
                del inside[path[-1]]
        return body


def _columns_of(row: JsonObject) -> JsonObject:
    """A row without its empty columns."""
    return {name: value for name, value in row.items() if value is not None}


def _compare(row: Any, body: Any, at: _Path, edits: list[list[Any]]) -> None:
    """Add `[path, value]` for values that the GET writes differently and `[path]` for
    those that it does not show. Raises _UndecidableError for a value that only the GET
    shows.
    """
    match row, body:
        case dict(), dict():
            for name in [*row, *(n for n in body if n not in row)]:
                _compare_member(row, body, (*at, name), edits)
        case list(), list() if len(row) == len(body):
            for index, (theirs, ours) in enumerate(zip(row, body, strict=True)):
                _compare(theirs, ours, (*at, index), edits)
        case _ if row == body and type(row) is type(body):
            pass
        case str(), str() if _is_same_text(row, body, at):
            edits.append([at, body])
        case _:
            raise _UndecidableError


def _compare_member(
    row: JsonObject, body: JsonObject, at: _Path, edits: list[list[Any]]
) -> None:
    name = str(at[-1])
    theirs, ours = row.get(name), body.get(name)
    if name not in body:
        edits.append([at])
    elif ours is None:
        if theirs is not None or name not in row:
            edits.append([at, None])
    elif name in _NOT_IN_ROWS:
        if theirs != ours:
            edits.append([at, ours])
    elif theirs is None:
        if len(at) > 1 or name not in _COLUMNS or ours not in ({}, [], ""):
            raise _UndecidableError
        edits.append([at, ours])
    else:
        _compare(theirs, ours, at, edits)


def _is_same_text(theirs: str, ours: str, at: _Path) -> bool:
    """Return whether two texts are equal, allowing for Resource Graph's spelling."""
    if len(at) == 1 and at[0] == "location":
        return _region(theirs) == _region(ours)
    is_id = ours[:15].lower() == "/subscriptions/"
    named = len(at) == 1 and at[0] in _IN_ANY_CASE
    return (is_id or named) and theirs.lower() == ours.lower()


def _region(text: str) -> str:
    return text.replace(" ", "").lower()
