"""Structured logging: a constant message and key/values, over stdlib logging.

A reconcile binds its identity once (`bound(...)`), and every record below it on that
thread carries it. The library configures nothing; `cmd/` calls `configure`.

Keys are lowerCamelCase. Secrets that are known (`redaction`) are hidden in every field,
and in what other libraries log; what nobody declared a secret no filter can know.
"""

import json
import logging
import sys
import traceback
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from datetime import UTC, datetime
from types import MappingProxyType, NoneType
from typing import Any, TextIO

from asoreconcile import jsontext
from asoreconcile.redaction import redact

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_BOUND: ContextVar[Mapping[str, Any]] = ContextVar(
    "asoreconcile_log",
    default=_NOTHING,
)
_FIELDS = "asoreconcile_fields"
_MAX_VALUE_LENGTH = 2048
_HARMLESS = (bool, int, float, NoneType)


class Uncut(str):
    """A field's value that is written whole, however long: what a person on call
    needs all of.
    """

    __slots__ = ()


class Logger:
    """A named logger whose records carry key/values.

    Cheap to make; safe from any thread. Levels as in stdlib logging.
    """

    __slots__ = ("_fields", "_logger")

    def __init__(self, name: str, fields: Mapping[str, Any] | None = None) -> None:
        self._logger = logging.getLogger(name)
        self._fields = fields or {}

    def bind(self, **fields: Any) -> "Logger":
        """The same logger with more fields on each of its records."""
        return Logger(self._logger.name, {**self._fields, **fields})

    def debug(self, message: str, **fields: Any) -> None:
        """How something was done; off unless asked for."""
        self._emit(logging.DEBUG, message, fields)

    def info(self, message: str, **fields: Any) -> None:
        """What happened, in order."""
        self._emit(logging.INFO, message, fields)

    def warning(self, message: str, **fields: Any) -> None:
        """What went wrong and is dealt with, or will be tried again."""
        self._emit(logging.WARNING, message, fields)

    def error(self, message: str, **fields: Any) -> None:
        """What somebody has to look at."""
        self._emit(logging.ERROR, message, fields)

    def exception(self, message: str, **fields: Any) -> None:
        """As `error`, with the exception being handled."""
        self._emit(logging.ERROR, message, fields, exc_info=True)

    def _emit(
        self,
        level: int,
        message: str,
        fields: Mapping[str, Any],
        *,
        exc_info: bool = False,
    ) -> None:
        if self._logger.isEnabledFor(level):
            # Here and not in the formatter: so it holds for anybody's handlers.
            extra = {_FIELDS: _shown({**_BOUND.get(), **self._fields, **fields})}
            # `log` would look through all frames for the first that is not its own.
            frame = sys._getframe(2)  # noqa: SLF001 - as logging does
            record = self._logger.makeRecord(
                self._logger.name,
                level,
                frame.f_code.co_filename,
                frame.f_lineno,
                message,
                (),
                sys.exc_info() if exc_info else None,
                frame.f_code.co_name,
                extra,
            )
            self._logger.handle(record)


def bound(**fields: Any) -> AbstractContextManager[None]:
    """Add fields to every record of this thread until the block ends."""
    return _Bound(fields)


class _Bound:
    """The block of `bound`. No generator: each reconcile passes here."""

    __slots__ = ("_fields", "_token")

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = fields

    def __enter__(self) -> None:
        self._token = _BOUND.set({**_BOUND.get(), **self._fields})

    def __exit__(self, *_: object) -> None:
        _BOUND.reset(self._token)


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, then the fields.

    Values longer than 2 KB are cut, except those that are `Uncut`.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line of JSON.

        Raises nothing for values that are no JSON.
        """
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(
                timespec="milliseconds"
            ),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _message(record),
        }
        for key, value in getattr(record, _FIELDS, {}).items():
            line[key] = _cut(value)
        if record.exc_info:
            line["exception"] = _stack(record)
        try:
            return jsontext.dumps(line, default=str).decode()
        except (TypeError, ValueError):
            # Half a character, say, or a number too large: escaped, it is written.
            return json.dumps(line, default=str)


class TextFormatter(logging.Formatter):
    """`time LEVEL message key=value ...` for a person at a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line, and its stack trace below. Times are UTC."""
        stamp = datetime.fromtimestamp(record.created, UTC).strftime("%H:%M:%S.%f")
        fields = "".join(
            f" {key}={_cut(value)}"
            for key, value in getattr(record, _FIELDS, {}).items()
        )
        text = f"{stamp[:-3]} {record.levelname:<7} {_message(record)}{fields}"
        if record.exc_info:
            text += "\n" + _stack(record)
        return text


def configure(
    *,
    json: bool = True,
    level: int = logging.INFO,
    stream: TextIO | None = None,
    errors_only: Iterable[str] = (),
) -> None:
    """Send this process's records to a stream (stderr). For entry points only.

    level: of our own records; of others' from WARNING on. errors_only: loggers of
    which only errors are wanted, such as those that warn of what they raise as well.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if json else TextFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("asoreconcile").setLevel(level)
    for name in errors_only:
        logging.getLogger(name).setLevel(logging.ERROR)


def _message(record: logging.LogRecord) -> str:
    """Ours are constants; those of other libraries quote what they like."""
    message = record.getMessage()
    return message if hasattr(record, _FIELDS) else redact(message, namespace=None)


def _stack(record: logging.LogRecord) -> str:
    """The exception that was being handled, with its stack."""
    fields = getattr(record, _FIELDS, _NOTHING)
    text = "".join(traceback.format_exception(*(record.exc_info or ())))
    return redact(text, namespace=_namespace(fields))


def _shown(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields without secrets. Nearly all have none: one look at all tells."""
    namespace = _namespace(fields)
    texts = [str(v) for v in fields.values() if not isinstance(v, _HARMLESS)]
    joined = "\n".join(texts)
    if redact(joined, namespace=namespace) == joined:
        return fields
    return {name: _redacted(value, namespace) for name, value in fields.items()}


def _namespace(fields: Mapping[str, Any]) -> str | None:
    """Whose secrets may be in a record; anybody's where it does not say."""
    return str(fields.get("namespace") or "") or None


def _redacted(value: Any, namespace: str | None) -> Any:
    if isinstance(value, _HARMLESS):
        return value
    if isinstance(value, Mapping):
        return {str(k): _redacted(v, namespace) for k, v in value.items()}
    # Not a named tuple, which has a text of its own: a key, for one.
    if type(value) is tuple or isinstance(value, list | set | frozenset):
        return [_redacted(v, namespace) for v in value]
    text = redact(str(value), namespace=namespace)
    return Uncut(text) if isinstance(value, Uncut) else text


def _cut(value: Any) -> Any:
    if isinstance(value, Uncut):
        return str(value)
    if isinstance(value, str) and len(value) > _MAX_VALUE_LENGTH:
        return value[:_MAX_VALUE_LENGTH] + "..."
    return value
