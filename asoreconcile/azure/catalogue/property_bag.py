"""The text of one entry of a `$propertyBag`, as Azure Service Operator stores it.

A bag is a map of strings in a stored object: what its version has no field for, under
the names of Go fields. What is a string in the version that has the field is stored
bare, all else as JSON. The field's type says which, never the look of the text: `123`
and `true` may be strings. So an entry stays text until a version is asked for that
has the field.

ASO's JSON is Go's: the fields of a struct in the order of their Go names, the keys of a
map sorted, and the characters escaped that mean something in HTML.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

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
    """A property bag or annotation that cannot be read: somebody edited it."""


@lru_cache(maxsize=8192)
def entry_name(field: str) -> str:
    """A field's name in a bag: `osDisk` is `OsDisk`."""
    return "".join(_capitalised(_WORD.split(field))) or field


def write_entry(value: Any, schema: JsonObject | None) -> str:
    """The text of a value, whose field has the schema.

    Without a schema (no version has the field), what is a string counts as one.
    """
    if isinstance(value, str) and (schema is None or is_string(schema)):
        return value
    text = jsontext.dumps(_in_go_order(value, schema or {})).decode()
    for character in _ESCAPED:
        if character in text:
            text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def read_entry(name: str, text: Any, schema: JsonObject) -> Any:
    """The value of an entry, whose field has the schema; bags in it stay as they are.

    Raises ConversionDataError.
    """
    if not isinstance(text, str):
        raise ConversionDataError(f"{name} in a {BAG} is no string")
    if is_string(schema):
        return text
    try:
        return jsontext.loads(text)
    except ValueError as error:
        raise ConversionDataError(f"{name} in a {BAG} holds no JSON") from error


def is_string(schema: JsonObject) -> bool:
    """Whether a field's value is stored bare. Enums are strings."""
    return schema.get("type") == "string" and not schema.get(_ANY)


def entries(value: JsonObject) -> JsonObject:
    """The bag of a stored object, {} without one. Raises ConversionDataError."""
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
