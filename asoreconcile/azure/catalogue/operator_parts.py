"""Schemas of what is converted, without what an API server need not know.

An API server pays for each node of a schema: it keeps a few copies of it, compiles it
to validate and to prune, and publishes it twice; and each rule (CEL) is a program of
its own once its kind is used. Nobody but the operator writes a stored form or a status,
and what a conversion made must be kept as it is. So these parts keep whatever they are
given, and one version's status is left for `kubectl explain` to show. Its schema alone
carries rules as well: the operator that converts knows them all, and holds them by its
admission webhook or, without one, by its reconciler.
"""

from asoreconcile.base.objects import JsonObject

ROOT = frozenset({"apiVersion", "kind", "metadata"})
"""Fields that every object has, and an API server knows without being told."""

_OPEN: JsonObject = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def open_stored() -> JsonObject:
    """Any stored form's schema of a whole object."""
    return {"type": "object", "properties": {"spec": _OPEN, "status": _OPEN}}


def without_root(schema: JsonObject) -> JsonObject:
    """A schema of a whole object without the fields that every object has."""
    parts: JsonObject = schema["properties"]
    kept = {name: part for name, part in parts.items() if name not in ROOT}
    return {**schema, "properties": kept}


def open_status(schema: JsonObject) -> JsonObject:
    """A version's schema of a whole object without rules, with an open status."""
    return {**schema, "properties": {**schema["properties"], "status": _OPEN}}
