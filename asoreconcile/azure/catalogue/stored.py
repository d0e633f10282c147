"""The schema of a version's stored form: everything it may have to keep.

Types only: an enum or a pattern that changed must not make a stored object unreadable.
Every object gets its property bag, and the spec the version its author wrote.
"""

from asoreconcile.azure.catalogue.conversion import ORIGINAL_VERSION
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.property_bag import BAG
from asoreconcile.base.objects import JsonObject

_BAG_SCHEMA = {"type": "object", "additionalProperties": {"type": "string"}}
_ANY = "x-kubernetes-preserve-unknown-fields"


def stored_schema(version: KindVersion) -> JsonObject:
    """The OpenAPI schema of a whole object in the version's stored form.

    Parts that are equal are one: nobody may change it.
    """
    made: dict[int, JsonObject] = {}
    whole = version.schema
    spec = _relaxed(whole["properties"]["spec"], made)
    author = {ORIGINAL_VERSION: {"type": "string"}}
    spec = {**spec, "properties": {**spec["properties"], **author}}
    status = _relaxed(whole["properties"]["status"], made)
    parts = {**whole["properties"], "spec": spec, "status": status}
    return {**whole, "properties": parts}


def _relaxed(schema: JsonObject, made: dict[int, JsonObject]) -> JsonObject:
    known = made.get(id(schema))
    if known is None:
        known = made[id(schema)] = _relax(schema, made)
    return known


def _relax(schema: JsonObject, made: dict[int, JsonObject]) -> JsonObject:
    # No `required` either: an older object lacks what a newer version demands.
    relaxed = {k: schema[k] for k in ("type", _ANY) if k in schema}
    for keyword in ("items", "additionalProperties"):
        if keyword in schema:
            relaxed[keyword] = _relaxed(schema[keyword], made)
    if relaxed.get("type") == "object" and "additionalProperties" not in relaxed:
        fields = schema.get("properties", {})
        relaxed["properties"] = {
            **{name: _relaxed(child, made) for name, child in fields.items()},
            BAG: _BAG_SCHEMA,
        }
    return relaxed
