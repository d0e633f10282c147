"""Convert fields that have one name but different types in two versions of a kind.

There are few: a map of texts that is a map of any JSON in newer versions (Redis), a map
of any JSON that is a map of objects (identities of MySQL servers), an integer that may
have a fraction (backups of SQL). Azure Service Operator converts a text to the JSON
that the text contains, JSON to its text, an object to the fields that the other version
knows, and a number to an integer. So does this module.

A value that the result does not determine, such as a text that is not JSON, is kept
unchanged in a separate entry of the property bag. The entry is used on the way back
only while it still matches the converted value: a later edit of the field wins.
"""

from typing import Any

import attrs

from asoreconcile.azure.catalogue.field_types import ANY, fits
from asoreconcile.base import jsontext
from asoreconcile.base.objects import JsonObject

_SUFFIX = "AsWritten"
_CASTS = frozenset(
    {
        ("string", "any"),
        ("any", "string"),
        ("any", "object"),
        ("object", "any"),
        ("number", "integer"),
        ("integer", "number"),
    }
)


@attrs.frozen
class Cast:
    """A converted value. left: the original, if `value` does not determine it; else
    None.
    """

    value: Any
    left: Any = None


def as_written(entry: str) -> str:
    """Return the name of the bag entry that keeps the unconverted value."""
    return entry + _SUFFIX


def is_cast(own: JsonObject, schema: JsonObject) -> bool:
    """Return whether a field has two types whose values `cast` converts."""
    here, there = _parts(own, schema)
    return (_type(here), _type(there)) in _CASTS


def cast(
    value: Any, own: JsonObject, schema: JsonObject, written: Any = None
) -> Cast | None:
    """Convert a value of a field for which `is_cast` is true. Pure.

    written: the unconverted value that was kept when this value was made; None if none
    was.

    Return None if the value has neither of the two types.
    """
    here, there = _parts(own, schema)
    if here is own:
        return _one(value, here, there, written)
    if not isinstance(value, dict):
        return None
    kept = written if isinstance(written, dict) else {}
    made: JsonObject = {}
    left: JsonObject = {}
    for key, given in value.items():
        one = _one(given, here, there, kept.get(key))
        if one is None:
            return None
        made[key] = one.value
        if one.left is not None:
            left[key] = one.left
    return Cast(made, left or None)


def in_newer_shape(schema: JsonObject, value: Any) -> Any:
    """Return the value that a field's type takes today.

    Older releases took any JSON for some booleans: a text `true` or `false` becomes
    the boolean. Any other value is returned as it is.
    """
    if schema.get("type") == "boolean" and isinstance(value, str):
        return {"true": True, "false": False}.get(value.lower(), value)
    return value


def _parts(own: JsonObject, schema: JsonObject) -> tuple[JsonObject, JsonObject]:
    """Return the schemas of the values if both fields are maps, else those of the
    fields.
    """
    inner, there = own.get("additionalProperties"), schema.get("additionalProperties")
    return (own, schema) if inner is None or there is None else (inner, there)


def _type(schema: JsonObject) -> str:
    return "any" if schema.get(ANY) else str(schema.get("type", "object"))


def _one(value: Any, own: JsonObject, schema: JsonObject, written: Any) -> Cast | None:
    if not _has_form(value, own, schema):
        return None
    if (
        written is not None
        and _has_form(written, schema, own)
        and _shown(written, schema, own) == value
    ):
        return Cast(written)
    made = _shown(value, own, schema)
    # The original is kept only if converting back would not restore it.
    same = _shown(made, schema, own) == value
    return Cast(made) if same else Cast(made, value)


def _has_form(value: Any, own: JsonObject, schema: JsonObject) -> bool:
    if _type(own) == "any":
        # Any JSON can be shown as its text, but only an object as one with fields.
        return _type(schema) == "string" or isinstance(value, dict)
    return value is not None and fits(own, value)


def _shown(value: Any, own: JsonObject, schema: JsonObject) -> Any:
    match _type(own), _type(schema):
        case "string", "any":
            try:
                return jsontext.loads(value)
            except ValueError:
                return value
        case "any", "string":
            return jsontext.dumps(value, sort_keys=True).decode()
        case "any", "object":
            fields: JsonObject = schema.get("properties", {})
            return {
                n: v for n, v in value.items() if n in fields and fits(fields[n], v)
            }
        case "number", "integer":
            return int(value)
        case _:
            return value
