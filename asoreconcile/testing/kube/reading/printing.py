"""Tables for kubectl, with the columns of the kind, or of its CRD. Pure."""

import re
from datetime import datetime
from typing import Any

import orjson

from asoreconcile.base.objects import JsonObject, metadata
from asoreconcile.testing.kube.fields.schema import is_a
from asoreconcile.testing.kube.kinds.resources import RestResource
from asoreconcile.testing.kube.reading.ages import age
from asoreconcile.testing.kube.reading.builtincolumns import columns_of

_NAME: JsonObject = {
    "name": "Name",
    "type": "string",
    "format": "name",
    "description": "",
    "priority": 0,
}
_AGE: JsonObject = {
    "name": "Age",
    "type": "date",
    "jsonPath": ".metadata.creationTimestamp",
}
_STEP = re.compile(
    r"\.(?P<name>[\w-]+)"
    r"|\['(?P<quoted>[^']+)'\]"
    r"|\[(?P<index>\d+)\]"
    r"|\[\?\(@\.(?P<key>[\w-]+)\s*==\s*['\"](?P<value>[^'\"]*)['\"]\)\]"
)


def columns(resource: RestResource) -> list[JsonObject]:
    """Return the column definitions, the name first."""
    if not resource.is_custom:
        own = [column.definition() for column in columns_of(resource.kind)]
        # The name comes last if the kind has its own name column, as events have.
        named = any(column["format"] == "name" for column in own)
        return own if named else [_NAME, *own]
    return [_NAME, *(_definition(column) for column in _custom(resource))]


def row(
    resource: RestResource, obj: JsonObject, now: datetime, held: JsonObject | None
) -> JsonObject:
    """Return one row.

    held: the part of the object in the row; None if there is none.
    """
    cells: list[Any]
    if resource.is_custom:
        cells = [_cell(obj, column, now) for column in _custom(resource)]
    else:
        cells = [column.show(obj, now) for column in columns_of(resource.kind)]
    if len(cells) < len(columns(resource)):
        cells.insert(0, metadata(obj).get("name"))
    made: JsonObject = {"cells": cells}
    if held is not None:
        made["object"] = held
    return made


def _custom(resource: RestResource) -> list[JsonObject]:
    return list(resource.columns) or [_AGE]


def _definition(column: JsonObject) -> JsonObject:
    described = "Custom resource definition column (in JSONPath format): {}"
    return {
        "name": column["name"],
        "type": column["type"],
        "format": column.get("format") or "",
        "description": column.get("description")
        or described.format(column["jsonPath"]),
        "priority": column.get("priority") or 0,
    }


def _cell(obj: JsonObject, column: JsonObject, now: datetime) -> Any:
    """Return a column's cell: null if there is no value, or none of the right type."""
    value = find(obj, column["jsonPath"])
    if value is None:
        return None
    match column["type"]:
        case "date":
            return age(value, now)
        case "string":
            return value if isinstance(value, str) else orjson.dumps(value).decode()
        case "integer" | "number" | "boolean" as wanted:
            return value if is_a(value, wanted) else None
    return value


def partial(obj: JsonObject, version: str) -> JsonObject:
    """Return an object's metadata alone.

    version: version of meta.k8s.io.
    """
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": version,
        "metadata": metadata(obj),
    }


def find(obj: Any, path: str) -> Any:
    """Return the first value at a JSONPath of printer columns, or None."""
    for step in _STEP.finditer(path):
        name = step["name"] or step["quoted"]
        if name is not None:
            obj = obj.get(name) if isinstance(obj, dict) else None
        elif not isinstance(obj, list):
            return None
        elif step["index"] is not None:
            index = int(step["index"])
            obj = obj[index] if index < len(obj) else None
        else:
            key, value = step["key"], step["value"]
            obj = next((item for item in obj if item.get(key) == value), None)
    return obj
