"""Derive from a kind's tables which parts of an ARM body a PUT may write. Pure.

A comparison of a body with Azure's response needs to know which members a PUT writes,
which maps have free keys, and which values come from Secrets. Names are compared
without letter case, as Azure does.
"""

import hashlib
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import attrs

from asoreconcile.azure.catalogue.element_paths import replace_elements
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.tables import NAME_FIELD, Field, Table
from asoreconcile.azure.catalogue.type_facts import facts_of
from asoreconcile.base.objects import JsonObject

Steps = tuple[str, ...]

_MAPS = frozenset({"{}value", "value", "identities"})
# Stands for an object that is there, whatever is in it.
PRESENT = "\0present"
# Azure writes these into what has a name; they change only with it.
_ELEMENT = ("id", "type")
# Fixed by the id, or of Azure's own making.
_ENVELOPE = frozenset({"id", "name", "type", "etag", "systemdata", "location"})


@attrs.frozen
class BodyShape:
    """The writable parts of the ARM bodies of one kind.

    free_maps: paths in lower case, such as `properties/labels`, of objects whose keys
    the user chooses; lists add no step to a path.
    digest: changes if the set of writable members changes.
    """

    free_maps: frozenset[str]
    digest: str
    _table: Table = attrs.field(repr=False)
    _unspecified: tuple[Steps, ...] = ()

    def writable(self, body: JsonObject) -> JsonObject:
        """Return the members of a body that a PUT of the kind may write, names in lower
        case.

        Members that are fixed by the id, and values that come from Secrets, are left
        out. Shares values with `body`.
        """
        found = _object(self._table, body)
        if isinstance(body.get("properties"), dict):
            found.setdefault("properties", {PRESENT: True})
        for steps in self._unspecified:
            value = _found(body, steps, {})
            if value is not None:
                inside = found
                for step in steps[:-1]:
                    inside = inside.setdefault(step, {PRESENT: True})
                inside[steps[-1]] = value
        return {name: v for name, v in found.items() if name not in _ENVELOPE}


@lru_cache(maxsize=1024)
def body_shape(version: KindVersion) -> BodyShape:
    """Return the shape of a version's bodies; computed once for each version."""
    table = version.table
    found = sorted(set(_fields(table, "", ())))
    more = facts_of(version.arm_type).unspecified
    text = "\n".join([*(f"{path} {what}" for path, what in found), *more])
    return BodyShape(
        # A value with known members has a table, so any other object is a map.
        free_maps=frozenset(path for path, what in found if what in _MAPS),
        digest=hashlib.sha256(text.encode()).hexdigest()[:4],
        table=table,
        unspecified=tuple(tuple(path.split("/")) for path in more),
    )


def body_paths(version: KindVersion) -> frozenset[str]:
    """Return the paths of all fields in a version's bodies, in lower case; lists add no
    step.
    """
    return frozenset(path for path, _ in _fields(version.table, "", ()))


def plain_path(path: str, element: str = "") -> str:
    """Return a path in lower case. element: text that replaces the index of each list
    element.
    """
    return replace_elements(path, element).casefold()


def _fields(
    table: Table, at: str, within: tuple[int, ...]
) -> Iterator[tuple[str, str]]:
    # Types may hold themselves (a rule that has rules).
    if id(table) in within:
        return
    for field in table.fields:
        path = at if table.leaves else "/".join((*filter(None, [at]), *_steps(field)))
        yield path, field.nesting + field.conversion
        if field.table is not None:
            yield from _fields(field.table, path, (*within, id(table)))


def _steps(field: Field) -> Steps:
    return tuple(step.casefold() for step in field.path)


def _object(table: Table, body: JsonObject) -> JsonObject:
    if table.leaves:
        return _union(table, body)
    out: JsonObject = {}
    folded: dict[int, dict[str, Any]] = {}
    for field in table.fields:
        if field.source == NAME_FIELD or field.is_secret:
            continue
        steps = _steps(field)
        value = _found(body, steps, folded)
        if value is not None:
            value = _nested(field, field.nesting, value)
        inside = out
        for depth, step in enumerate(steps[:-1], start=1):
            if _found(body, steps[:depth], folded) is None:
                break
            inside = inside.setdefault(step, {PRESENT: True})
        else:
            if value is not None:
                inside[steps[-1]] = value
    return out


def _union(table: Table, body: JsonObject) -> JsonObject:
    """Return the members that any of the variants may write; the values tell the
    variant.
    """
    out: JsonObject = {}
    for field in table.fields:
        if field.table is not None:
            for name, value in _object(field.table, body).items():
                known = out.get(name)
                both = [one for one in (known, value) if isinstance(one, dict)]
                out[name] = {**both[0], **both[1]} if len(both) > 1 else value
    return out


def _found(body: JsonObject, steps: Steps, folded: dict[int, dict[str, Any]]) -> Any:
    """Return the value at a path of lower-case names, or None.

    folded: the members of each visited object, by name in lower case. The keys are
    object ids, which are valid as long as `body` lives.
    """
    value: Any = body
    for step in steps:
        if not isinstance(value, dict):
            return None
        names = folded.get(id(value))
        if names is None:
            names = {name.casefold(): inner for name, inner in value.items()}
            folded[id(value)] = names
        value = names.get(step)
    return value


def _nested(field: Field, nesting: str, value: Any) -> Any:
    if nesting.startswith("[]"):
        # Another shape than the table knows: taken as it is.
        if not isinstance(value, list):
            return value
        return [_nested(field, nesting[2:], inner) for inner in value]
    if nesting.startswith("{}"):
        if not isinstance(value, dict):
            return value
        return {name: _nested(field, nesting[2:], v) for name, v in value.items()}
    if field.conversion == "identities" and isinstance(value, dict):
        # Its value is Azure's, and changes with the identity alone.
        return {name: inner or PRESENT for name, inner in value.items()}
    if field.table is not None and isinstance(value, dict):
        own: JsonObject = {
            n: value[n] for n in _ELEMENT if isinstance(value.get(n), str)
        }
        if any(inner not in (None, "", [], {}) for inner in value.values()):
            own[PRESENT] = True
        return {**own, **_object(field.table, value)}
    return value
