"""Fields of one name that two versions of a kind have as different types.

There are few: a map of texts that is a map of any JSON in newer versions (Redis), a map
of any JSON that is one of objects (identities of MySQL's servers), a whole number that
may have a fraction (backups of SQL). A value is shown as Azure Service Operator shows
it: a text as the JSON that it is, JSON as its text, an object without the fields that
nobody knows, a number without its fraction.

What cannot be had back from that, such as a text that is no JSON, is kept as it was
written, in an entry of its own in the property bag. It counts while it still says what
is shown: who edits the field elsewhere is not overruled by it.
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
    """A value as the other version has it. left: what it does not say of the value."""

    value: Any
    left: Any = None


def as_written(entry: str) -> str:
    """The entry of a bag that keeps what another field's entry cannot."""
    return entry + _SUFFIX


def is_cast(own: JsonObject, schema: JsonObject) -> bool:
    """Whether a field is of two types that take each other's values."""
    here, there = _parts(own, schema)
    return (_type(here), _type(there)) in _CASTS


def cast(
    value: Any, own: JsonObject, schema: JsonObject, written: Any = None
) -> Cast | None:
    """A value of a field that `is_cast`; None for one of neither type.

    written: what was left when this value was made, if anything was. Pure.
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


def _parts(own: JsonObject, schema: JsonObject) -> tuple[JsonObject, JsonObject]:
    """The schemas of a map's values, else those of the fields."""
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
    # Only what the way back would not give again is kept beside it.
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
