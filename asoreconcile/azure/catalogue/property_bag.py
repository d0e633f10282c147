"""Read and write the entries of a `$propertyBag`, as Azure Service Operator stores
them.

A bag is a map of strings in a stored object. It holds the fields that the object's
version does not have, under the names of Go fields. A value of type string is stored
bare, every other value as JSON. Only the field's type decides, not the look of the
text: `123` and `true` may be strings. So an entry stays text until it is converted to a
version that has the field.

ASO writes JSON as Go does: the fields of a struct in the order of their Go names, the
keys of a map sorted, and the characters escaped that have a meaning in HTML.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from asoreconcile.azure.catalogue.field_types import is_key_reference
from asoreconcile.base import jsontext
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import JsonObject

BAG = "$propertyBag"
_ANY = "x-kubernetes-preserve-unknown-fields"
_WORD = re.compile("[^0-9A-Za-z_]+")
_ESCAPED = ("<", ">", "&", "\u2028", "\u2029")
_GO_STRUCTS = {
    frozenset({"group", "kind", "name", "armId"}): ["group", "kind", "name", "armId"],
    frozenset({"name", "key"}): ["name", "key"],
}
"""References to objects and to secrets: these structs alone are not in the order of
their names."""


class ConversionDataError(AsoreconcileError):
    """A property bag or annotation cannot be read: it was edited by hand."""


@lru_cache(maxsize=8192)
def entry_name(field: str) -> str:
    """Return a field's name in a bag: `osDisk` is `OsDisk`."""
    return "".join(_capitalised(_WORD.split(field))) or field


def write_entry(value: Any, schema: JsonObject | None) -> str:
    """Return the text of a value whose field has the schema.

    If there is no schema because no version has the field, a string is stored bare.
    """
    if isinstance(value, str) and (schema is None or is_string(schema)):
        return value
    text = jsontext.dumps(_in_go_order(value, schema or {})).decode()
    for character in _ESCAPED:
        if character in text:
            text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def read_entry(name: str, text: Any, schema: JsonObject) -> Any:
    """Return the value of an entry whose field has the schema; nested bags are kept.

    Raises ConversionDataError.
    """
    if not isinstance(text, str):
        raise ConversionDataError(f"{name} in a {BAG} is no string")
    if is_string(schema):
        return text
    try:
        return jsontext.loads(text)
    except ValueError as error:
        if is_key_reference(schema):
            return text  # written when the field held the secret itself
        raise ConversionDataError(f"{name} in a {BAG} holds no JSON") from error


def is_string(schema: JsonObject) -> bool:
    """Return whether a field's value is stored bare. Enums are strings."""
    return schema.get("type") == "string" and not schema.get(_ANY)


def entries(value: JsonObject) -> JsonObject:
    """Return the bag of a stored object, {} without one. Raises ConversionDataError."""
    bag = value.get(BAG) or {}
    if not isinstance(bag, dict):
        raise ConversionDataError(f"a {BAG} is no map")
    return bag


def _in_go_order(value: Any, schema: JsonObject) -> Any:
    if schema.get(_ANY):
        return value  # kept as the text it was
    if isinstance(value, list):
        items = schema.get("items", {})
        return [_in_go_order(item, items) for item in value]
    # Go writes such a number without a fraction up to this size.
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return int(value)
    if not isinstance(value, dict):
        return value
    known: JsonObject = schema.get("properties", {})
    inner: JsonObject = schema.get("additionalProperties", {})
    if "additionalProperties" in schema:
        names = sorted(value)
    # Go keeps the order of the struct; the byte must be ASO's, or it would see a
    # change.
    elif order := _GO_STRUCTS.get(frozenset(known)):
        names = [n for n in order if n in value] + [n for n in value if n not in order]
    else:
        names = sorted(value, key=lambda name: (entry_name(name), name))
    return {name: _in_go_order(value[name], known.get(name, inner)) for name in names}


def _capitalised(words: list[str]) -> Iterator[str]:
    for word in words:
        yield word[:1].upper() + word[1:]
