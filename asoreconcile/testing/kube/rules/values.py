"""JSON values in the form that validation rules see, by their schema's types and
formats.

The functions are pure. Times become protobuf messages, which come with the CEL engine.
"""

import base64
import binascii
import re
from typing import Any

from asoreconcile.base.objects import JsonObject
from asoreconcile.resources.cel.identifiers import escaped

_DURATION = re.compile(r"(-?\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}


def as_rules_see(schema: JsonObject, value: Any, *, is_root: bool = False) -> Any:
    """Return a value with escaped names of fields and parsed formats.

    is_root: whether this is a whole object, whose metadata shows only its name.
    """
    if isinstance(value, dict):
        return _object(schema, value, is_root=is_root)
    if isinstance(value, list):
        items = schema.get("items")
        inner = items if isinstance(items, dict) else {}
        return [as_rules_see(inner, item) for item in value]
    if isinstance(value, str):
        return _text(str(schema.get("format") or ""), value)
    if schema.get("type") == "number" and isinstance(value, int):
        return value if isinstance(value, bool) else float(value)
    return value


def _object(schema: JsonObject, value: JsonObject, *, is_root: bool) -> JsonObject:
    properties: JsonObject = schema.get("properties") or {}
    extra = schema.get("additionalProperties")
    seen: JsonObject = {}
    for name, inner in value.items():
        if is_root or schema.get("x-kubernetes-embedded-resource"):
            if name in ("apiVersion", "kind"):
                seen[name] = inner
                continue
            if name == "metadata":
                shown = ("name", "generateName")
                seen[name] = {key: inner[key] for key in shown if key in inner}
                continue
        if name in properties:
            seen[escaped(name)] = as_rules_see(properties[name], inner)
        elif isinstance(extra, dict):
            seen[name] = as_rules_see(extra, inner)
    return seen


def _text(format_: str, value: str) -> Any:
    """Return a text in its format's type, or the text itself if it does not match."""
    try:
        if format_ == "date-time":
            return _time(value)
        if format_ == "date":
            return _time(f"{value}T00:00:00Z")
        if format_ == "byte":
            return base64.b64decode(value, validate=True)
        if format_ == "duration":
            return _duration(value)
    except (ValueError, binascii.Error):
        pass  # the schema's check reports a violated format
    return value


def _time(value: str) -> Any:
    from google.protobuf.timestamp_pb2 import Timestamp

    found = Timestamp()
    found.FromJsonString(value)
    return found


def _duration(value: str) -> Any:
    from google.protobuf.duration_pb2 import Duration

    if _DURATION.sub("", value.removeprefix("-")):
        raise ValueError(value)
    seconds = sum(float(n) * _SECONDS[u] for n, u in _DURATION.findall(value))
    found = Duration()
    found.FromNanoseconds(round(seconds * 1e9))
    return found
