"""Shorten the schemas of objects that a webhook converts.

An API server pays for each node of a schema: it keeps a few copies, compiles the schema
to validate and to prune, and publishes it twice; each rule (CEL) is a program of its
own once its kind is used. Only the operator writes stored forms and statuses, and a
converted value must be kept unchanged. So these schemas allow any content, and one
version keeps its status schema for `kubectl explain`. Only that version carries rules
as well: the operator checks all rules in its admission webhook or, without one, in its
reconciler.
"""

from asoreconcile.base.objects import JsonObject

ROOT = frozenset({"apiVersion", "kind", "metadata"})
"""Fields that every object has, and an API server knows without being told."""

_OPEN: JsonObject = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def open_stored() -> JsonObject:
    """Return a schema that allows any stored form."""
    return {"type": "object", "properties": {"spec": _OPEN, "status": _OPEN}}


def without_root(schema: JsonObject) -> JsonObject:
    """Return a schema of a whole object without the fields that every object has."""
    parts: JsonObject = schema["properties"]
    kept = {name: part for name, part in parts.items() if name not in ROOT}
    return {**schema, "properties": kept}


def open_status(schema: JsonObject) -> JsonObject:
    """Return a version's schema of a whole object that allows any status."""
    return {**schema, "properties": {**schema["properties"], "status": _OPEN}}
