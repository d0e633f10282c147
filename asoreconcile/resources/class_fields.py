"""Reads the fields of a class of attrs, dataclasses or pydantic.

pydantic is not a dependency and need not be installed: its models are recognized by
their attributes. Its constraint types are read too.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import attrs

from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.resources.annotations import Schema


class ResourceError(AsoreconcileError):
    """A class that cannot be a resource; the message names the field and the
    problem.
    """


class _Nothing:
    """Marks a missing default, as None may be a default."""


NOTHING = _Nothing()


@attrs.frozen
class ClassField:
    """One field. argument: its name in `__init__`. type: without `Annotated`.

    notes: the `Annotated` metadata, outermost first. default: a factory; None if the
    field is required.
    """

    attribute: str
    argument: str
    json_name: str
    type: Any
    notes: Sequence[Any]
    default: Callable[[], Any] | None

    @property
    def nullable(self) -> bool:
        """Whether null is allowed."""
        return self.type is Any or type(None) in get_args(self.type)

    def schema(self) -> Schema | None:
        """The field's `Schema`, if any."""
        return next((one for one in self.notes if isinstance(one, Schema)), None)


def is_field_class(kind: object) -> bool:
    """Whether a class is of attrs, dataclasses or pydantic."""
    return isinstance(kind, type) and (
        attrs.has(kind) or dataclasses.is_dataclass(kind) or _is_model(kind)
    )


def fields_of(kind: type) -> tuple[ClassField, ...]:
    """Its fields, in their order.

    Raises ResourceError for a duplicate JSON name, NameError for a type that is not
    defined yet.
    """
    hints = get_type_hints(kind, include_extras=True)
    found = tuple(_made(one, hints) for one in _raw_fields(kind))
    names: dict[str, str] = {}
    for one in found:
        other = names.setdefault(one.json_name, one.attribute)
        if other != one.attribute:
            raise ResourceError(
                f"{kind.__name__}: {other} and {one.attribute} are both "
                f"{one.json_name!r} in JSON: give one of them a Schema(name=...)"
            )
    return found


def unwrapped(hint: Any) -> tuple[Any, list[Any]]:
    """A type without `Annotated`, `NewType` and aliases, and their notes."""
    notes: list[Any] = []
    while True:
        if get_origin(hint) is Annotated:
            hint, *said = get_args(hint)
            notes += said
        elif hasattr(hint, "__supertype__"):
            hint = hint.__supertype__
        elif hasattr(hint, "__value__") and not isinstance(hint, type):
            hint = hint.__value__  # `type Name = ...`
        else:
            return hint, notes


@attrs.frozen
class _RawField:
    attribute: str
    argument: str
    default: Callable[[], Any] | None
    alias: str = ""
    notes: Sequence[Any] = ()


def _made(raw: _RawField, hints: dict[str, Any]) -> ClassField:
    kind, notes = unwrapped(hints.get(raw.attribute, Any))
    notes += [one for one in raw.notes if one not in notes]
    said = (one.name for one in notes if isinstance(one, Schema) and one.name)
    name = next(said, "") or raw.alias or camel_case(raw.attribute)
    return ClassField(raw.attribute, raw.argument, name, kind, notes, raw.default)


def camel_case(name: str) -> str:
    """`api_version` as `apiVersion`; `_` at either end counts for nothing."""
    first, *rest = name.strip("_").split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def _raw_fields(kind: type) -> Iterator[_RawField]:
    if attrs.has(kind):
        yield from _attrs_fields(kind)
    elif dataclasses.is_dataclass(kind):
        yield from _dataclass_fields(kind)
    else:
        yield from _model_fields(kind)


def _attrs_fields(kind: type) -> Iterator[_RawField]:
    for one in attrs.fields(kind):
        if not one.init:
            continue  # computed: nothing that is stored
        default: Callable[[], Any] | None = None
        if isinstance(one.default, attrs.Factory):  # type: ignore[arg-type]  # a class at run time
            if one.default.takes_self:
                raise ResourceError(
                    f"{kind.__name__}.{one.name}: a default that takes the object is "
                    "made before there is one"
                )
            default = one.default.factory
        elif one.default is not attrs.NOTHING:
            default = _constant(one.default)
        yield _RawField(one.name, one.alias, default)


def _dataclass_fields(kind: type) -> Iterator[_RawField]:
    for one in dataclasses.fields(kind):
        if not one.init:
            continue
        default: Callable[[], Any] | None = None
        if one.default_factory is not dataclasses.MISSING:
            default = one.default_factory
        elif one.default is not dataclasses.MISSING:
            default = _constant(one.default)
        yield _RawField(one.name, one.name, default)


def _model_fields(kind: Any) -> Iterator[_RawField]:
    for name, one in kind.model_fields.items():
        default: Callable[[], Any] | None = None
        if not one.is_required():
            default = one.default_factory or _constant(one.default)
        notes = [note for note in map(_of_model_note, one.metadata) if note]
        if one.description:
            notes.append(one.description)
        yield _RawField(name, one.alias or name, default, one.alias or "", notes)


# pydantic's constraints (those of annotated_types, and its own for patterns), by the
# attribute that each of them has.
_MODEL_NOTES = {
    "ge": "minimum",
    "le": "maximum",
    "multiple_of": "multiple_of",
    "min_length": "min_length",
    "max_length": "max_length",
    "pattern": "pattern",
}


def _of_model_note(note: Any) -> Any:
    if isinstance(note, Schema | str):
        return note
    said: dict[str, Any] = {
        ours: value
        for theirs, ours in _MODEL_NOTES.items()
        if (value := getattr(note, theirs, None)) is not None
    }
    if (low := getattr(note, "gt", None)) is not None:
        said |= {"minimum": low, "exclusive_minimum": True}
    if (high := getattr(note, "lt", None)) is not None:
        said |= {"maximum": high, "exclusive_maximum": True}
    return Schema(**said) if said else None


def _is_model(kind: type) -> bool:
    return isinstance(getattr(kind, "model_fields", None), dict)


def _constant(value: Any) -> Callable[[], Any]:
    return lambda: value
