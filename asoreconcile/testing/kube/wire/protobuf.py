"""Protobuf bodies of built-in kinds, as kubectl and client-go send them. Pure.

The envelope is `k8s`, a zero byte, and a runtime.Unknown message with the type and the
raw object. Bodies are only decoded: every client that sends protobuf accepts JSON as an
answer.
"""

import base64
import struct
from datetime import UTC, datetime
from typing import Any

import orjson

from asoreconcile.base.objects import JsonObject
from asoreconcile.resources.cel.wire_format import (
    MalformedMessageError,
    as_bytes,
    fields_of,
)
from asoreconcile.testing.kube.wire.messages import fields, is_message
from asoreconcile.testing.kube.wire.status import bad_request, internal_error

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"
_DOUBLE = struct.Struct("<d")
_API_VERSION, _KIND = 1, 2
# Values that Go's JSON leaves out of most fields.
_EMPTY: tuple[Any, ...] = (None, "", 0, {})


def decode(body: bytes) -> JsonObject:
    """Return the object in a body. Raises StatusError 400 if it cannot be decoded."""
    if not body.startswith(_MAGIC):
        raise bad_request(
            "the object provided is unrecognized: it has no protobuf prefix"
        )
    try:
        return _decoded(body)
    except MalformedMessageError:
        raise _broken() from None


def _decoded(body: bytes) -> JsonObject:
    parts = dict(fields_of(memoryview(body)[len(_MAGIC) :]))
    said = dict(fields_of(as_bytes(parts.get(1, b""))))
    kind = str(_value("string", said.get(_KIND, b"")))
    api_version = str(_value("string", said.get(_API_VERSION, b"")))
    own = f"{api_version.partition('/')[0]}/{kind}"
    name = own if is_message(own) else kind
    if not is_message(name):
        raise internal_error(f'no kind "{kind}" is registered for protobuf here')
    content = _message(name, as_bytes(parts.get(2, b"")))
    return {"apiVersion": api_version, "kind": kind, **content}


def _message(name: str, data: memoryview) -> JsonObject:
    """Return a message in the form that Go's JSON gives it, without nulls."""
    known, result = fields(name), JsonObject()
    for number, value in fields_of(data):
        field = known.get(number)
        if field is None:
            continue
        sort = field.sort
        if field.is_inline:
            result |= _message(sort, as_bytes(value))
        elif sort.startswith("[]"):
            result.setdefault(field.name, []).append(_value(sort[2:], value))
        elif sort.startswith("{}"):
            entry = dict(fields_of(as_bytes(value)))
            key = _value("string", entry.get(1, b""))
            inner = _value(sort[2:], entry.get(2, b""))
            result.setdefault(field.name, {})[key] = inner
        else:
            found = _value(sort, value)
            if found not in _EMPTY or (field.keeps_empty and found is not None):
                result[field.name] = found
    return result


def _value(sort: str, value: "int | bytes | memoryview") -> Any:
    if sort in ("int", "bool"):
        if not isinstance(value, int):
            raise _broken()
        return bool(value) if sort == "bool" else _signed(value)
    data = as_bytes(value)
    match sort:
        case "string":
            try:
                return str(data, "utf-8")
            except UnicodeDecodeError as error:
                raise _broken() from error
        case "bytes":
            return base64.b64encode(data).decode()
        case "double":
            return _double(data)
        case "time" | "microtime":
            return _time(dict(fields_of(data)), micro=sort == "microtime")
        case "json":
            return _json(dict(fields_of(data)).get(1))
        case "quantity":
            return _value("string", dict(fields_of(data)).get(1, b""))
        case "items":
            return [_value("string", one) for _, one in fields_of(data)]
        case "intOrString":
            return _int_or_string(dict(fields_of(data)))
        case "schemaOrSchemas" | "schemaOrStrings" | "schemaOrBool":
            return _schema_or_other(sort, data)
    return _message(sort, data)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _double(data: memoryview) -> float:
    if len(data) != _DOUBLE.size:
        raise _broken()
    found: float = _DOUBLE.unpack(data)[0]
    return int(found) if found.is_integer() else found


def _json(raw: "int | memoryview | None") -> Any:
    """Return the JSON in a message of raw JSON, or None without one."""
    if raw is None:
        return None
    try:
        return orjson.loads(as_bytes(raw))
    except ValueError as error:
        raise _broken() from error


def _int_or_string(parts: "dict[int, int | memoryview]") -> Any:
    """Return the value of Kubernetes' IntOrString: its type, number and text."""
    sort, number, text = parts.get(1, 0), parts.get(2, 0), parts.get(3, b"")
    return _value("string", text) if sort else _value("int", number)


def _schema_or_other(sort: str, data: memoryview) -> Any:
    """Return the value of a field of JSON schemas that may have two types."""
    schemas: list[Any] = []
    others: list[Any] = []
    for number, value in fields_of(data):
        if number == (2 if sort == "schemaOrBool" else 1):
            schemas.append(_message("JSONSchemaProps", as_bytes(value)))
        elif sort == "schemaOrSchemas":
            others.append(_message("JSONSchemaProps", as_bytes(value)))
        else:
            others.append(_value("bool" if sort == "schemaOrBool" else "string", value))
    if sort == "schemaOrBool":
        return schemas[0] if schemas else others == [True]
    return others or (schemas[0] if schemas else None)


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


def _broken() -> Exception:
    return bad_request("the object provided is unrecognized: broken protobuf")
