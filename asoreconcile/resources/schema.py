"""A structural schema (OpenAPI v3, as CRDs have it) from a class. Pure.

Schemas that Kubernetes would refuse are refused here, with the field and the rule: a
recursive class, a keyword that does not fit a type, a default that violates its own
rules.
"""

import enum
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, get_args, get_origin

import attrs

from asoreconcile.base.objects import JsonObject, copy_json
from asoreconcile.resources.annotations import IMMUTABLE, OMIT_EMPTY, Rule, Schema
from asoreconcile.resources.cel.identifiers import escaped
from asoreconcile.resources.class_fields import (
    ClassField,
    ResourceError,
    fields_of,
    is_field_class,
    unwrapped,
)
from asoreconcile.resources.codec import default_of
from asoreconcile.resources.descriptions import description_of, field_description
from asoreconcile.resources.foreign_constraints import Constraint
from asoreconcile.resources.metadata import ObjectMeta
from asoreconcile.resources.schema_keywords import OF_ONE_TYPE, apply_keywords
from asoreconcile.resources.value_codecs import LISTS, MAPS, union_of
from asoreconcile.resources.values import Quantity
from asoreconcile.resources.violations import violations

QUANTITY_PATTERN = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
PRESERVE = "x-kubernetes-preserve-unknown-fields"
_CALLS = 8  # of a default's factory, to find out whether its values differ
_INT_OR_STRING: JsonObject = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "x-kubernetes-int-or-string": True,
}
_SCALARS: dict[type, JsonObject] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer", "format": "int64"},
    float: {"type": "number"},
    bytes: {"type": "string", "format": "byte"},
    datetime: {"type": "string", "format": "date-time"},
    timedelta: {"type": "string"},
    Quantity: {**_INT_OR_STRING, "pattern": QUANTITY_PATTERN},
}


def object_schema(cls: type, rules: Sequence[Rule] = ()) -> JsonObject:
    """Return the schema of a kind's class, without metadata, which the server defines.

    Raises ResourceError for a class without a valid schema.
    """
    made = _class_schema(cls, _Place(cls.__name__, ()), is_root=True)
    return apply_keywords(made, Schema(rules=rules), cls.__name__)


@attrs.frozen
class _Place:
    """A path in a class; around: the enclosing classes."""

    path: str
    around: tuple[type, ...]

    def refuse(self, rule: str) -> ResourceError:
        return ResourceError(f"{self.path}: {rule}")

    def inside(self, cls: type) -> "_Place":
        return attrs.evolve(self, around=(*self.around, cls))

    def at(self, name: str) -> "_Place":
        return attrs.evolve(self, path=f"{self.path}{name}")


def _class_schema(cls: type, place: _Place, *, is_root: bool = False) -> JsonObject:
    if cls in place.around:
        raise place.refuse(
            f"{cls.__name__} holds itself: a structural schema ends somewhere; write "
            "dict[str, Any] for what has no end"
        )
    if cls is ObjectMeta:
        return _embedded_metadata()
    place = place.inside(cls)
    properties: JsonObject = {}
    required: list[str] = []
    kept_rules: list[Rule] = []
    if is_root:
        properties |= {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}
    for field in fields_of(cls):
        if is_root and field.json_name == "metadata":
            properties["metadata"] = {"type": "object"}
            continue
        properties[field.json_name] = _field_schema(
            cls, field, place.at(f".{field.attribute}"), is_root=is_root
        )
        if field.default is None:
            required.append(field.json_name)
        elif any(isinstance(one, Schema) and one.immutable for one in field.notes):
            kept_rules.append(_stays(field.json_name))
    made: JsonObject = {"type": "object", "properties": properties}
    if text := description_of(cls):
        made["description"] = text
    if required:
        made["required"] = sorted(required)
    return apply_keywords(made, Schema(rules=kept_rules), place.path)


def _field_schema(
    cls: type, field: ClassField, place: _Place, *, is_root: bool
) -> JsonObject:
    made = _described(field.type, field.notes, place)
    _require_one_default(field, place)
    if text := field_description(cls, field.attribute, field.notes):
        made = {"description": text} | {
            name: value for name, value in made.items() if name != "description"
        }
    # Null is a value of its own unless it is the default, which no value means too.
    if field.is_optional and (field.default is None or default_of(field) is not None):
        made["nullable"] = True
    if is_root and field.json_name == "status":
        return made  # only the controller writes it, and the server adds no defaults
    if field.default is not None and OMIT_EMPTY not in field.notes:
        default = default_of(field)
        if default not in (None, [], {}):
            made.setdefault("default", default)
    if "default" in made and (wrong := violations(made["default"], made)):
        raise place.refuse(f"its default {wrong[0]}")
    return made


def _require_one_default(field: ClassField, place: _Place) -> None:
    """Refuse a default whose factory gives another value each time."""
    first = default_of(field)
    if any(default_of(field) != first for _ in range(_CALLS)):
        raise place.refuse(
            "its default differs each time: a CRD has one default. Let None be the "
            "default, and set the value in the program"
        )


def _described(hint: Any, notes: Sequence[Any], place: _Place) -> JsonObject:
    """Return the schema of a type with its `Annotated` keywords."""
    try:
        hint, more = unwrapped(hint)
    except ResourceError as error:
        raise place.refuse(str(error)) from None
    said = [one for one in (*notes, *more) if isinstance(one, Schema)]
    made = _type_schema(hint, place)
    for one in reversed(said):  # the outermost one last: it wins
        if one.immutable:
            one = attrs.evolve(one, rules=(*one.rules, IMMUTABLE))  # noqa: PLW2901
        made = _constrained(made, one, place)
    return made


def _constrained(made: JsonObject, said: Schema, place: _Place) -> JsonObject:
    """Return the schema with a note's keywords. A constraint that meets another value
    of its keyword goes to `allOf`, as both must hold.
    """
    found = apply_keywords(made, said, place.path)
    if not isinstance(said, Constraint):
        return found
    changed = {name: value for name, value in found.items() if made.get(name) != value}
    if all(name not in made for name in changed):
        return found
    return {**made, "allOf": [*made.get("allOf", ()), changed]}


def _type_schema(hint: Any, place: _Place) -> JsonObject:
    if (choices := union_of(hint)) is not None:
        return _union_schema(choices, place)
    if hint is Any or hint is object:
        return {PRESERVE: True}
    origin, arguments = get_origin(hint) or hint, get_args(hint)
    if origin is Literal:
        return _enum_schema(arguments, place)
    if origin in MAPS:
        if not arguments:
            return {"type": "object", PRESERVE: True}
        _require_plain_keys(arguments[0], place)
        inner = _item_schema(arguments[1], place.at("{}"))
        if inner == {PRESERVE: True}:
            return {"type": "object", PRESERVE: True}
        return {"type": "object", "additionalProperties": inner}
    if origin in LISTS or origin is tuple:
        item = arguments[0] if arguments else Any
        return {"type": "array", "items": _item_schema(item, place.at("[]"))}
    if isinstance(origin, type):
        if issubclass(origin, enum.Enum):
            return _enum_schema([one.value for one in origin], place)
        if found := next((s for k, s in _SCALARS.items() if origin is k), None):
            return _own(found)
        if is_field_class(origin):
            return _class_schema(origin, place)
    raise place.refuse(f"{hint} is no type of JSON")


def _require_plain_keys(hint: Any, place: _Place) -> None:
    _, notes = unwrapped(hint)
    if any(isinstance(one, Schema) for one in notes):
        raise place.refuse(
            "a schema says nothing of the keys of a map: write a Rule, such as "
            "self.all(key, key.matches('^[a-z]+$'))"
        )


def _item_schema(hint: Any, place: _Place) -> JsonObject:
    made = _described(hint, (), place)
    if type(None) in get_args(unwrapped(hint)[0]):
        made["nullable"] = True
    return made


def _union_schema(choices: Sequence[Any], place: _Place) -> JsonObject:
    if len(choices) == 1:
        return _described(choices[0], (), place)
    kinds = {unwrapped(one)[0] for one in choices}
    if kinds == {int, str}:
        made = _own(_INT_OR_STRING)
        for one in choices:
            made |= _own_keywords(one, place)
        return made
    if kinds == {int, float}:
        if any(isinstance(n, Schema) for one in choices for n in unwrapped(one)[1]):
            raise place.refuse("a constraint is said of the whole union of numbers")
        return {"type": "number"}
    raise place.refuse("a value has one type; only int | str is a union of Kubernetes")


def _own_keywords(hint: Any, place: _Place) -> JsonObject:
    """Return the keywords of one type of a union that leave values of the other
    type alone.
    """
    plain = _type_schema(unwrapped(hint)[0], place)
    made = _described(hint, (), place)
    found = {name: value for name, value in made.items() if plain.get(name) != value}
    if wrong := next((name for name in found if name not in OF_ONE_TYPE), None):
        raise place.refuse(f"{wrong} cannot be said of one of two types")
    return found


def _enum_schema(values: Sequence[Any], place: _Place) -> JsonObject:
    for kind, name in ((str, "string"), (int, "integer")):
        if values and all(type(one) is kind for one in values):
            return {"type": name, "enum": list(values)}
    raise place.refuse("what it may be are strings, or whole numbers: of one type")


def _stays(name: str) -> Rule:
    """The rule that an immutable field is not removed; it belongs to the enclosing
    object.
    """
    cel = escaped(name)
    return Rule(f"!has(oldSelf.{cel}) || has(self.{cel})", f"{name} is immutable")


def _embedded_metadata() -> JsonObject:
    """Return the metadata schema of an embedded object: the server does not know it as
    metadata, and would prune it.
    """
    texts = {"type": "object", "additionalProperties": {"type": "string"}}
    return {
        "type": "object",
        "properties": {
            "annotations": texts,
            "finalizers": {"type": "array", "items": {"type": "string"}},
            "labels": _own(texts),
            "name": {"type": "string"},
            "namespace": {"type": "string"},
        },
    }


def _own(schema: JsonObject) -> JsonObject:
    """Return a copy: a document must not share parts."""
    made: JsonObject = copy_json(schema)
    return made


def leaf(schema: JsonObject, path: str) -> JsonObject | None:
    """Return the schema at a path such as `.spec.host` or `.status.ports[0].name`; None
    where there is none.
    """
    found: JsonObject = schema
    for step in path.replace("[", ".[").split("."):
        if not step:
            continue
        if step.startswith("["):
            inner = found.get("items")
        else:
            known = found.get("properties") or {}
            inner = known.get(step) or found.get("additionalProperties")
        if not isinstance(inner, dict):
            return None
        found = inner
    return found
