"""The fields of the built-in kinds: their names, types and protobuf numbers.

These facts of the Kubernetes API serve to decode protobuf bodies and to find unknown
fields. `hack/kube-messages` writes them into messages.json from Go's types: a row for
each field, with its number, its name in JSON, and its type. A type is a scalar, another
message's name, `[]` or `{}` of either; `!` at its end says that Go's JSON keeps an
empty value. The name `-` marks a message whose fields are fields of the outer object.
"""

from collections.abc import Mapping
from functools import cache
from importlib import resources

import attrs
import orjson

from asoreconcile.base.objects import JsonObject

_TIME: JsonObject = {"type": "string", "format": "date-time", "nullable": True}
_SCALARS: dict[str, JsonObject] = {
    "string": {"type": "string"},
    "bytes": {"type": "string", "format": "byte"},
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "time": _TIME,
    "microtime": _TIME,
    "json": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "items": {"type": "array", "items": {"type": "string"}},
}


@attrs.frozen
class MessageField:
    """One field of a message.

    keeps_empty: whether Go's JSON has the field also if its value is empty.
    """

    name: str
    sort: str
    keeps_empty: bool

    @property
    def is_inline(self) -> bool:
        """Return whether the fields of this message belong to the outer object."""
        return self.name == "-"


@cache
def _rows() -> Mapping[str, list[str]]:
    text = resources.files(__package__).joinpath("messages.json").read_bytes()
    found: dict[str, list[str]] = orjson.loads(text)
    return found


def is_message(name: str) -> bool:
    """Return whether there is a message with a name: a kind, or a part of one."""
    return name in _rows()


@cache
def fields(name: str) -> Mapping[int, MessageField]:
    """Return the fields of a message by their numbers. Raises KeyError without one."""
    split = (row.split() for row in _rows()[name])
    return {
        int(number): MessageField(known, sort.removesuffix("!"), sort.endswith("!"))
        for number, known, sort in split
    }


def schema_of(kind: str) -> JsonObject:
    """Return the OpenAPI schema of a built-in kind, or of a part of one."""
    properties: JsonObject = {}
    for field in fields(kind).values():
        if field.is_inline:
            properties |= schema_of(field.sort)["properties"]
        else:
            properties[field.name] = _part(field.sort)
    return {"type": "object", "properties": properties}


def _part(sort: str) -> JsonObject:
    if sort.startswith("[]"):
        return {"type": "array", "items": _part(sort[2:])}
    if sort.startswith("{}"):
        return {"type": "object", "additionalProperties": _part(sort[2:])}
    return _SCALARS.get(sort) or schema_of(sort)
