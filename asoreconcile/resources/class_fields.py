"""Reads the fields of a class of attrs, dataclasses or pydantic.

pydantic is not a dependency and need not be installed: its models are recognized by
their attributes.
"""

import dataclasses
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Optional, Union, get_args, get_origin, get_type_hints

import attrs

from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.resources.annotations import Schema


class InexpressibleError(ValueError):
    """A constraint cannot be expressed by a schema. The text shows the constraint and
    gives advice.
    """


class Constraint(Schema):
    """A note of another package. All constraints of a type must hold, while an outer
    `Schema` replaces the keywords of an inner one.
    """


_FOREIGN = ("annotated_types", "pydantic")
_KEYWORDS = {
    "ge": "minimum",
    "le": "maximum",
    "gt": "minimum",
    "lt": "maximum",
    "multiple_of": "multiple_of",
    "min_length": "min_length",
    "max_length": "max_length",
    "pattern": "pattern",
}
_EXCLUSIVE = {"gt": "exclusive_minimum", "lt": "exclusive_maximum"}
# True of every JSON value that the API server stores, or a hint for people.
_WITHOUT_EFFECT = frozenset(
    ("strict", "allow_inf_nan", "coerce_numbers_to_str", "fail_fast", "unit")
)


def understood(note: Any) -> Iterator[Any]:
    """Yield a note of `Annotated` as one of this library's notes; an unrelated note is
    yielded unchanged.

    Raises InexpressibleError for a constraint that no schema can express.
    """
    name = type(note).__name__
    if name in ("Doc", "DocInfo"):
        yield str(note.documentation)
    elif type(note).__module__.partition(".")[0] not in _FOREIGN:
        yield note
    elif name == "FieldInfo":
        yield from understood_all(note.metadata)
        if note.description:
            yield note.description
    else:
        yield from _constraints(note)


def understood_all(notes: Iterable[Any]) -> Iterator[Any]:
    """Yield all notes as `understood` does, in their order."""
    for note in notes:
        yield from understood(note)


def _constraints(note: Any) -> Iterator[Constraint]:
    names = getattr(note, "__dataclass_fields__", None) or getattr(note, "__dict__", {})
    if not any(name in _KEYWORDS or name in _WITHOUT_EFFECT for name in names):
        raise _refused(note)
    for name in names:
        value = getattr(note, name, None)
        if value is None or value is False or name in _WITHOUT_EFFECT:
            continue
        if name not in _KEYWORDS:
            raise _refused(note)
        keywords = {_KEYWORDS[name]: _plain(value, note)}
        if name in _EXCLUSIVE:
            keywords[_EXCLUSIVE[name]] = True
        yield Constraint(**keywords)


def _plain(value: Any, note: Any) -> Any:
    if isinstance(value, re.Pattern):
        if value.flags & ~re.UNICODE:
            raise _refused(note)
        return value.pattern
    if isinstance(value, str | int | float):
        return value
    raise _refused(note)


def _refused(note: Any) -> InexpressibleError:
    return InexpressibleError(
        f"{note!r:.80} cannot be expressed in a CRD, so the API server would not check "
        "it: write a Rule, or check it in a webhook"
    )


class ResourceError(AsoreconcileError):
    """A class that cannot be a resource; the message names the field and the
    problem.
    """


class _Nothing:
    """Marks a missing default, as None may be a default."""


NOTHING = _Nothing()


@attrs.frozen
class ClassField:
    """One field of a class. argument: name of the field in `__init__`. type: type
    without `Annotated`.

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
        """Return whether null is allowed."""
        return self.type is Any or self.is_optional

    @property
    def is_optional(self) -> bool:
        """Return whether the type names None."""
        return type(None) in get_args(self.type)

    def schema(self) -> Schema | None:
        """Return the field's `Schema`, if any."""
        return next((one for one in self.notes if isinstance(one, Schema)), None)


def is_field_class(kind: object) -> bool:
    """Return whether a class is of attrs, dataclasses or pydantic."""
    return isinstance(kind, type) and (
        attrs.has(kind) or dataclasses.is_dataclass(kind) or _is_model(kind)
    )


def fields_of(kind: type) -> tuple[ClassField, ...]:
    """Return the fields of a class, in their order.

    Raises ResourceError for a duplicate JSON name, NameError for a type that is not
    defined yet.
    """
    hints = get_type_hints(kind, include_extras=True)
    found = tuple(_made(kind, one, hints) for one in _raw_fields(kind))
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
    """Return a type without `Annotated`, `NewType` and aliases, and their notes.

    Raises ResourceError for a constraint that no schema can express.
    """
    notes: list[Any] = []
    while True:
        if get_origin(hint) is Annotated:
            hint, *said = get_args(hint)
            notes += _understood(said)
        elif hasattr(hint, "__supertype__"):
            hint = hint.__supertype__
        elif hasattr(hint, "__value__") and not isinstance(hint, type):
            hint = hint.__value__  # `type Name = ...`
        else:
            return hint, notes


def _understood(notes: Sequence[Any]) -> list[Any]:
    try:
        return list(understood_all(notes))
    except InexpressibleError as error:
        raise ResourceError(str(error)) from None


@attrs.frozen
class _RawField:
    attribute: str
    argument: str
    default: Callable[[], Any] | None
    alias: str = ""
    notes: Sequence[Any] = ()


def _made(cls: type, raw: _RawField, hints: dict[str, Any]) -> ClassField:
    try:
        kind, notes = _without_inner_notes(*unwrapped(hints.get(raw.attribute, Any)))
        notes += [one for one in _understood(raw.notes) if one not in notes]
    except ResourceError as error:
        raise ResourceError(f"{cls.__name__}.{raw.attribute}: {error}") from None
    said = (one.name for one in notes if isinstance(one, Schema) and one.name)
    name = next(said, "") or raw.alias or camel_case(raw.attribute)
    return ClassField(raw.attribute, raw.argument, name, kind, notes, raw.default)


def _without_inner_notes(kind: Any, notes: list[Any]) -> tuple[Any, list[Any]]:
    """Return `Annotated[int, X] | None` as `int | None` with the note X, because notes
    do not apply to null.
    """
    if get_origin(kind) not in (Union, types.UnionType):
        return kind, notes
    choices = [one for one in get_args(kind) if one is not type(None)]
    if len(choices) != 1 or len(get_args(kind)) == 1:
        return kind, notes
    inner, said = unwrapped(choices[0])
    return Optional[inner], [*notes, *said]  # noqa: UP045 - not all types have `|`


def camel_case(name: str) -> str:
    """Return a name in camelCase: `api_version` as `apiVersion`. A `_` at either end is
    dropped.
    """
    first, *rest = name.strip("_").split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def _raw_fields(kind: type) -> Iterator[_RawField]:
    if attrs.has(kind):
        yield from _attrs_fields(kind)
    elif (fields := vars(kind).get("__pydantic_fields__")) is not None:
        yield from _model_fields(kind, fields)
    elif dataclasses.is_dataclass(kind):
        yield from _dataclass_fields(kind)
    else:
        yield from _model_fields(kind, kind.model_fields)  # type: ignore[attr-defined]  # `_is_model`


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


_OF_TEXTS = (
    *("str_max_length", "str_min_length"),
    *("str_strip_whitespace", "str_to_lower", "str_to_upper"),
)


def _model_fields(kind: type, fields: Mapping[str, Any]) -> Iterator[_RawField]:
    """Return the fields of one of pydantic's classes."""
    if getattr(kind, "__pydantic_root_model__", False):
        raise ResourceError(f"{kind.__name__}: a RootModel has no fields")
    # Of a model, or of a dataclass.
    config = getattr(kind, "model_config", getattr(kind, "__pydantic_config__", {}))
    if of_texts := [name for name in _OF_TEXTS if config.get(name)]:
        raise ResourceError(
            f"{kind.__name__}: the API server would not check {', '.join(of_texts)} of "
            "its configuration: give its fields the constraints"
        )
    for name, one in fields.items():
        default: Callable[[], Any] | None = None
        if not one.is_required():
            if getattr(one, "default_factory_takes_validated_data", False):
                raise ResourceError(
                    f"{kind.__name__}.{name}: a default that takes the object is made "
                    "before there is one"
                )
            default = one.default_factory or _constant(one.default)
        notes = [*one.metadata, *([one.description] if one.description else ())]
        alias = _alias(kind, name, one)
        yield _RawField(name, alias or name, default, alias, notes)


def _alias(kind: type, name: str, field: Any) -> str:
    """Return the one name that pydantic reads and writes a field by, or ""."""
    stated = (field.alias, field.validation_alias, field.serialization_alias)
    if not any(stated):
        return ""
    # The constructor takes the one that is validated.
    if isinstance(read := field.validation_alias, str) and stated[2] in (None, read):
        return read
    raise ResourceError(
        f"{kind.__name__}.{name}: a field is read and written by one name: give it one "
        "alias for both, or Schema(name=...)"
    )


def _is_model(kind: type) -> bool:
    return isinstance(getattr(kind, "model_fields", None), dict)


def _constant(value: Any) -> Callable[[], Any]:
    return lambda: value
