"""Converts a Kubernetes dict to an instance of a class and back, without loss.

A class is compiled once into two closures. Decoding requires every required field with
its type, and names the field that is wrong; fields that the class does not define are
kept (`kept_fields`). Encoding a decoded object gives exactly the same document.
"""

import os
import threading
from typing import Any, Generic, TypeVar

import attrs

from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.json_problems import EncodeError
from asoreconcile.base.objects import JsonObject
from asoreconcile.resources.annotations import OMIT_EMPTY
from asoreconcile.resources.class_fields import (
    ClassField,
    ResourceError,
    fields_of,
    is_field_class,
)
from asoreconcile.resources.kept_fields import KeptFields, keep, keep_in_copies, kept_of
from asoreconcile.resources.value_codecs import (
    Decode,
    Encode,
    MismatchError,
    ValueCodec,
    exact_when_written,
    unfit,
    value_codec,
)

T = TypeVar("T")
_EMPTY: tuple[Any, ...] = (None, [], {})


class ObjectDecodeError(AsoreconcileError):
    """An object does not fit its class; only a change of the object or the class helps.

    The reconcile is retried anyway, because the error may be about another object than
    the reconciled one.
    """


@attrs.frozen
class Codec(Generic[T]):
    """Decodes and encodes one class. Pure; safe from any thread."""

    kind: type[T]
    read: Decode
    write: Encode

    def decode(self, document: JsonObject) -> T:
        """Return a new instance.

        document: the caller must not use it afterwards, because untyped lists and maps
        are not copied.

        Raises ObjectDecodeError, which names the field.
        """
        try:
            made: T = self.read(document)
        except MismatchError as error:
            raise ObjectDecodeError(f"{self.kind.__name__}: {error}") from None
        return made

    def encode(self, instance: T) -> JsonObject:
        """Return a new dict.

        Raises EncodeError, which names class and field, for a value of another type
        than the field's.
        """
        try:
            made: JsonObject = self.write(instance)
        except MismatchError as error:
            place = error.path.lstrip(".") or "it"
            raise EncodeError(f"{self.kind.__name__}: {place}", error.rule) from None
        return made


_CODECS: dict[type, Codec[Any]] = {}
_LOCK = threading.RLock()


def _after_fork() -> None:
    """Replace the lock in a forked child: if another thread held it at the fork, it
    would never be released.
    """
    global _LOCK  # noqa: PLW0603 - the one lock of the process
    _LOCK = threading.RLock()


os.register_at_fork(after_in_child=_after_fork)


def codec_of(kind: type[T]) -> Codec[T]:
    """Return the codec of a class of attrs, dataclasses or pydantic; compiled on first
    use.

    Raises ResourceError for a field type without a JSON form, NameError for a type that
    is not defined yet.
    """
    found = _CODECS.get(kind)
    if found is None:
        with _LOCK:
            compiling: dict[type, _Holder] = {}
            found = _compiled(kind, compiling)
            _CODECS.update({one: holder.codec() for one, holder in compiling.items()})
    return found


class _Holder:
    """A placeholder for a class that is being compiled, which recursive references
    use.
    """

    def __init__(self, kind: type) -> None:
        self.kind = kind
        self.made: Codec[Any] | None = None

    def codec(self) -> Codec[Any]:
        assert self.made is not None  # noqa: S101 - who asks has compiled it
        return self.made

    def read(self, value: Any) -> Any:
        return self.codec().read(value)

    def write(self, value: Any) -> Any:
        return self.codec().write(value)


def _compiled(kind: type, compiling: dict[type, _Holder]) -> Codec[Any]:
    if not is_field_class(kind):
        raise ResourceError(
            f"{kind.__name__} is no class of attrs, dataclasses or pydantic"
        )
    holder = compiling.setdefault(kind, _Holder(kind))

    def nested(other: type) -> ValueCodec:
        if other in _CODECS:
            return ValueCodec(_CODECS[other].read, _CODECS[other].write)
        if other in compiling:
            return ValueCodec(compiling[other].read, compiling[other].write)
        made = _compiled(other, compiling)
        return ValueCodec(made.read, made.write)

    plans = []
    for field in fields_of(kind):
        try:
            plans.append(_plan(field, value_codec(field.type, nested)))
        except ResourceError as error:
            message = f"{kind.__name__}.{field.attribute}: {error}"
            raise ResourceError(message) from None
    _require_weak_references(kind)
    keep_in_copies(kind)
    holder.made = Codec(kind, _reader(kind, plans), _writer(kind, plans))
    return holder.made


@attrs.frozen
class _Plan:
    """The encoding of one field.

    omits: if true, an empty value is left out of the encoded object.
    omits_falsy: if true, zero and false are left out, too.
    default: encoded form of the field's default.
    stands: whether that encoded form is not empty. If so, a field that was missing when
    it was decoded is left out again while it has the default value.
    """

    field: ClassField
    codec: ValueCodec
    omits: bool
    omits_falsy: bool
    default: Any
    stands: bool


def _plan(field: ClassField, codec: ValueCodec) -> _Plan:
    omits_falsy = OMIT_EMPTY in field.notes
    if field.default is None:
        return _Plan(field, codec, False, omits_falsy, None, False)
    written = _default_written(field, codec)
    empty = written in _EMPTY or (omits_falsy and not written)
    return _Plan(field, codec, empty, omits_falsy, written, not empty)


def _default_written(field: ClassField, codec: ValueCodec) -> Any:
    """Return the encoded default of a field that has one. Raises ResourceError for a
    default of another type.
    """
    if field.default is None or (value := field.default()) is None:
        return None
    try:
        return codec.write(value) if codec.write else value
    except MismatchError as error:
        raise ResourceError(f"its default {error}") from None


def _reader(kind: Any, plans: list[_Plan]) -> Decode:
    known = frozenset(plan.field.json_name for plan in plans)
    fields = [
        (
            plan.field.json_name,
            plan.field.argument,
            plan.codec.read,
            plan.codec.exact,
            plan.field.default is None,
            plan.field.nullable,
            plan.omits,
            plan.omits_falsy,
            plan.stands,
        )
        for plan in plans
    ]

    def read(value: Any) -> Any:
        if type(value) is not dict:
            raise MismatchError("must be an object", value)
        given: dict[str, Any] = {}
        count = 0
        stated: list[str] = []
        absent: list[str] = []
        for (
            name,
            argument,
            read_one,
            exact,
            required,
            nullable,
            omits,
            omits_falsy,
            stands,
        ) in fields:
            if name not in value:
                if required:
                    raise MismatchError("is missing", None).within(name)
                if stands:
                    absent.append(name)
                continue
            count += 1
            raw = value[name]
            if raw is None:
                if nullable:
                    given[argument] = None
                elif required:
                    raise MismatchError("must not be null", None).within(name)
                else:  # as the server does: treat null as missing
                    absent.append(name)
                stated.append(name)
                continue
            if not raw and (omits_falsy or (omits and raw in _EMPTY)):
                stated.append(name)
            if type(raw) is exact:
                given[argument] = raw
                continue
            try:
                given[argument] = read_one(raw) if read_one else raw
            except MismatchError as error:
                raise error.within(name) from None
        try:
            made = kind(**given)
        except (ValueError, TypeError) as error:  # the class's own validators
            raise MismatchError(f"is refused: {_refusal(error)}", None) from None
        if count != len(value) or stated or absent:
            unknown = {k: v for k, v in value.items() if k not in known}
            keep(made, KeptFields(unknown, frozenset(stated), frozenset(absent)))
        return made

    return read


def _writer(kind: type, plans: list[_Plan]) -> Encode:
    fields = [
        (
            plan.field.attribute,
            plan.field.json_name,
            plan.codec.write,
            exact_when_written(plan.codec),
            plan.omits,
            plan.omits_falsy,
            plan.default,
            # Null is written if no value means something else.
            plan.field.default is None
            or (plan.field.is_optional and plan.default is not None),
            plan.field.default is None and not plan.field.nullable,
        )
        for plan in plans
    ]

    def write(instance: Any) -> Any:
        if not isinstance(instance, kind):
            unfit(f"a {kind.__name__}", instance)
        kept = kept_of(instance)
        stated, absent = kept.stated, kept.absent
        made: dict[str, Any] = {}
        for (
            attribute,
            name,
            write_one,
            exact,
            omits,
            omits_falsy,
            default,
            needed,
            is_set,
        ) in fields:
            value = getattr(instance, attribute)
            if value is None:
                if is_set:
                    raise MismatchError("must not be None", None).within(name)
                if needed or name in stated:
                    made[name] = None
                continue
            if write_one is None or type(value) is exact:
                written = value
            else:
                try:
                    written = write_one(value)
                except MismatchError as error:
                    raise error.within(name) from None
            if absent and name in absent and written == default:
                if name in stated:
                    made[name] = None
                continue
            empty = not written and (omits_falsy or (omits and written in _EMPTY))
            if empty and name not in stated:
                continue
            made[name] = written
        if kept.unknown:
            made.update(kept.unknown)
        return made

    return write


def _refusal(error: Exception) -> str:
    """Return a validation error in one line, without the values."""
    errors = getattr(error, "errors", None)  # pydantic's
    if not callable(errors):
        return str(error.args[0] if error.args else type(error).__name__)
    found = ((".".join(map(str, one["loc"])), one["msg"]) for one in errors())
    return "; ".join(f"{place}: {text}" if place else text for place, text in found)


def _require_weak_references(kind: type) -> None:
    if not any("__weakref__" in vars(base) for base in kind.__mro__):
        raise ResourceError(
            f"{kind.__name__}: unknown fields are kept by weak reference: write "
            "dataclass(slots=True, weakref_slot=True)"
        )


def default_of(field: ClassField) -> Any:
    """Return the encoded default of a field; None if it has no default or no value."""
    return _default_written(field, value_codec(field.type, _nested))


def _nested(kind: type) -> ValueCodec:
    found: Codec[Any] = codec_of(kind)
    return ValueCodec(found.read, found.write)
