"""Build the protobuf type of `self` for the CEL engine from a kind's schema.

With the type a misspelt field is refused before anything runs. As with the Go structs
of ASO, an absent field reads as its type's zero value, and `has()` tells the
difference.
"""

from typing import Any, Literal

import attrs
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, struct_pb2
from google.protobuf.message import Message

from asoreconcile.base.objects import JsonObject

PACKAGE = "aso"
SELF = f"{PACKAGE}.Self"

_FieldProto = descriptor_pb2.FieldDescriptorProto
_VALUE = ".google.protobuf.Value"
_SCALARS = {
    "string": _FieldProto.TYPE_STRING,
    "integer": _FieldProto.TYPE_INT64,
    "number": _FieldProto.TYPE_DOUBLE,
    "boolean": _FieldProto.TYPE_BOOL,
}
_INT64 = 2**63
# How deep protobuf reads messages within messages.
_MAX_NESTED = 100
_LIST_MESSAGES, _OBJECT_MESSAGES = 2, 3

FieldShape = Literal["one", "many", "map"]
# Slots by JSON name; mutable, for a type may hold itself.
MessagePlan = dict[str, "Slot"]


@attrs.frozen
class Slot:
    """The place of a JSON field in the message. field: the message's field.

    takes: a JSON type, "any", or the plan of a nested message.
    """

    field: str
    shape: FieldShape
    takes: str | MessagePlan


class SelfType:
    """The message type of one kind version. Thread-safe once made.

    schema: OpenAPI schema of the whole object, as `KindVersion.schema`.
    """

    def __init__(self, schema: JsonObject) -> None:
        builder = _Builder(prefix="Self")
        top = {**schema["properties"], "metadata": _METADATA}
        self._plan = builder.message("Self", {"properties": top})
        self.pool = descriptor_pool.DescriptorPool()
        values = descriptor_pb2.FileDescriptorProto()
        struct_pb2.DESCRIPTOR.CopyToProto(values)
        self.pool.Add(values)
        self.pool.Add(_resource_ids())
        self.pool.Add(builder.file)
        self._class = message_factory.GetMessageClass(
            self.pool.FindMessageTypeByName(SELF)
        )
        self.resource_id = message_factory.GetMessageClass(
            self.pool.FindMessageTypeByName(f"{PACKAGE}.ResourceID")
        )

    def message(self, obj: JsonObject) -> Message:
        """Return an object as a message.

        Values that do not fit the schema are left out. Values that are nested deeper
        than the engine reads, some 30 levels, are null.
        """
        made = self._class()
        _fill(made, self._plan, obj, _MAX_NESTED)
        return made

    def fields_of(self, type_name: str) -> list[str]:
        """Return the fields of a message type of this pool, as expressions name
        them.
        """
        descriptor = self.pool.FindMessageTypeByName(type_name)
        return [field.name for field in descriptor.fields]


class _Builder:
    """Collects message types for one file; one per distinct schema.

    prefix: first part of the names of nested types, which differs from those of other
    files.
    """

    def __init__(self, *, prefix: str) -> None:
        self._prefix = prefix
        self.file = descriptor_pb2.FileDescriptorProto(
            name=f"{prefix}.proto",
            package=PACKAGE,
            syntax="proto3",
            dependency=["google/protobuf/struct.proto"],
        )
        self._known: dict[int, tuple[str, MessagePlan]] = {}

    def message(self, name: str, schema: JsonObject) -> MessagePlan:
        """Add a message type with the schema's properties; return its plan."""
        plan: MessagePlan = {}
        self._known[id(schema)] = (name, plan)
        proto = self.file.message_type.add(name=name)
        for number, (source, child) in enumerate(schema["properties"].items(), 1):
            plan[source] = self._field(proto, escaped(source), number, child)
        return plan

    def _field(self, message: Any, name: str, number: int, schema: JsonObject) -> Slot:
        shape, element = _shape(schema)
        field = message.field.add(name=name, number=number, json_name=name)
        takes: str | MessagePlan
        if shape == "map":
            entry = message.nested_type.add(name=_entry_name(name))
            entry.options.map_entry = True
            entry.field.add(name="key", number=1, type=_SCALARS["string"], label=1)
            value = entry.field.add(name="value", number=2, label=1)
            takes = self._type(value, element)
            field.type = _FieldProto.TYPE_MESSAGE
            field.type_name = f".{PACKAGE}.{message.name}.{entry.name}"
        else:
            takes = self._type(field, element)
        field.label = (
            _FieldProto.LABEL_OPTIONAL if shape == "one" else _FieldProto.LABEL_REPEATED
        )
        if shape == "one" and isinstance(takes, str) and takes in _SCALARS:
            # Presence: has() must tell "" from absent.
            field.proto3_optional = True
            field.oneof_index = len(message.oneof_decl)
            message.oneof_decl.add(name=f"_{number}_{name}")
        return Slot(name, shape, takes)

    def _type(self, field: Any, schema: JsonObject) -> str | MessagePlan:
        """Set the type of a field or of a map's value; return the JSON type that it
        takes.
        """
        kind = schema.get("type", "")
        if kind in _SCALARS:
            field.type = _SCALARS[kind]
            return str(kind)
        field.type = _FieldProto.TYPE_MESSAGE
        if kind != "object" or not schema.get("properties"):
            field.type_name = _VALUE
            return "any"
        if id(schema) not in self._known:
            self.message(f"{self._prefix}{len(self._known)}", schema)
        name, plan = self._known[id(schema)]
        field.type_name = f".{PACKAGE}.{name}"
        return plan


def _shape(schema: JsonObject) -> tuple[FieldShape, JsonObject]:
    """Return whether a field is single, a list or a map, and the schema of one
    element.
    """
    if schema.get("type") == "array":
        return "many", schema.get("items") or {}
    values = schema.get("additionalProperties")
    if schema.get("type") == "object" and values and not schema.get("properties"):
        return "map", values if isinstance(values, dict) else {}
    return "one", schema


def _entry_name(field: str) -> str:
    """Return the name that protobuf requires for the type of a map field's entries."""
    words = field.split("_")
    return "".join(word[:1].upper() + word[1:] for word in words) + "Entry"


def _resource_ids() -> descriptor_pb2.FileDescriptorProto:
    """Return the types of the result of `aso.parseResourceId`."""
    builder = _Builder(prefix="ResourceID")
    text = {"type": "string"}
    resource_type = {"type": "object", "properties": {"namespace": text, "type": text}}
    resource_id: JsonObject = {"type": "object", "properties": {}}
    resource_id["properties"] |= {
        "parent": resource_id,
        "subscriptionId": text,
        "resourceGroupName": text,
        "provider": text,
        "location": text,
        "resourceType": resource_type,
        "name": text,
    }
    builder.message("ResourceID", resource_id)
    return builder.file


def _fill(message: Any, plan: MessagePlan, value: JsonObject, room: int) -> None:
    """Fill a message. room: number of levels of messages that may be nested in it."""
    for source, found in value.items():
        slot = plan.get(source)
        if slot is None or found is None:
            continue
        if slot.shape == "one":
            _set(message, slot.field, slot.takes, found, room - 1)
        elif slot.shape == "many" and isinstance(found, list):
            _fill_list(getattr(message, slot.field), slot.takes, found, room - 1)
        elif slot.shape == "map" and isinstance(found, dict):
            _fill_map(getattr(message, slot.field), slot.takes, found, room - 2)


def _set(
    message: Any, field: str, takes: str | MessagePlan, value: Any, room: int
) -> None:
    if isinstance(takes, str) and takes != "any":
        scalar = _scalar(takes, value)
        if scalar is not None:
            setattr(message, field, scalar)
        return
    nested = getattr(message, field)
    nested.SetInParent()
    _fill_nested(nested, takes, value, room)


def _fill_nested(nested: Any, takes: str | MessagePlan, value: Any, room: int) -> None:
    if takes == "any":
        _fill_any(nested, value, room)
    elif isinstance(takes, dict) and isinstance(value, dict):
        _fill(nested, takes, value, room)


def _fill_list(
    repeated: Any, takes: str | MessagePlan, values: list[Any], room: int
) -> None:
    for value in values:
        if isinstance(takes, str) and takes != "any":
            scalar = _scalar(takes, value)
            if scalar is not None:
                repeated.append(scalar)
        else:
            _fill_nested(repeated.add(), takes, value, room)


def _fill_map(
    mapped: Any, takes: str | MessagePlan, values: JsonObject, room: int
) -> None:
    for key, value in values.items():
        if isinstance(takes, str) and takes != "any":
            scalar = _scalar(takes, value)
            if scalar is not None:
                mapped[key] = scalar
        else:
            _fill_nested(mapped[key], takes, value, room)


def _scalar(takes: str, value: Any) -> Any:
    """Return the value in the form of the type; None if it does not fit."""
    if takes == "string":
        return value if isinstance(value, str) else None
    if takes == "boolean":
        return value if isinstance(value, bool) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if takes == "number":
        return float(value)
    whole = isinstance(value, int) or value.is_integer()
    return int(value) if whole and -_INT64 <= value < _INT64 else None


def _fill_any(made: Any, value: Any, room: int) -> None:
    """Write any JSON to a google.protobuf.Value; null if it is nested too deep.

    An object in a Value is three messages deep (with its entry), a list is two.
    """
    match value:
        case bool():
            made.bool_value = value
        case int() | float():
            made.number_value = value
        case str():
            made.string_value = value
        case list() if room >= _LIST_MESSAGES:
            made.list_value.SetInParent()
            for one in value:
                _fill_any(made.list_value.values.add(), one, room - _LIST_MESSAGES)
        case dict() if room >= _OBJECT_MESSAGES:
            made.struct_value.SetInParent()
            fields = made.struct_value.fields
            for name, one in value.items():
                _fill_any(fields[name], one, room - _OBJECT_MESSAGES)
        case _:
            made.null_value = struct_pb2.NULL_VALUE


_TEXT = {"type": "string"}
_TEXTS = {"type": "object", "additionalProperties": _TEXT}
_METADATA: JsonObject = {
    "type": "object",
    "properties": {
        "name": _TEXT,
        "generateName": _TEXT,
        "namespace": _TEXT,
        "uid": _TEXT,
        "resourceVersion": _TEXT,
        "generation": {"type": "integer"},
        "creationTimestamp": _TEXT,
        "deletionTimestamp": _TEXT,
        "deletionGracePeriodSeconds": {"type": "integer"},
        "labels": _TEXTS,
        "annotations": _TEXTS,
        "finalizers": {"type": "array", "items": _TEXT},
        "ownerReferences": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "apiVersion": _TEXT,
                    "kind": _TEXT,
                    "name": _TEXT,
                    "uid": _TEXT,
                    "controller": {"type": "boolean"},
                    "blockOwnerDeletion": {"type": "boolean"},
                },
            },
        },
    },
}


_SEQUENCES = {
    "__": "__underscores__",
    ".": "__dot__",
    "-": "__dash__",
    "/": "__slash__",
}
# Only the words of CEL's own grammar; those it reserves for embedders are plain names.
_KEYWORDS = frozenset({"true", "false", "null", "in"})


def escaped(name: str) -> str:
    """Return the identifier that stands for a field's JSON name. Pure.

    Parts are replaced from left to right: `a-__b` becomes `a__dash____underscores__b`.
    """
    if name in _KEYWORDS:
        return f"__{name}__"
    found = []
    at = 0
    while at < len(name):
        width = 2 if name.startswith("__", at) else 1
        part = name[at : at + width]
        found.append(_SEQUENCES.get(part, part))
        at += width
    return "".join(found)
