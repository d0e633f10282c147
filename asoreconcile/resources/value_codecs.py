"""Codecs between JSON values and Python types, one for each type.

A type without conversion has no functions: most strings and numbers are only
type-checked.
"""

import base64
import binascii
import enum
import math
import types
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from typing import Any, Literal, NoReturn, Union, get_args, get_origin

import attrs

from asoreconcile.resources.class_fields import ResourceError, is_field_class, unwrapped
from asoreconcile.resources.values import (
    Quantity,
    duration_text,
    parse_duration_text,
    parse_time,
    time_text,
)

Decode = Callable[[Any], Any]
Encode = Callable[[Any], Any]

LISTS: tuple[Any, ...] = (list, Sequence, MutableSequence)
SETS: tuple[Any, ...] = (set, frozenset, AbstractSet)
MAPS: tuple[Any, ...] = (dict, Mapping, MutableMapping)


class MismatchError(Exception):
    """A value does not fit its type. The path grows as the error propagates."""

    def __init__(self, rule: str, value: Any) -> None:
        super().__init__(rule)
        self.rule, self.value, self.path = rule, value, ""

    def within(self, name: str | int) -> "MismatchError":
        """Return the same error with the path extended by one level."""
        step = f"[{name}]" if isinstance(name, int) else f".{name}"
        self.path = step + self.path
        return self

    def __str__(self) -> str:
        shown = "" if self.value is None else f", not {self.value!r:.80}"
        return f"{self.path.lstrip('.') or 'it'} {self.rule}{shown}"


@attrs.frozen
class ValueCodec:
    """Functions that decode and encode a value that is not null; None if the value
    stays unchanged. Both raise MismatchError for a value of another type.

    exact: type whose values need no check and stay unchanged. A float is checked when
    it is encoded: JSON has no NaN.
    """

    read: Decode | None = None
    write: Encode | None = None
    exact: type | None = None


def exact_when_written(codec: ValueCodec) -> type | None:
    """Return the type whose values need no check when they are encoded."""
    return None if codec.exact is float else codec.exact


Nested = Callable[[type], ValueCodec]
"""Finds the codec of a class with fields."""


def value_codec(hint: Any, nested: Nested) -> ValueCodec:
    """Return the codec of a type. Raises ResourceError for a type without a JSON
    form.
    """
    hint, _ = unwrapped(hint)
    if (choices := union_of(hint)) is not None:
        return _union_codec(choices, nested)
    origin, arguments = get_origin(hint) or hint, get_args(hint)
    if origin is Literal:
        return ValueCodec(_one_of(arguments), _one_of(arguments))
    if origin in MAPS:
        key, item = arguments or (str, Any)
        if unwrapped(key)[0] is not str:
            raise ResourceError(f"the names of a map are strings, not {key}")
        return _map_codec(_item_codec(item, nested))
    if origin in LISTS or origin in SETS or origin is tuple:
        return _list_codec(origin, arguments, nested)
    if origin is Any or origin is object:
        return ValueCodec()
    if isinstance(origin, type):
        if issubclass(origin, enum.Enum):
            return ValueCodec(_enum_reader(origin), _enum_writer(origin))
        if found := _scalar(origin):
            return found
        if is_field_class(origin):
            return nested(origin)
    raise ResourceError(f"{hint} is no type of JSON")


def _item_codec(hint: Any, nested: Nested) -> ValueCodec:
    """Return the codec of the items of a list or a map, which may be null if the type
    says so.
    """
    codec = value_codec(hint, nested)
    if type(None) not in get_args(unwrapped(hint)[0]):
        return codec

    def unless_null(function: Callable[[Any], Any] | None) -> Decode | None:
        if function is None:
            return None
        return lambda value: None if value is None else function(value)

    return ValueCodec(unless_null(codec.read), unless_null(codec.write))


def union_of(hint: Any) -> tuple[Any, ...] | None:
    """Return the types of a union, without None; None if it is not a union."""
    if get_origin(hint) not in (Union, types.UnionType):
        return None
    return tuple(one for one in get_args(hint) if one is not type(None))


def _union_codec(choices: Sequence[Any], nested: Nested) -> ValueCodec:
    if len(choices) == 1:
        return value_codec(choices[0], nested)
    if {unwrapped(one)[0] for one in choices} == {int, str}:
        return ValueCodec(_int_or_string, _int_or_string_written)
    if {unwrapped(one)[0] for one in choices} == {int, float}:
        return ValueCodec(_number, _number_written)
    shown = " | ".join(getattr(one, "__name__", str(one)) for one in choices)
    raise ResourceError(
        f"{shown}: give one type; the only union that Kubernetes has is int | str"
    )


def _scalar(kind: type) -> ValueCodec | None:
    if issubclass(kind, datetime):
        read = _text_reader(parse_time)
        return ValueCodec(read, _writer("a datetime", datetime, time_text))
    if issubclass(kind, timedelta):
        read = _text_reader(parse_duration_text)
        return ValueCodec(read, _writer("a timedelta", timedelta, duration_text))
    return {
        str: ValueCodec(_string, _writer("a str", str), exact=str),
        bool: ValueCodec(_boolean, _writer("a bool", bool), exact=bool),
        int: ValueCodec(_integer, _integer_written, exact=int),
        float: ValueCodec(_number, _number_written, exact=float),
        bytes: ValueCodec(_bytes, _writer("bytes", (bytes, bytearray), _base64)),
        Quantity: ValueCodec(
            _quantity, _writer("a Quantity", Quantity, lambda value: value.stated)
        ),
    }.get(kind)


def unfit(wanted: str, value: object) -> NoReturn:
    """Raise MismatchError for a value that cannot be encoded. The value may be secret:
    only its class is shown.
    """
    kind = type(value)
    named = kind.__name__ if kind.__module__ == "builtins" else kind.__qualname__
    raise MismatchError(f"must be {wanted}, not {named}", None)


def _writer(
    wanted: str,
    kind: type | tuple[type, ...],
    write: Callable[[Any], Any] | None = None,
) -> Encode:
    def checked(value: Any) -> Any:
        if not isinstance(value, kind):
            unfit(wanted, value)
        return write(value) if write else value

    return checked


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _integer_written(value: Any) -> Any:
    if not isinstance(value, int) or isinstance(value, bool):
        unfit("an int", value)
    return value


def _number_written(value: Any) -> Any:
    if not isinstance(value, int | float) or isinstance(value, bool):
        unfit("a number", value)
    if isinstance(value, int):
        return value
    if not math.isfinite(value):
        raise MismatchError("is NaN or infinite, which JSON does not have", None)
    # JSON has no subclasses, such as numpy's numbers.
    return float(value)


def _int_or_string_written(value: Any) -> Any:
    if not isinstance(value, int | str) or isinstance(value, bool):
        unfit("an int or a str", value)
    return value


def _string(value: Any) -> Any:
    if type(value) is not str:
        raise MismatchError("must be a string", value)
    return value


def _boolean(value: Any) -> Any:
    if type(value) is not bool:
        raise MismatchError("must be true or false", value)
    return value


def _integer(value: Any) -> Any:
    if type(value) is not int:
        raise MismatchError("must be a whole number", value)
    return value


def _number(value: Any) -> Any:
    if type(value) is not int and type(value) is not float:
        raise MismatchError("must be a number", value)
    return value


def _int_or_string(value: Any) -> Any:
    if type(value) is not int and type(value) is not str:
        raise MismatchError("must be a whole number or a string", value)
    return value


def _quantity(value: Any) -> Any:
    try:
        return Quantity(_int_or_string(value))
    except ValueError as error:
        raise MismatchError(f"must be a quantity: {error}", None) from None


def _bytes(value: Any) -> Any:
    try:
        found = base64.b64decode(_string(value), validate=True)
    except binascii.Error:
        raise MismatchError("must be base64", value) from None
    if base64.b64encode(found).decode() != value:
        raise MismatchError("must be base64 in its usual form", value)
    return found


def _text_reader(parse: Callable[[str], Any]) -> Decode:
    def read(value: Any) -> Any:
        try:
            return parse(_string(value))
        except ValueError as error:
            raise MismatchError(str(error), value) from None

    return read


def _enum_writer(kind: type[enum.Enum]) -> Encode:
    values = [one.value for one in kind]

    def write(value: Any) -> Any:
        if isinstance(value, kind):
            return value.value
        # Pydantic may keep the value in place of the member (use_enum_values).
        if type(value) not in (str, int) or value not in values:
            unfit(f"a {kind.__name__}", value)
        return value

    return write


def _enum_reader(kind: type[enum.Enum]) -> Decode:
    by_value = {one.value: one for one in kind}
    if not all(type(value) in (str, int) for value in by_value):
        raise ResourceError(f"{kind.__name__}: its values are not all strings, or ints")

    def read(value: Any) -> Any:
        # A list cannot be looked up, and True would be found as 1.
        found = by_value.get(value) if type(value) in (str, int) else None
        if found is None:
            shown = ", ".join(map(str, by_value))
            raise MismatchError(f"must be one of {shown}", value)
        return found

    return read


def _one_of(choices: Sequence[Any]) -> Decode:
    texts = frozenset(one for one in choices if type(one) is str)

    def read(value: Any) -> Any:
        if type(value) is str and value in texts:
            return value
        for one in choices:
            if value == one and type(value) is type(one):
                return value
        shown = ", ".join(map(str, choices))
        raise MismatchError(f"must be one of {shown}", value)

    return read


def _map_codec(item: ValueCodec) -> ValueCodec:
    read_item, write_item, exact = item.read, item.write, item.exact
    written = exact_when_written(item)

    def read(value: Any) -> Any:
        if type(value) is not dict:
            raise MismatchError("must be a map", value)
        if read_item is None or all(type(one) is exact for one in value.values()):
            return value
        made = {}
        for name, one in value.items():
            try:
                made[name] = read_item(one)
            except MismatchError as error:
                raise error.within(name) from None
        return made

    def write(value: Any) -> Any:
        if not isinstance(value, Mapping):
            unfit("a dict", value)
        if write_item is None or all(type(one) is written for one in value.values()):
            return dict(value)
        made = {}
        for name, one in value.items():
            try:
                made[name] = write_item(one)
            except MismatchError as error:
                raise error.within(str(name)) from None
        return made

    return ValueCodec(read, write)


def _list_codec(origin: Any, arguments: Sequence[Any], nested: Nested) -> ValueCodec:
    if origin is tuple and (len(arguments) != 2 or arguments[1] is not Ellipsis):
        raise ResourceError("a tuple of fixed length: write tuple[T, ...] or a class")
    item = _item_codec(arguments[0] if arguments else Any, nested)
    read_item, write_item, exact = item.read, item.write, item.exact
    written = exact_when_written(item)
    # A set forgets the order, which an object that is read again has.
    if origin in SETS:
        raise ResourceError("a set has no order: write list and Schema(unique=True)")
    make: Callable[[Any], Any] | None = tuple if origin is tuple else None

    def read(value: Any) -> Any:
        if type(value) is not list:
            raise MismatchError("must be a list", value)
        if read_item is None or all(type(one) is exact for one in value):
            return make(value) if make else value
        made: list[Any] = []
        try:
            # The loop names no index: it is counted where something is wrong.
            for one in value:
                made.append(read_item(one))  # noqa: PERF401
        except MismatchError as error:
            raise error.within(len(made)) from None
        return make(made) if make else made

    def write(value: Any) -> Any:
        # A string is a sequence of strings.
        if not isinstance(value, Sequence) or isinstance(value, str | bytes):
            unfit("a list", value)
        if write_item is None or all(type(one) is written for one in value):
            return list(value)
        made: list[Any] = []
        try:
            for one in value:
                made.append(write_item(one))  # noqa: PERF401
        except MismatchError as error:
            raise error.within(len(made)) from None
        return made

    return ValueCodec(read, write)
