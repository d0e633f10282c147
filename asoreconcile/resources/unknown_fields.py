"""Finds fields that a class does not define and a copy has lost, or restores them.

`attrs.evolve`, `dataclasses.replace` and constructors lose the kept fields of an
instance (`kept_fields`). Code that uses them does not mean to delete fields it cannot
see.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Literal, get_args, get_origin

import attrs

from asoreconcile.base.objects import JsonObject
from asoreconcile.resources.class_fields import fields_of, is_field_class, unwrapped
from asoreconcile.resources.value_codecs import LISTS, MAPS, union_of


@attrs.frozen
class NestedClass:
    """A field whose value is of a class, or a list or a map of them.

    keys: the fields that identify list items; empty for other types.
    """

    cls: type
    form: Literal["one", "list", "map"]
    keys: Sequence[str] = ()


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
            if isinstance(old, dict) and isinstance(new, dict):
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
        old, new = before.get(name), after.get(name)
        here = f"{path}.{name}"
        for one, other in _pairs(inner, old, new):
            if isinstance(one, dict) and isinstance(other, dict):
                yield from lost_unknown(inner.cls, one, other, here)
        unkeyed = inner.form == "list" and not inner.keys
        if unkeyed and isinstance(old, list) and isinstance(new, list):
            whole = [one for one in old if _has_unknown(inner.cls, one)]
            others = [one for one in new if not _has_unknown(inner.cls, one)]
            if len(whole) > len(new) - len(others) and any(
                one not in old for one in others
            ):
                yield f"{here}[]"


def _has_unknown(cls: type, document: Any) -> bool:
    """Return whether an object has a field that its class does not define."""
    return isinstance(document, dict) and any(lost_unknown(cls, document, {}))


def _pairs(inner: NestedClass, old: Any, new: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the pairs of matching objects before and after."""
    if inner.form == "one":
        yield old, new
    elif inner.form == "map" and isinstance(old, dict) and isinstance(new, dict):
        yield from ((old[name], new[name]) for name in old.keys() & new.keys())
    elif inner.form == "list" and inner.keys and isinstance(old, list):
        by_key = {_key(one, inner.keys): one for one in old}
        yield from ((by_key.get(_key(one, inner.keys)), one) for one in new or ())


def _key(item: Any, keys: Sequence[str]) -> tuple[str, ...]:
    return tuple(repr(item.get(key)) for key in keys) if type(item) is dict else ()


@cache
def _shape(cls: type) -> tuple[frozenset[str], Mapping[str, NestedClass]]:
    """The field names of a class, and its fields that hold other classes."""
    fields = fields_of(cls)
    nested: dict[str, NestedClass] = {}
    for field in fields:
        schema = field.schema()
        found = _nested(field.type, tuple(schema.map_keys) if schema else ())
        if found is not None:
            nested[field.json_name] = found
    return frozenset(field.json_name for field in fields), nested


def _nested(hint: Any, keys: Sequence[str]) -> NestedClass | None:
    hint, _ = unwrapped(hint)
    choices = union_of(hint)
    if choices is not None:
        return _nested(choices[0], keys) if len(choices) == 1 else None
    if is_field_class(hint):
        return NestedClass(hint, "one")
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in MAPS and is_field_class(item := unwrapped(arguments[1])[0]):
        return NestedClass(item, "map")
    is_list = origin in LISTS or origin is tuple
    if is_list and is_field_class(item := unwrapped(arguments[0])[0]):
        return NestedClass(item, "list", keys)
    return None
