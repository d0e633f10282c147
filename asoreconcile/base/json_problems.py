"""Finds the value that keeps a document from being JSON for the Kubernetes API.

Slow and exact: `jsontext.dumps` calls it for documents that orjson refused, or would
write as something else. No message contains a value, which may be secret. Pure.
"""

import dataclasses
import enum
import math
import uuid
from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

from asoreconcile.base.errors import AsoreconcileError

MOST_LEVELS = 10_000
"""As in kube-apiserver: deeper text is invalid JSON."""
_LEAST, _MOST = -(1 << 63), (1 << 64) - 1
_MAX_PATH = 300
_MAX_KEY = 60


class EncodeError(AsoreconcileError, TypeError):
    """A value cannot be sent, because JSON or Kubernetes has no such value. Nothing was
    sent.

    place: the object and the path of the value in it. why: the rule that it breaks.
    """

    def __init__(self, place: str, why: str) -> None:
        super().__init__(f"{place} {why}")
        self.place, self.why = place, why

    def within(self, name: str) -> "EncodeError":
        """Return the same error, with a name in front of its place."""
        return EncodeError(f"{name}: {self.place}", self.why)


class _Step:
    """One level of a path; `before` is the level around it."""

    __slots__ = ("before", "level", "name")

    def __init__(self, before: "_Step | None", name: str | int) -> None:
        self.before, self.name = before, name
        self.level: int = before.level + 1 if before else 1

    def text(self) -> str:
        names: list[str] = []
        step: _Step | None = self
        while step is not None:
            names.append(_shown(step.name))
            step = step.before
        text = "".join(reversed(names)).lstrip(".")
        half = _MAX_PATH // 2
        return text if len(text) <= _MAX_PATH else f"{text[:half]}...{text[-half:]}"


def check_json(document: Any, *sealed: type) -> None:
    """Check each value of a document. sealed: classes whose instances are JSON text.

    Raises EncodeError, which names the object, if the document is one, and the path.
    """
    for step, why in _problems(document, sealed):
        name = name_of(document)
        place = step.text() if step else "the document" if name else "it"
        raise EncodeError(f"{name}: {place}" if name else place, why)


def name_of(document: Any) -> str:
    """Return kind, namespace and name of an object, as far as they are stated."""
    if not isinstance(document, dict):
        return ""
    meta = document.get("metadata")
    named = meta if isinstance(meta, dict) else {}
    parts = document.get("kind"), named.get("namespace"), named.get("name")
    kind, namespace, name = (one if isinstance(one, str) else "" for one in parts)
    text = f"{kind} {'/'.join(filter(None, (namespace, name)))}".strip()
    return text.encode("utf-8", "replace").decode()


def time_text(value: datetime) -> str:
    """Format a time with a zone as RFC 3339, in UTC, with fractional seconds only if
    not zero.
    """
    if value.tzinfo is not UTC:
        value = value.astimezone(UTC)
    return value.isoformat().removesuffix("+00:00") + "Z"


def _problems(
    document: Any, sealed: tuple[type, ...]
) -> Iterator[tuple[_Step | None, str]]:
    todo: list[tuple[_Step | None, Any]] = [(None, document)]
    while todo:
        step, value = todo.pop()
        if isinstance(value, enum.Enum):
            value = value.value
        if isinstance(value, (dict, list)) or type(value) is tuple:
            if step is not None and step.level >= MOST_LEVELS:
                yield step, f"is deeper than {MOST_LEVELS} levels, or contains itself"
                return
            if isinstance(value, dict):
                for name in value:
                    if why := _key_problem(name):
                        yield step, why
            members = value.items() if isinstance(value, dict) else enumerate(value)
            # The first problem of the document is reported first.
            todo += reversed([(_Step(step, name), one) for name, one in members])
        elif not isinstance(value, sealed) and (why := _problem(value)):
            yield step, why


def _key_problem(name: object) -> str:
    if type(name) is not str:
        kind = type(name).__name__
        return f"has the key {name!r:.{_MAX_KEY}} of {kind}: the keys of JSON are str"
    return "has a key that is no text: " + _HALF if _has_half(name) else ""


def _problem(value: Any) -> str:
    """Return why JSON does not have a value that contains no others, or ""."""
    if value is None or isinstance(value, (bool, uuid.UUID)) or type(value) is date:
        return ""
    if isinstance(value, str):
        return "is no text: " + _HALF if _has_half(value) else ""
    if isinstance(value, int):
        fits = _LEAST <= value <= _MOST
        return "" if fits else "is an integer of more than 64 bits: give a string"
    if isinstance(value, float) and not math.isfinite(value):
        named = "NaN" if math.isnan(value) else "infinite"
        return f"is {named}, which JSON does not have: give a number, or leave it out"
    if type(value) is float:
        return ""
    if isinstance(value, datetime):
        known = value.utcoffset() is not None
        advice = "is a time without a zone: give one, such as datetime.now(UTC)"
        return "" if known else advice
    return (
        f"is of {_class_name(value)}, which JSON does not have: give {_advice(value)}"
    )


def _class_name(value: object) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else kind.__qualname__


def _advice(value: object) -> str:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "a string, for example its base64 form"
    if isinstance(value, (set, frozenset)):
        return "a list, which has an order"
    if isinstance(value, float):
        return "a float"
    if dataclasses.is_dataclass(value) or hasattr(type(value), "__attrs_attrs__"):
        return "a dict; to_dict makes one of an object of a class of @resource"
    return "a string, a number, a list or a dict"


_HALF = "it has half of a surrogate pair, which UTF-8 cannot encode"


def _has_half(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _shown(name: str | int) -> str:
    if isinstance(name, int):
        return f"[{name}]"
    text = str(name).encode("utf-8", "replace").decode()
    return f".{text}" if text.replace("_", "").isalnum() else f"[{text!r}]"
