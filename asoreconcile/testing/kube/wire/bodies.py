"""What clients send: JSON, YAML or protobuf, read into objects. Pure.

Raises StatusError 400 for what cannot be read, 413 for what is too long and 415 for a
kind of body that is not taken.
"""

import json
from collections.abc import Iterator
from typing import Any

import attrs
import orjson
import yaml

from asoreconcile.objects import JsonObject
from asoreconcile.testing.http import Request
from asoreconcile.testing.kube.wire import protobuf
from asoreconcile.testing.kube.wire.status import (
    JSON_TYPE,
    StatusError,
    bad_request,
    unsupported_media_type,
)

YAML_TYPE = "application/yaml"
_LIMIT_BYTES = 3 << 20
_MOST_ALIASES = 1000
_DEEPEST = 200
_TOO_DEEP = "depth limit exceeded"
_ACCEPTED = (JSON_TYPE, YAML_TYPE, protobuf.MEDIA_TYPE)
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@attrs.frozen
class Body:
    """A body's object. repeated: paths of fields it states more than once."""

    obj: JsonObject
    repeated: tuple[str, ...] = ()


def media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip()


def read(request: Request, kind: str, *, built_in: bool) -> Body:
    """The object of a POST or PUT. kind: of the resource, for messages."""
    sort = media_type(request)
    accepted = _ACCEPTED if built_in else _ACCEPTED[:2]
    if sort and sort not in accepted:
        raise unsupported_media_type(_ACCEPTED)
    if sort == protobuf.MEDIA_TYPE:
        return Body(_checked(protobuf.decode(_limited(request)), kind))
    return _read(request, kind, is_yaml=sort == YAML_TYPE)


def options(request: Request) -> JsonObject:
    """The DeleteOptions of a DELETE, {} without a body."""
    if not request.body:
        return {}
    if media_type(request) == protobuf.MEDIA_TYPE:
        found = protobuf.decode(_limited(request))
    else:
        is_yaml = media_type(request) == YAML_TYPE
        try:
            found = _read(request, "DeleteOptions", is_yaml=is_yaml).obj
        except StatusError as error:
            if error.code != 400:
                raise
            raise StatusError(500, "", str(error)) from error
    if found.get("kind", "DeleteOptions") != "DeleteOptions":
        raise bad_request(
            f'no kind "{found["kind"]}" is registered for version '
            f'"{found.get("apiVersion", "")}" in scheme "pkg/runtime/scheme.go:111"'
        )
    return found


def patch(request: Request, *, is_yaml: bool = False) -> Any:
    """The document of a PATCH: any JSON value, or with is_yaml any YAML one."""
    body = _limited(request)
    try:
        return _json(body)
    except ValueError as error:
        if not is_yaml:
            raise bad_request(f"error decoding patch: {error}") from error
    try:
        return _yaml(body)
    except (yaml.YAMLError, ValueError) as error:
        raise bad_request(f"error decoding YAML: {error}") from error


def _limited(request: Request) -> bytes:
    if len(request.body) > _LIMIT_BYTES:
        raise StatusError(
            413,
            "RequestEntityTooLarge",
            f"Request entity too large: limit is {_LIMIT_BYTES}",
        )
    return request.body


def _read(request: Request, kind: str, *, is_yaml: bool) -> Body:
    body = _limited(request)
    try:
        found = _yaml(body) if is_yaml else _json(body)
    except (yaml.YAMLError, ValueError) as error:
        raise _unrecognized(
            kind, f"couldn't get version/kind; json parse error: {error}"
        ) from error
    obj = _checked(found, kind)
    if is_yaml or body.count(b":") == orjson.dumps(obj).count(b":"):
        return Body(obj)
    # A colon less than was sent: some field was there twice, or is escaped oddly.
    return Body(obj, tuple(_repeated(body)))


def _checked(found: Any, kind: str) -> JsonObject:
    if isinstance(found, dict):
        return found
    if found is None:
        raise _unrecognized(kind, "Object 'Kind' is missing in 'null'")
    raise _unrecognized(
        kind, "couldn't get version/kind; json parse error: it is no JSON object"
    )


def _unrecognized(kind: str, why: str) -> StatusError:
    return bad_request(
        f"the object provided is unrecognized (must be of type {kind}): {why}"
    )


def _json(body: bytes) -> Any:
    """A JSON document; bytes that are no UTF-8 become marks. Raises ValueError."""
    try:
        found = orjson.loads(body)
    except ValueError as error:
        if _TOO_DEEP in str(error):
            raise ValueError("exceeded max depth") from error
        readable = body.decode(errors="replace").encode()
        if readable == body:
            raise
        found = orjson.loads(readable)
    if body.count(b"{") + body.count(b"[") > _DEEPEST:
        _check_depth(found)
    return found


def _check_depth(found: Any) -> None:
    """Raises ValueError for what is nested deeper than answers can be."""
    level = [found]
    for _ in range(_DEEPEST):
        level = [
            inner
            for value in level
            if isinstance(value, (dict, list))
            for inner in (value.values() if isinstance(value, dict) else value)
        ]
        if not level:
            return
    raise ValueError("exceeded max depth")


def _check_nesting(body: bytes) -> None:
    """Raises ValueError for YAML nested so deep that libyaml would end this process."""
    depth = 0
    for event in yaml.parse(body, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _DEEPEST:
            raise ValueError("exceeded max depth")


def _yaml(body: bytes) -> Any:
    """A YAML document as JSON has it: dates are text, keys are text."""
    if body.count(b"*") > _MOST_ALIASES:
        raise ValueError("too many aliases")
    _check_nesting(body)
    try:
        return orjson.loads(
            orjson.dumps(
                yaml.load(body, Loader=_Loader), option=orjson.OPT_NON_STR_KEYS
            )
        )
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from error


class _Pairs(dict[str, Any]):
    """An object that remembers which of its fields were there twice."""

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
        return  # orjson could read it: a number or text only it takes
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
