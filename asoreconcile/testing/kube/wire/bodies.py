"""Request bodies: JSON, YAML or protobuf, read into objects. Pure.

Raises StatusError 400 for a body that cannot be read, 413 for one that is too long, and
415 for an unsupported content type.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import attrs
import orjson
import yaml

from asoreconcile.base.json_problems import MOST_LEVELS
from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.http import HttpRequest
from asoreconcile.testing.kube.wire import complaints, deepjson, protobuf
from asoreconcile.testing.kube.wire.status import (
    JSON_TYPE,
    StatusError,
    bad_request,
    unsupported_media_type,
)

YAML_TYPE = "application/yaml"
_LIMIT_BYTES = 3 << 20
_MOST_ALIASES = 1000
_NO_KIND = "couldn't get version/kind; json parse error: "
_TYPE_META = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; '
    'Kind string "json:\\"kind,omitempty\\"" }'
)
_ACCEPTED = (JSON_TYPE, YAML_TYPE, protobuf.MEDIA_TYPE)
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _DeepError(ValueError):
    """YAML with more levels than are supported."""


@attrs.frozen
class RequestBody:
    """The object in a body.

    repeated: paths of fields that occur more than once.
    """

    obj: JsonObject
    repeated: tuple[str, ...] = ()


def media_type(request: HttpRequest) -> str:
    """Return the request's content type without its parameters, or ""."""
    return request.headers.get("content-type", "").partition(";")[0].strip()


def read(request: HttpRequest, kind: str, *, built_in: bool) -> RequestBody:
    """Return the object of a POST or PUT.

    kind: kind of the resource, for messages.
    """
    sort = media_type(request)
    accepted = _ACCEPTED if built_in else _ACCEPTED[:2]
    if sort and sort not in accepted:
        raise unsupported_media_type(_ACCEPTED)
    if sort == protobuf.MEDIA_TYPE:
        return RequestBody(protobuf.decode(_limited(request)))
    return _read(request, kind, is_yaml=sort == YAML_TYPE, built_in=built_in)


def options(request: HttpRequest) -> JsonObject:
    """Return the DeleteOptions of a DELETE, or {} without a body."""
    if not request.body:
        return {}
    body = _limited(request)
    if media_type(request) == protobuf.MEDIA_TYPE:
        found = protobuf.decode(body)
    else:
        found = _stated_options(body, is_yaml=media_type(request) == YAML_TYPE)
    if found.get("kind", "DeleteOptions") != "DeleteOptions":
        raise bad_request(
            f'no kind "{found["kind"]}" is registered for version '
            f'"{found.get("apiVersion", "")}" in scheme "pkg/runtime/scheme.go:111"'
        )
    return found


def _stated_options(body: bytes, *, is_yaml: bool) -> JsonObject:
    try:
        found = _yaml(body) if is_yaml else _json(body)
    except (yaml.YAMLError, ValueError) as error:
        raise bad_request(_no_json(error, body)) from error
    if not isinstance(found, (dict, type(None))):
        raise bad_request(f"{_NO_KIND}{complaints.of_type(found, _TYPE_META)}")
    stated: JsonObject = found or {}
    return stated


def patch(request: HttpRequest, *, is_yaml: bool = False) -> Any:
    """Return the document of a PATCH: any JSON value.

    is_yaml: if true, any YAML value.

    Raises StatusError 400 with the parser's message.
    """
    body = _limited(request)
    try:
        return _as_go(deepjson.loads(body)) if is_yaml else _json(body)
    except ValueError as error:
        if not is_yaml:
            raise bad_request(complaints.of_json(error, body)) from error
    try:
        return _yaml(body)
    except (yaml.YAMLError, ValueError) as error:
        why = f"error converting YAML to JSON: {_yaml_words(error)}"
        raise bad_request(f"error decoding YAML: {why}") from error


def _limited(request: HttpRequest) -> bytes:
    if len(request.body) > _LIMIT_BYTES:
        raise StatusError(
            413,
            "RequestEntityTooLarge",
            f"Request entity too large: limit is {_LIMIT_BYTES}",
        )
    return request.body


def _read(
    request: HttpRequest, kind: str, *, is_yaml: bool, built_in: bool
) -> RequestBody:
    body = _limited(request)
    try:
        found = _yaml(body) if is_yaml else _json(body)
    except yaml.YAMLError as error:
        raise _unrecognized(kind, _yaml_words(error), body) from error
    except ValueError as error:
        raise _unrecognized(kind, _no_json(error, body), body) from error
    if found is None and built_in and not is_yaml:
        found = {}
    obj = _checked(found, kind, body)
    if is_yaml or body.count(b":") == orjson.dumps(obj).count(b":"):
        return RequestBody(obj)
    # There is a colon less than in the body: a field occurred twice, or has an unusual
    # escape.
    sealed = deepjson.shallow(body) if deepjson.is_deep(obj) else body
    return RequestBody(obj, tuple(_repeated(sealed)))


def _checked(found: Any, kind: str, body: bytes) -> JsonObject:
    if isinstance(found, dict):
        return found
    if found is None:
        stated = body.decode(errors="replace")
        raise _unrecognized(kind, f"Object 'Kind' is missing in '{stated}'", body)
    why = f"{_NO_KIND}{complaints.of_type(found, _TYPE_META)}"
    raise _unrecognized(kind, why, body)


def _unrecognized(kind: str, why: str, body: bytes) -> StatusError:
    what = f"the object provided is unrecognized (must be of type {kind})"
    return bad_request(f"{what}: {why} {complaints.excerpt(body)}")


def _no_json(error: Exception, body: bytes) -> str:
    if isinstance(error, _DeepError):
        return str(error)
    if isinstance(error, yaml.YAMLError):
        return _yaml_words(error)
    why = complaints.of_json(error, body) if isinstance(error, ValueError) else error
    return f"{_NO_KIND}{why}"


def _yaml_words(error: Exception) -> str:
    """Return a YAML error in one line: the place and the mistake."""
    if not isinstance(error, yaml.MarkedYAMLError):
        text = str(error).partition("\n")[0].rpartition(": ")[2]
        return str(error) if isinstance(error, _DeepError) else f"yaml: {text}"
    line = f"line {error.problem_mark.line}: " if error.problem_mark else ""
    return f"yaml: {line}{error.problem}"


def _json(body: bytes) -> Any:
    """Return a JSON document. Bytes that are not UTF-8 become marks. Raises
    ValueError.
    """
    try:
        found = deepjson.loads(body)
        return _as_go(found) if _ODD_NUMBER.search(body) else found
    except ValueError:
        readable = body.decode(errors="replace").encode()
        if readable == body:
            raise
        return deepjson.loads(readable)


# May be in a string, too.
_ODD_NUMBER = re.compile(rb"[0-9](?:[.eE]|[0-9]{18})")
_MOST_EXACT = 2**53 - 1


def _as_go(value: Any) -> Any:
    """Return a value with the numbers that Go reads and writes: `1.0` is 1, and a whole
    number of more than 64 bits is a float.
    """
    if isinstance(value, dict):
        return {name: _as_go(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_as_go(one) for one in value]
    if isinstance(value, float) and abs(value) <= _MOST_EXACT and value.is_integer():
        return int(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return float(value)
    return value


def _check_nesting(body: bytes) -> None:
    """Refuse YAML so deep that libyaml would end this process. Raises _DeepError."""
    depth = 0
    try:
        for event in yaml.parse(body, Loader=_Loader):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if depth > deepjson.LEVELS:
                raise _too_deep()
    except yaml.MarkedYAMLError as error:
        # libyaml from 0.2.6 on, as in PyYAML 6.0.4, has a limit of its own: 1000.
        if error.problem == "exceeded maximum nesting depth":
            raise _too_deep() from None
        raise


def _too_deep() -> _DeepError:
    return _DeepError(f"yaml: exceeded max depth of {MOST_LEVELS}")


def _yaml(body: bytes) -> Any:
    """Return a YAML document as JSON values: dates and keys are text."""
    if body.count(b"*") > _MOST_ALIASES:
        raise ValueError("too many aliases")
    try:
        _check_nesting(body)
    except _DeepError as deep:
        try:
            return _json(body)  # all JSON is YAML
        except ValueError:
            raise deep from None
    try:
        loaded = yaml.load(body, Loader=_Loader)
        return _as_go(
            orjson.loads(orjson.dumps(loaded, option=orjson.OPT_NON_STR_KEYS))
        )
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from error


class _Pairs(dict[str, Any]):
    """An object that records which of its fields occurred twice."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        seen: set[str] = set()
        self.twice = [
            name
            for name, _ in pairs
            if name in seen or seen.add(name)  # type: ignore[func-returns-value]
        ]


def _repeated(body: bytes) -> Iterator[str]:
    try:
        found = json.loads(body, object_pairs_hook=_Pairs)
    except ValueError:
        # orjson could read it, so it contains a number or text that only orjson accepts
        return
    yield from dict.fromkeys(_twice(found, ""))


def _twice(value: Any, at: str) -> Iterator[str]:
    if isinstance(value, _Pairs):
        for name in value.twice:
            yield f"{at}.{name}" if at else name
        for name, inner in value.items():
            yield from _twice(inner, f"{at}.{name}" if at else name)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _twice(inner, f"{at}[{index}]")
