"""Messages of protobuf, read field by field without their types. Pure."""

from collections.abc import Iterator

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_LONGEST_VARINT = 10


class MalformedMessageError(ValueError):
    """The bytes are not a message."""


def fields_of(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yield the fields of a message as they are on the wire.

    Raises MalformedMessageError.
    """
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, at = _varint(data, at)
            yield number, value
            continue
        if wire == _BYTES:
            size, at = _varint(data, at)
        elif wire in (_FIXED64, _FIXED32):
            size = 8 if wire == _FIXED64 else 4
        else:
            raise MalformedMessageError
        if at + size > len(data):
            raise MalformedMessageError
        yield number, data[at : at + size]
        at += size


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(_LONGEST_VARINT):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return value, at
    raise MalformedMessageError


def as_bytes(value: int | bytes | memoryview) -> memoryview:
    """Return the content of a length-delimited field.

    Raises MalformedMessageError for a field of another wire type.
    """
    if isinstance(value, int):
        raise MalformedMessageError
    return memoryview(value)
