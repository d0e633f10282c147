"""Check whether a schema's types can hold a value. Pure."""

from typing import Any

from asoreconcile.base.objects import JsonObject

ANY = "x-kubernetes-preserve-unknown-fields"
_INTEGERS = 2**63


def is_int64(value: float) -> bool:
    """Return whether the API server accepts a number, int or float, as an integer."""
    return -_INTEGERS <= value < _INTEGERS and value == int(value)


def fits(schema: JsonObject, value: Any) -> bool:
    """Return whether a schema's types can hold a value; other constraints are not
    checked.

    Fields of an object that the schema does not have are ignored: they are carried
    along.
    """
    if value is None or schema.get(ANY):
        return True
    match schema.get("type", "object"):
        case "object" if isinstance(value, dict):
            inner = schema.get("additionalProperties")
            return inner is None or all(fits(inner, v) for v in value.values())
        case "array" if isinstance(value, list):
            return all(fits(schema["items"], item) for item in value)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "integer":
            # JSON has one sort of numbers: to the API server 3.0 is a whole one.
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            return is_number and is_int64(value)
        case _:
            return False


def is_key_reference(schema: JsonObject) -> bool:
    """Return whether a field names a key of a Secret or of a ConfigMap."""
    return set(schema.get("properties") or ()) == {"name", "key"}
