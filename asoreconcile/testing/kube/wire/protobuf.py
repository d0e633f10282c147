"""Protobuf bodies of built-in kinds, as kubectl and client-go send them. Pure.

The envelope is `k8s`, a zero byte, and a runtime.Unknown message with the type and the
raw object. Bodies are only decoded: every client that sends protobuf accepts JSON as an
answer.
"""

import base64
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import orjson

from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.kube.wire.messages import MESSAGES, Fields
from asoreconcile.testing.kube.wire.status import bad_request, internal_error

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_LONGEST_VARINT = 10
_TYPE_META: Fields = {1: ("apiVersion", "string"), 2: ("kind", "string")}


def decode(body: bytes) -> JsonObject:
    """Return the object in a body. Raises StatusError 400 if it cannot be decoded."""
    if not body.startswith(_MAGIC):
        raise bad_request(
            "the object provided is unrecognized: it has no protobuf prefix"
        )
    parts = dict(fields_of(memoryview(body)[len(_MAGIC) :]))
    kind = _message(_TYPE_META, as_bytes(parts.get(1, b"")))
    name, group = str(kind.get("kind")), str(kind.get("apiVersion")).partition("/")[0]
    table = MESSAGES.get(f"{group}/{name}") or MESSAGES.get(name)
    if table is None:
        raise internal_error(
            f'no kind "{kind.get("kind", "")}" is registered for protobuf here'
        )
    return {**kind, **_message(table, as_bytes(parts.get(2, b"")))}


def _message(table: Fields, data: memoryview) -> JsonObject:
    result: JsonObject = {}
    for number, value in fields_of(data):
        if number not in table:
            continue
        name, sort = table[number]
        if sort.startswith("[]"):
            result.setdefault(name, []).append(_value(sort[2:], value))
        elif sort.startswith("map:"):
            entry = dict(fields_of(as_bytes(value)))
            key = _value("string", entry.get(1, memoryview(b"")))
            result.setdefault(name, {})[key] = _value(
                sort[4:], entry.get(2, memoryview(b""))
            )
        elif sort in MESSAGES or value or sort == "bool":
            found = _value(sort, value)
            if found not in (None, "", 0) or isinstance(found, bool):
                result[name] = found
    return result


def _value(sort: str, value: "int | memoryview") -> Any:
    if sort in ("int", "bool"):
        if not isinstance(value, int):
            raise _broken()
        signed = value - (1 << 64) if value >= 1 << 63 else value
        return bool(value) if sort == "bool" else signed
    data = as_bytes(value)
    match sort:
        case "string":
            try:
                return str(data, "utf-8")
            except UnicodeDecodeError as error:
                raise _broken() from error
        case "bytes":
            return base64.b64encode(data).decode()
        case "time" | "microtime":
            return _time(dict(fields_of(data)), micro=sort == "microtime")
        case "json":
            raw = as_bytes(dict(fields_of(data)).get(1, b"{}"))
            try:
                return orjson.loads(raw)
            except ValueError as error:
                raise _broken() from error
    return _message(MESSAGES[sort], data)


def _time(parts: "dict[int, int | memoryview]", *, micro: bool) -> str | None:
    seconds, nanos = parts.get(1, 0), parts.get(2, 0)
    if not isinstance(seconds, int) or not isinstance(nanos, int):
        raise _broken()
    if not parts or seconds >= 1 << 63:
        return None  # Go's zero time is in the year 1
    try:
        stamp = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError) as error:
        raise _broken() from error
    fraction = f".{nanos // 1000:06d}" if micro else ""
    return stamp.strftime("%Y-%m-%dT%H:%M:%S") + fraction + "Z"


def fields_of(data: memoryview) -> "Iterator[tuple[int, int | memoryview]]":
    """Yield the fields of a message as they are on the wire."""
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
            raise _broken()
        if at + size > len(data):
            raise _broken()
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
    raise _broken()


def as_bytes(value: "int | bytes | memoryview") -> memoryview:
    """Return the content of a length-delimited field.

    Raises StatusError 400 for a field of another wire type.
    """
    if isinstance(value, int):
        raise _broken()
    return memoryview(value)


def _broken() -> Exception:
    return bad_request("the object provided is unrecognized: broken protobuf")
