"""Checks the types of an expression against the schema that it is for.

A schema becomes types of CEL: an object is a message of protobuf, made for the check
alone. A list in a list, and a list or map in a map, has items of any type here, as
protobuf has no type for it.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs

from asoreconcile.base.objects import JsonObject
from asoreconcile.resources.cel import engine, functions
from asoreconcile.resources.cel.identifiers import escaped

_PACKAGE = "crd"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MESSAGE, _REPEATED, _OPTIONAL = 11, 3, 1
_SCALARS = {"BOOL": 8, "BYTES": 12, "DOUBLE": 1, "INT": 3, "STRING": 9}
_WELL_KNOWN = {
    "DYN": ".google.protobuf.Value",
    "DURATION": ".google.protobuf.Duration",
    "TIMESTAMP": ".google.protobuf.Timestamp",
    "LIST": ".google.protobuf.ListValue",
    "MAP": ".google.protobuf.Struct",
}
_FORMATS = {
    "byte": "BYTES",
    "duration": "DURATION",
    "date": "TIMESTAMP",
    "date-time": "TIMESTAMP",
}
_KINDS = {"string": "STRING", "boolean": "BOOL", "number": "DOUBLE", "integer": "INT"}


@attrs.frozen
class SchemaType:
    """A CEL type. name: BOOL, LIST, MAP, OBJECT and so on.

    inner: the type of items and map values. fields: the types of an object's fields.
    """

    name: str
    inner: "SchemaType | None" = None
    fields: Mapping[str, "SchemaType"] = attrs.field(factory=dict)


_TEXT = SchemaType("STRING")
_METADATA = SchemaType("OBJECT", None, {"name": _TEXT, "generateName": _TEXT})


def type_of(schema: JsonObject, *, is_root: bool = False) -> SchemaType | None:
    """Return the type of a schema's values; None if expressions do not see them."""
    if schema.get("x-kubernetes-int-or-string"):
        return SchemaType("DYN")
    kind = schema.get("type")
    if kind == "array":
        items = schema.get("items")
        inner = _embedded_or_plain(items) if isinstance(items, dict) else None
        return inner and SchemaType("LIST", inner)
    if kind == "object":
        return _object_type(schema, is_root=is_root)
    if kind == "string" and schema.get("format") in _FORMATS:
        return SchemaType(_FORMATS[schema["format"]])
    return SchemaType(_KINDS[kind]) if kind in _KINDS else None


def _embedded_or_plain(schema: JsonObject) -> SchemaType | None:
    return type_of(schema, is_root=bool(schema.get("x-kubernetes-embedded-resource")))


def _object_type(schema: JsonObject, *, is_root: bool) -> SchemaType | None:
    extra = schema.get("additionalProperties")
    if isinstance(extra, dict):
        inner = _embedded_or_plain(extra)
        return inner and SchemaType("MAP", inner)
    fields: dict[str, SchemaType] = {}
    for name, part in (schema.get("properties") or {}).items():
        found = _embedded_or_plain(part)
        if found is not None and _NAME.fullmatch(escaped(name)):
            fields[escaped(name)] = found
    if is_root:
        fields |= {"apiVersion": _TEXT, "kind": _TEXT, "metadata": _METADATA}
    return SchemaType("OBJECT", None, fields)


def typed_compiler(found: SchemaType) -> Callable[[str], str]:
    """Return a function that returns the name of an expression's type, over `self` and
    `oldSelf` of a schema. That function raises RuleError if the types do not fit.
    """
    messages = _Messages()
    own = messages.type_of(found)
    return engine.typed_compiler(
        lambda library: (
            {name: own(library) for name in ("self", "oldSelf", "old__value")}
            | {"old__is": library.Type.BOOL}
        ),
        messages.pool(),
    )


class _Messages:
    """Declares a message for each object type."""

    def __init__(self) -> None:
        from google.protobuf import descriptor_pb2

        self._file = descriptor_pb2.FileDescriptorProto(
            name="crd.proto", package=_PACKAGE, syntax="proto2"
        )
        self._values = descriptor_pb2.FileDescriptorProto(
            name="values.proto", package=functions.PACKAGE, syntax="proto2"
        )
        functions.declared_messages(
            lambda name: self._values.message_type.add(name=name)
        )
        self._file.dependency.extend(f"google/protobuf/{one}.proto" for one in _IMPORTS)

    def pool(self) -> Any:
        """Return a pool with the messages."""
        from google.protobuf import (
            descriptor_pool,
            duration_pb2,
            struct_pb2,
            timestamp_pb2,
        )

        made = descriptor_pool.DescriptorPool()
        for known in (duration_pb2, struct_pb2, timestamp_pb2):
            made.AddSerializedFile(known.DESCRIPTOR.serialized_pb)
        for file in (self._values, self._file):
            made.AddSerializedFile(file.SerializeToString())
        return made

    def type_of(self, found: SchemaType) -> Callable[[Any], Any]:
        """Return a function that makes the engine's type, given the engine's
        library.
        """
        match found.name:
            case "OBJECT":
                name = f"{_PACKAGE}.{self._declare(found)}"
                return lambda library: library.Type(name)
            case "LIST":
                inner = self.type_of(_inside(found))
                return lambda library: library.Type.List(inner(library))
            case "MAP":
                inner = self.type_of(_inside(found))
                return lambda library: library.Type.Map(
                    library.Type.STRING, inner(library)
                )
        return lambda library: getattr(library.Type, found.name)

    def _declare(self, found: SchemaType) -> str:
        message = self._file.message_type.add(
            name=f"Type{len(self._file.message_type)}"
        )
        for number, (name, inner) in enumerate(found.fields.items(), 1):
            field = message.field.add(name=name, number=number, label=_OPTIONAL)
            if inner.name == "LIST":
                field.label = _REPEATED
                self._set_type(field, _inside(inner))
            elif inner.name == "MAP":
                entry = message.nested_type.add(name=f"{_entry(name)}Entry")
                entry.options.map_entry = True
                entry.field.add(name="key", number=1, label=_OPTIONAL, type=9)
                value = entry.field.add(name="value", number=2, label=_OPTIONAL)
                self._set_type(value, _inside(inner))
                field.label, field.type = _REPEATED, _MESSAGE
                field.type_name = f".{_PACKAGE}.{message.name}.{entry.name}"
            else:
                self._set_type(field, inner)
        return str(message.name)

    def _set_type(self, field: Any, found: SchemaType) -> None:
        if found.name in _SCALARS:
            field.type = _SCALARS[found.name]
            return
        field.type = _MESSAGE
        if found.name == "OBJECT":
            field.type_name = f".{_PACKAGE}.{self._declare(found)}"
        else:
            field.type_name = _WELL_KNOWN[found.name]


_IMPORTS = ("duration", "struct", "timestamp")


def _inside(found: SchemaType) -> SchemaType:
    return found.inner or SchemaType("DYN")


def _entry(name: str) -> str:
    """Return the name that protobuf requires for the entry of a map field, which is in
    camel case.
    """
    made: Iterator[str] = (part[:1].upper() + part[1:] for part in name.split("_"))
    return "".join(made)
