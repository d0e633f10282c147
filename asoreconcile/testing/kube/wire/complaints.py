"""The messages of Go's JSON parser, which clients show and sometimes search. Pure."""

import json
from typing import Any

_SHOWN = 30
_GO = {dict: "object", list: "array", str: "string", bool: "bool", type(None): "null"}


def of_json(error: ValueError, body: bytes) -> str:
    """Return the message about a body that is not JSON."""
    if not isinstance(error, json.JSONDecodeError):
        return str(error)
    text = body.decode(errors="replace")
    if error.pos >= len(text.rstrip()) or "end of data" in error.msg:
        return "unexpected end of JSON input"
    sign = json.dumps(text[error.pos])[1:-1]
    where = (
        "after top-level value"
        if "after document" in error.msg
        else "looking for beginning of value"
    )
    return f"invalid character '{sign}' {where}"


def of_type(value: Any, wanted: str) -> str:
    """Return the message about a JSON value that does not fit a Go type."""
    kind = _GO.get(type(value), "number")
    return f"json: cannot unmarshal {kind} into Go value of type {wanted}"


def of_field(value: Any, field: str, wanted: str) -> str:
    """Return the message about the value of a struct's field."""
    kind = _GO.get(type(value), "number")
    if kind == "number" and wanted == "int64":
        kind = f"number {value}"  # a number, but not of that type
    return (
        f"json: cannot unmarshal {kind} into Go struct field {field} of type {wanted}"
    )


def excerpt(body: bytes) -> str:
    """Return the beginning of a body: as text if it may be JSON, otherwise in
    hexadecimal.
    """
    if not body:
        return "(<empty>)"
    is_text = body.lstrip().startswith(b"{")
    shown = body.decode(errors="replace") if is_text else body.hex()
    return f"({shown[:_SHOWN]} ...)" if len(shown) > _SHOWN else f"({shown})"
