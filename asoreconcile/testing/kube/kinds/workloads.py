"""The kinds that controllers own: Pods, Deployments, Services and the like.

Their types, defaults and checks are facts of a real server, which `hack/kube-kinds`
writes into workloads.json. There, a type has fields, and a field is a type's name,
alone or with further facts. Nothing runs these kinds: `asoreconcile.testing.playing`
stands in for their controllers.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any

import orjson

from asoreconcile.base.objects import JsonObject, copy_json
from asoreconcile.testing.kube.fields import schema
from asoreconcile.testing.kube.wire.messages import schema_of

QUANTITY: JsonObject = {"x-kubernetes-int-or-string": True, "format": "quantity"}
INT_OR_STRING: JsonObject = {
    "x-kubernetes-int-or-string": True,
    "format": "int-or-string",
}
_SCALARS: Mapping[str, JsonObject] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "int32": {"type": "integer"},
    "int64": {"type": "integer"},
    "bytes": {"type": "string", "format": "byte"},
    "time": {"type": "string", "format": "date-time", "nullable": True},
    "microtime": {"type": "string", "format": "date-time", "nullable": True},
    "quantity": QUANTITY,
    "intOrString": INT_OR_STRING,
    "json": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}
_SAID = {
    "listType": "x-kubernetes-list-type",
    "listKeys": "x-kubernetes-list-map-keys",
    "mapType": "x-kubernetes-map-type",
    "mergeKey": "x-kubernetes-patch-merge-key",
    "patch": "x-kubernetes-patch-strategy",
    "default": "default",
}
# In Go an empty value of these types is left out, unless the real server was seen to
# keep it.
_DROPPED_EMPTY: Mapping[str, Any] = {"string": "", "[]": [], "{}": {}}
_NUMBERS = {"int32": 0, "int64": 0, "bool": False}


@cache
def facts() -> JsonObject:
    """Return the contents of workloads.json."""
    text = resources.files(__package__).joinpath("workloads.json").read_bytes()
    found: JsonObject = orjson.loads(text)
    return found


@cache
def kind_facts(group: str, kind: str) -> JsonObject | None:
    """Return the facts of a kind, or None if it is not in the file."""
    for name, known in facts()["kinds"].items():
        api, _, own = name.rpartition("/")
        if own == kind and api.rpartition("/")[0] == group:
            return {**known, "version": api.rpartition("/")[2]}
    return None


def fields_of(sort: str) -> Mapping[str, tuple[str, JsonObject]]:
    """Return the fields of a type, each with its type and further facts."""
    return _fields(sort) if sort in facts()["types"] else {}


@cache
def _fields(sort: str) -> Mapping[str, tuple[str, JsonObject]]:
    return {
        name: (row, {}) if isinstance(row, str) else (row[0], row[1])
        for name, row in facts()["types"][sort].items()
    }


@cache
def schema_of_kind(kind: str) -> JsonObject:
    """Return the OpenAPI schema of a kind. Parts that are used twice are one object."""
    return _object(kind)


@cache
def _object(sort: str) -> JsonObject:
    if sort == "ObjectMeta":
        return schema_of(sort)
    properties = {
        name: _field(inner, said) for name, (inner, said) in fields_of(sort).items()
    }
    found: JsonObject = {"type": "object", "properties": properties}
    if sort == "PersistentVolumeClaim":  # a StatefulSet contains whole claims
        text = _SCALARS["string"]
        properties |= {
            "apiVersion": text,
            "kind": text,
            "metadata": _part("ObjectMeta"),
        }
    if sort in facts()["atomic"]:
        found["x-kubernetes-map-type"] = "atomic"
    return found


def _field(sort: str, said: JsonObject) -> JsonObject:
    more = {theirs: said[ours] for ours, theirs in _SAID.items() if ours in said}
    return {**_part(sort), **more}


def _part(sort: str) -> JsonObject:
    if sort.startswith("[]"):
        return {"type": "array", "items": _part(sort[2:])}
    if sort.startswith("{}"):
        return {"type": "object", "additionalProperties": _part(sort[2:])}
    return _SCALARS.get(sort) or _object(sort)


@cache
def always_there(kind: str) -> frozenset[tuple[str, ...]]:
    """Return the paths that even an empty object of a kind has.

    Managed fields name these paths, but writing such a path makes no owner.
    """
    return frozenset(_always(kind, ()))


def _always(sort: str, at: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for name, (inner, said) in fields_of(sort).items():
        is_typed = inner in facts()["types"] and inner not in facts()["atomic"]
        is_typed = is_typed or inner == "ObjectMeta"
        if said.get("always") and (is_typed or said.get("listType") in ("map", "set")):
            here = (*at, f"f:{name}")
            yield here
            yield from _always(inner, here)


def admitted(kind: str, group: str, obj: JsonObject) -> tuple[JsonObject, list[str]]:
    """Return a copy with defaults and without empty fields, and the unknown paths.

    group: group of the kind, whose types have names of their own.
    """
    if kind_facts(group, kind) is None:
        raise ValueError(f"{kind} of {group} is none of these")
    pruned = _said(kind, copy_json(obj))
    return schema.admit(schema_of_kind(kind), pruned)


def _said(sort: str, value: Any) -> Any:
    """Remove the empty fields that Go leaves out, in place; return the value."""
    if sort.startswith("[]") and isinstance(value, list):
        return [_said(sort[2:], item) for item in value]
    if not isinstance(value, dict):
        return value
    if sort.startswith("{}"):
        return {name: _said(sort[2:], inner) for name, inner in value.items()}
    known = fields_of(sort)
    return {
        name: _said(known[name][0], inner) if name in known else inner
        for name, inner in value.items()
        if name not in known or not _says_nothing(*known[name], inner)
    }


def _says_nothing(sort: str, said: JsonObject, value: Any) -> bool:
    short = sort[:2] if sort[:2] in _DROPPED_EMPTY else sort
    if short in _DROPPED_EMPTY:
        empty, kept = _DROPPED_EMPTY[short], said.get("keepsEmpty", False)
    elif short in _NUMBERS:
        empty, kept = _NUMBERS[short], said.get("keepsEmpty", True)
    else:
        return False
    return not kept and type(value) is type(empty) and value == empty
