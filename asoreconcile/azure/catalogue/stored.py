"""Build the schema of a version's stored form, which can hold every field.

The schema has types only: a changed enum or pattern must not make a stored object
unreadable. Every object has a property bag, and the spec has the author's version.
"""

from asoreconcile.azure.catalogue.conversion import ORIGINAL_VERSION
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.property_bag import BAG
from asoreconcile.base.objects import JsonObject

_BAG_SCHEMA = {"type": "object", "additionalProperties": {"type": "string"}}
_ANY = "x-kubernetes-preserve-unknown-fields"


def stored_schema(version: KindVersion) -> JsonObject:
    """Return the OpenAPI schema of a whole object in the version's stored form.

    Equal parts are shared: the schema must not be changed.
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
