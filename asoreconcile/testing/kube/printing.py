"""What kubectl shows: Table rows, with the columns of the kind's CRD."""

import re
from datetime import UTC, datetime
from typing import Any

from asoreconcile.objects import JsonObject, metadata
from asoreconcile.testing.kube.kinds import Resource

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
    "description": "",
    "priority": 0,
    "jsonPath": ".metadata.creationTimestamp",
}
_STEP = re.compile(
    r"\.(?P<name>[\w-]+)"
    r"|\['(?P<quoted>[^']+)'\]"
    r"|\[(?P<index>\d+)\]"
    r"|\[\?\(@\.(?P<key>[\w-]+)\s*==\s*['\"](?P<value>[^'\"]*)['\"]\)\]"
)


def columns(resource: Resource) -> list[JsonObject]:
    """Column definitions, the name first."""
    own = list(resource.columns) or [_AGE]
    return [_NAME, *({"description": "", "priority": 0, **column} for column in own)]


def row(
    resource: Resource, obj: JsonObject, now: datetime, includes: str
) -> JsonObject:
    """One row. includes: how much of the object: Metadata, Object or None."""
    cells = [metadata(obj).get("name")]
    for column in columns(resource)[1:]:
        value = find(obj, column["jsonPath"])
        if value is not None and column["type"] == "date":
            value = age(str(value), now)
        cells.append("" if value is None else value)
    made: JsonObject = {"cells": cells}
    if includes != "None":
        made["object"] = obj if includes == "Object" else partial(obj)
    return made


def partial(obj: JsonObject) -> JsonObject:
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata(obj),
    }


def find(obj: Any, path: str) -> Any:
    """The first value at a JSONPath of the kind printer columns use, or None."""
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


def age(timestamp: str, now: datetime) -> str:
    """How long ago, as kubectl writes it: 12s, 4m10s, 3h5m, 2d."""
    try:
        then = datetime.fromisoformat(timestamp)
    except ValueError:
        return "<invalid>"
    seconds = max(0, int((now.astimezone(UTC) - then).total_seconds()))
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 10:
        return f"{minutes}m{seconds % 60}s" if seconds % 60 else f"{minutes}m"
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return f"{hours}h{minutes % 60}m" if minutes % 60 else f"{hours}h"
    return f"{hours}h" if hours < 48 else f"{days}d"
