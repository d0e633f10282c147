"""Finds fields that a class does not define and a copy has lost, or restores them.

`attrs.evolve`, `dataclasses.replace` and constructors lose the kept fields of an
instance (`kept_fields`). Code that uses them does not mean to delete fields that it
does not know.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, get_args, get_origin

import attrs

from asoreconcile.base.objects import JsonObject
from asoreconcile.resources.annotations import Schema
from asoreconcile.resources.class_fields import fields_of, is_field_class, unwrapped
from asoreconcile.resources.value_codecs import LISTS, MAPS, SETS, union_of


@attrs.frozen
class NestedClass:
    """A field whose value is an object of a class, or holds some in lists and maps.

    layers: the lists and maps around the objects, outermost first. A map is None; a
    list is the fields that identify its items, which may be none.
    """

    cls: type
    layers: tuple[Sequence[str] | None, ...] = ()

    @property
    def items(self) -> "NestedClass":
        """The field as each item of its outermost list or map has it: with one layer
        less.
        """
        return NestedClass(self.cls, self.layers[1:])


def carry_unknown(cls: type, before: JsonObject, after: JsonObject) -> None:
    """Restore in `after` the fields of `before` that the class does not define.

    Only for objects in both: matched by name in maps, by map keys in lists. Objects
    that were removed stay removed, as do items of lists without keys.
    """
    known, nested = _shape(cls)
    for name, value in before.items():
        if name not in known:
            after.setdefault(name, value)
    for name, inner in nested.items():
        for old, new in _pairs(inner, before.get(name), after.get(name)):
            carry_unknown(inner.cls, old, new)


def lost_unknown(
    cls: type, before: JsonObject, after: JsonObject, path: str = ""
) -> Iterator[str]:
    """Find the fields of `before` that the class does not define and `after` lacks.

    Objects that were removed on purpose are not missed. An item of a list without keys
    counts as changed by a copy if it was not in the list before.
    """
    known, nested = _shape(cls)
    for name in before:
        if name not in known and name not in after:
            yield f"{path}.{name}"
    for name, inner in nested.items():
        yield from _lost(inner, before.get(name), after.get(name), f"{path}.{name}")


def _lost(nested: NestedClass, old: Any, new: Any, path: str) -> Iterator[str]:
    if not nested.layers:
        if isinstance(old, dict) and isinstance(new, dict):
            yield from lost_unknown(nested.cls, old, new, path)
    elif nested.layers[0] == ():
        if isinstance(old, list) and isinstance(new, list):
            gone = [[*_unknown(nested.items, one)] for one in _without(old, new)]
            come = [[*_unknown(nested.items, one)] for one in _without(new, old)]
            if any(_without(gone, come)) and _without(come, gone):
                yield f"{path}[]"
    else:
        for one, other in _matching(nested.layers[0], old, new):
            yield from _lost(nested.items, one, other, path)


def _unknown(nested: NestedClass, value: Any, path: str = "") -> Iterator[Any]:
    """Yield each field that a class does not define, as its path and its value."""
    if nested.layers:
        items = value.items() if isinstance(value, dict) else enumerate(value or ())
        for name, one in items:
            yield from _unknown(nested.items, one, f"{path}.{name}")
    elif isinstance(value, dict):
        known, inside = _shape(nested.cls)
        for name, one in value.items():
            if name not in known:
                yield f"{path}.{name}", one
            elif name in inside:
                yield from _unknown(inside[name], one, f"{path}.{name}")


def _without(items: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    """Return the items that are not among the others, each of which counts once."""
    left = list(others)
    return [one for one in items if not _removed(left, one)]


def _removed(items: list[Any], item: Any) -> bool:
    """Remove an item, and return whether it was there."""
    is_there = item in items
    if is_there:
        items.remove(item)
    return is_there


def _pairs(nested: NestedClass, old: Any, new: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the pairs of matching objects before and after."""
    if nested.layers:
        for one, other in _matching(nested.layers[0], old, new):
            yield from _pairs(nested.items, one, other)
    elif isinstance(old, dict) and isinstance(new, dict):
        yield old, new


def _matching(
    layer: Sequence[str] | None, old: Any, new: Any
) -> Iterator[tuple[Any, Any]]:
    """Yield the pairs of matching items of a list or map before and after."""
    if layer is None and isinstance(old, dict) and isinstance(new, dict):
        yield from ((old[name], new[name]) for name in old.keys() & new.keys())
    elif layer and isinstance(old, list):
        by_key = {_key(one, layer): one for one in old}
        yield from ((by_key.get(_key(one, layer)), one) for one in new or ())


def _key(item: Any, keys: Sequence[str]) -> tuple[str, ...]:
    return tuple(repr(item.get(key)) for key in keys) if type(item) is dict else ()


@cache
def _shape(cls: type) -> tuple[frozenset[str], Mapping[str, NestedClass]]:
    """The field names of a class, and its fields that hold other classes."""
    fields = fields_of(cls)
    nested = {one.json_name: _nested(one.type, one.notes) for one in fields}
    return frozenset(nested), {k: v for k, v in nested.items() if v is not None}


def _nested(hint: Any, notes: Sequence[Any] = ()) -> NestedClass | None:
    """Return the place of a class's objects in values of a type; None if there are
    none.
    """
    hint, more = unwrapped(hint)
    notes = [*notes, *more]
    choices = union_of(hint)
    if choices is not None:
        return _nested(choices[0], notes) if len(choices) == 1 else None
    if is_field_class(hint):
        return NestedClass(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in MAPS:
        found, layer = _nested(arguments[1]), None
    elif origin in LISTS or origin in SETS or origin is tuple:
        found = _nested(arguments[0])
        layer = tuple(
            key for one in notes if isinstance(one, Schema) for key in one.map_keys
        )
    else:
        return None
    return found and NestedClass(found.cls, (layer, *found.layers))
