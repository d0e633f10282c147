"""Structured logging: a constant message and key/values, over stdlib logging.

A reconcile binds its identity once (`bound(...)`), and every log record within it on
that thread carries it. The library configures nothing; `cmd/` calls `configure`.

A record of another logger, such as your program's own, gets the reconcile's identity
and its `extra` as fields. Keys are lowerCamelCase. Known secrets (`redaction`) are
hidden in every field, and in records of other libraries; values that were not declared
as secrets are not hidden.
"""

import json
import logging
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, Token
from datetime import UTC, datetime
from types import MappingProxyType, NoneType
from typing import Any, TextIO

from asoreconcile.base import jsontext
from asoreconcile.base.printable import printable, printable_json, printable_lines
from asoreconcile.redaction import redact

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_BOUND: ContextVar[Mapping[str, Any]] = ContextVar(
    "asoreconcile_log",
    default=_NOTHING,
)
_FIELDS = "asoreconcile_fields"
_MAX_VALUE_LENGTH = 2048
_HARMLESS = (bool, int, float, NoneType)
# The attributes of every record. Others come from the argument `extra`.
_ATTRIBUTES = {"message", "asctime", "taskName", *vars(logging.makeLogRecord({}))}
# The loggers of the libraries that this one uses. They log each of their requests at
# INFO, some with more at DEBUG than a log may hold.
_LIBRARIES = (
    "asyncio",
    "kubernetes",
    "opentelemetry",
    "requests",
    "urllib3",
)


class Untruncated(str):
    """A field value that is never truncated, for text that a person on call
    needs in full.
    """

    __slots__ = ()


class _Message(str):
    """A record's constant message.

    Its text ends with the record's fields, so that handlers of other libraries, which
    do not know fields, show them, too.
    """

    __slots__ = ("fields",)

    fields: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{str.__str__(self)}{_as_text(self.fields)}"


class Logger:
    """A named logger whose records carry key/values.

    Cheap to make; safe from any thread. Levels as in stdlib logging.
    """

    __slots__ = ("_fields", "_logger")

    def __init__(self, name: str, fields: Mapping[str, Any] | None = None) -> None:
        self._logger = logging.getLogger(name)
        self._fields = fields or {}

    def bind(self, **fields: Any) -> "Logger":
        """Return the same logger with more fields on each of its records."""
        return Logger(self._logger.name, {**self._fields, **fields})

    @property
    def shows_debug(self) -> bool:
        """Return whether `debug` logs anything. Use it if the fields of a record cost
        work.
        """
        return self._logger.isEnabledFor(logging.DEBUG)

    def debug(self, message: str, **fields: Any) -> None:
        """Log how something was done; off by default."""
        self._emit(logging.DEBUG, message, fields)

    def info(self, message: str, **fields: Any) -> None:
        """Log an event of normal work."""
        self._emit(logging.INFO, message, fields)

    def warning(self, message: str, **fields: Any) -> None:
        """Log a problem that is handled or will be retried."""
        self._emit(logging.WARNING, message, fields)

    def error(self, message: str, **fields: Any) -> None:
        """Log a problem that a person must look at."""
        self._emit(logging.ERROR, message, fields)

    def exception(self, message: str, **fields: Any) -> None:
        """Like `error`, with the exception being handled."""
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
            # Here and not in the formatter, so that it applies to all handlers.
            shown = _Message(message)
            shown.fields = _shown({**_BOUND.get(), **self._fields, **fields})
            # `log` would search all frames for the first that is not its own.
            frame = sys._getframe(2)  # noqa: SLF001 - as logging does
            record = self._logger.makeRecord(
                self._logger.name,
                level,
                frame.f_code.co_filename,
                frame.f_lineno,
                shown,
                (),
                sys.exc_info() if exc_info else None,
                frame.f_code.co_name,
                {_FIELDS: shown.fields},
            )
            self._logger.handle(record)


@contextmanager
def bound(**fields: Any) -> Iterator[None]:
    """Add fields to every record of this thread until the block ends."""
    token = bind(fields)
    try:
        yield
    finally:
        unbind(token)


def bind(fields: Mapping[str, Any]) -> Token[Mapping[str, Any]]:
    """Add fields to every record of this thread until `unbind` gets the token."""
    return _BOUND.set({**_BOUND.get(), **fields})


def unbind(token: Token[Mapping[str, Any]]) -> None:
    """Remove the fields that `bind` added."""
    _BOUND.reset(token)


class JsonFormatter(logging.Formatter):
    """Formats each record as one line of JSON: time, level, logger, message, then the
    fields.

    Values longer than 2 KB are cut, except those that are `Untruncated`.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line of JSON.

        Values that JSON cannot represent raise no error.
        """
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(
                timespec="milliseconds"
            ),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _message(record),
        }
        for key, value in _fields_of(record).items():
            line[key] = _cut(value)
        if record.exc_info:
            line["exception"] = _stack(record)
        try:
            return printable_json(jsontext.dumps(line, default=str).decode())
        except (TypeError, ValueError):
            # For example an unpaired surrogate or a number too large: write it escaped.
            return json.dumps(line, default=str)


class TextFormatter(logging.Formatter):
    """Formats records as `time LEVEL message key=value ...`, for a person at a
    terminal.

    Only records begin at the margin, so that foreign text cannot look like a record.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line, and its stack trace below. Times are UTC."""
        stamp = datetime.fromtimestamp(record.created, UTC).strftime("%H:%M:%S.%f")
        text = f"{stamp[:-3]} {record.levelname:<7} {printable(_message(record))}"
        text += _as_text(_fields_of(record))
        if record.exc_info:
            text += "\n  " + printable_lines(_stack(record).rstrip("\n"))
        return text


def configure(
    *,
    json: bool = True,
    level: int = logging.INFO,
    stream: TextIO | None = None,
    errors_only: Iterable[str] = (),
    warnings_only: Iterable[str] = (),
) -> None:
    """Send this process's records to a stream (stderr). For entry points only.

    level: the least level of the records of this library and of your program. The
    libraries that this one uses log from WARNING on. errors_only: loggers that log only
    errors, such as those that also warn about errors they raise. warnings_only: further
    loggers that log only from WARNING on.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if json else TextFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in (*_LIBRARIES, *warnings_only):
        logging.getLogger(name).setLevel(max(level, logging.WARNING))
    for name in errors_only:
        logging.getLogger(name).setLevel(logging.ERROR)


def _message(record: logging.LogRecord) -> str:
    """Return the message without the fields.

    A message of another library is redacted; messages of this library are constants.
    """
    if isinstance(record.msg, _Message):
        return str.__str__(record.msg)
    return redact(record.getMessage(), namespace=None)


def _fields_of(record: logging.LogRecord) -> Mapping[str, Any]:
    """Return the fields of a record. For a record of another library these are the
    reconcile's fields and `extra`.

    Formatters run on the thread that logs, so that the reconcile is the current one.
    """
    if isinstance(record.msg, _Message):
        return record.msg.fields
    extra = {k: v for k, v in record.__dict__.items() if k not in _ATTRIBUTES}
    return _shown({**_BOUND.get(), **extra})


def _as_text(fields: Mapping[str, Any]) -> str:
    return "".join(f" {key}={printable(str(_cut(fields[key])))}" for key in fields)


def _stack(record: logging.LogRecord) -> str:
    """Return the stack of the exception that was being handled."""
    text = "".join(traceback.format_exception(*(record.exc_info or ())))
    return redact(text, namespace=_namespace(_fields_of(record)))


def _shown(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields without secrets. Few have any, so one check covers them
    all first.
    """
    namespace = _namespace(fields)
    texts = [str(v) for v in fields.values() if not isinstance(v, _HARMLESS)]
    joined = "\n".join(texts)
    if redact(joined, namespace=namespace) == joined:
        return fields
    return {name: _redacted(value, namespace) for name, value in fields.items()}


def _namespace(fields: Mapping[str, Any]) -> str | None:
    """Return the namespace whose secrets may be in a record; None, which means all
    namespaces, if the record has none.
    """
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
    return Untruncated(text) if isinstance(value, Untruncated) else text


def _cut(value: Any) -> Any:
    if isinstance(value, Untruncated):
        return str(value)
    if isinstance(value, str) and len(value) > _MAX_VALUE_LENGTH:
        return value[:_MAX_VALUE_LENGTH] + "..."
    return value
