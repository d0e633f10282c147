"""The fields of an object, in the notation of managed fields. Pure.

A path is a tuple of FieldsV1 steps: `f:NAME` is a field, `k:{...}` is the item of a
list with keys, `v:...` is the item of a set. Objects are owned field by field, lists
with keys and sets item by item, all other lists as a whole. The schema says which list
is which.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import attrs
import orjson

from asoreconcile.base.objects import JsonObject

FieldPath = tuple[str, ...]
_TYPE, _KEYS = "x-kubernetes-list-type", "x-kubernetes-list-map-keys"
_MAP_TYPE = "x-kubernetes-map-type"

# An object of objects at all levels: the schema of built-in kinds, which have none
# here.
KNOWN: JsonObject = {"type": "object"}
KNOWN["additionalProperties"] = KNOWN
META: JsonObject = {
    "properties": {
        "labels": KNOWN,
        "annotations": KNOWN,
        "finalizers": {_TYPE: "set"},
        "ownerReferences": {
            _TYPE: "map",
            _KEYS: ["uid"],
            "items": {_MAP_TYPE: "atomic"},
        },
    },
    "additionalProperties": KNOWN,
}


@attrs.frozen
class FieldNode:
    """One place in an object.

    is_leaf: whether it is owned as a whole, with this value.
    is_applied: whether an apply owns it. That holds for leaves, for items of lists with
    keys, and for objects without a schema.
    """

    path: FieldPath
    value: Any
    is_leaf: bool
    is_applied: bool


def nodes(value: Any, schema: JsonObject, path: FieldPath = ()) -> Iterator[FieldNode]:
    """Yield all places in a value, outer ones first, without the value itself."""
    for step, inner, part in _inside(value, schema):
        here = (*path, step)
        leaf = _is_leaf(inner, part)
        free = isinstance(inner, dict) and not part
        yield FieldNode(here, inner, leaf, leaf or free or step.startswith("k:"))
        if not leaf:
            yield from nodes(inner, part, here)


def _is_leaf(value: Any, schema: JsonObject) -> bool:
    if isinstance(value, dict):
        return not value or schema.get(_MAP_TYPE) == "atomic"
    if isinstance(value, list):
        return not value or schema.get(_TYPE) not in ("set", "map")
    return True


def _inside(value: Any, schema: JsonObject) -> Iterator[tuple[str, Any, JsonObject]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield f"f:{name}", inner, member(schema, name)
    elif isinstance(value, list):
        part = _schema(schema.get("items"))
        for item in value:
            yield item_step(item, schema), item, part


def item_step(item: Any, schema: JsonObject) -> str:
    """Return the step that names an item of a list with keys or of a set."""
    if schema.get(_TYPE) == "map" and isinstance(item, dict):
        keys = {name: key_of(item, name, schema) for name in sorted(schema[_KEYS])}
        return "k:" + orjson.dumps(keys).decode()
    return "v:" + orjson.dumps(item).decode()


def key_of(item: JsonObject, name: str, schema: JsonObject) -> Any:
    """Return the value of one of an item's keys, or the default if it is missing."""
    if name in item:
        return item[name]
    properties = _schema(schema.get("items")).get("properties") or {}
    return _schema(properties.get(name)).get("default")


def member(schema: JsonObject, name: str) -> JsonObject:
    """Return the schema of a field, or {} if it has none."""
    found = (schema.get("properties") or {}).get(name)
    return _schema(found if found is not None else schema.get("additionalProperties"))


def _schema(value: Any) -> JsonObject:
    return value if isinstance(value, dict) else {}


def laid_over(live: JsonObject, wanted: JsonObject, schema: JsonObject) -> JsonObject:
    """Return a live object with the fields of an applied one on top."""
    names = dict.fromkeys((*live, *wanted))
    return {
        name: merged(live.get(name), wanted[name], member(schema, name))
        if name in wanted
        else live[name]
        for name in names
    }


def merged(live: Any, wanted: Any, schema: JsonObject) -> Any:
    """Return a live value merged with an applied one; list items are matched by key."""
    if isinstance(live, dict) and isinstance(wanted, dict):
        if _is_leaf(wanted, schema):
            return wanted or live
        result = dict(live)
        for name, inner in wanted.items():
            result[name] = merged(live.get(name), inner, member(schema, name))
        return result
    both = isinstance(live, list) and isinstance(wanted, list)
    if not both or schema.get(_TYPE) not in ("set", "map"):
        return wanted
    items = {item_step(item, schema): item for item in live}
    for item in wanted:
        step = item_step(item, schema)
        items[step] = merged(items.get(step), item, _schema(schema.get("items")))
    return list(items.values())


def without(document: Any, path: FieldPath, schema: JsonObject) -> Any:
    """Return a copy without one place, and without what becomes empty,
    except the root.
    """
    step, rest = path[0], path[1:]
    if isinstance(document, dict):
        name = step.removeprefix("f:")
        if not step.startswith("f:") or name not in document:
            return document
        result = dict(document)
        left = without(result[name], rest, member(schema, name)) if rest else None
        if left is None or (left in ({}, []) and result[name] not in ({}, [])):
            del result[name]
        else:
            result[name] = left
        return result
    if not isinstance(document, list):
        return document
    kept = []
    for item in document:
        if item_step(item, schema) != step:
            kept.append(item)
        elif rest:
            kept.append(without(item, rest, _schema(schema.get("items"))))
    return kept


def to_fields(paths: Iterable[FieldPath]) -> JsonObject:
    """Return the FieldsV1 of a set of paths. `.` means the place itself."""
    tree: JsonObject = {}
    chosen = set(paths)
    for path in sorted(chosen):
        node = tree
        for step in path:
            node = node.setdefault(step, {})
    for path in chosen:
        node = tree
        for step in path:
            node = node[step]
        if node:
            node["."] = {}
    return _sorted(tree)


def _sorted(tree: JsonObject) -> JsonObject:
    return {step: _sorted(tree[step]) for step in sorted(tree)}


def of_fields(tree: JsonObject, path: FieldPath = ()) -> Iterator[FieldPath]:
    """Yield the paths of FieldsV1. Parts in another format are ignored."""
    for step, inner in tree.items():
        here = (*path, step)
        if step == ".":
            yield path
        elif isinstance(inner, dict) and inner:
            yield from of_fields(inner, here)
        else:
            yield here


def shown(path: Sequence[str]) -> str:
    """Return a path in the notation of conflicts: `.spec.entries[name="one"].value`."""
    text = ""
    for step in path:
        kind, _, rest = step.partition(":")
        if kind == "f":
            text += f".{rest}"
        elif kind == "k":
            keys = orjson.loads(rest).items()
            text += "[" + ",".join(f"{k}={_text(v)}" for k, v in keys) + "]"
        else:
            text += f"[={rest}]"
    return text


def _text(value: Any) -> str:
    return orjson.dumps(value).decode()
