"""Answers to clients: JSON or YAML, refusals, warnings. Pure."""

import re
from collections.abc import Sequence

import attrs
import yaml

from asoreconcile.objects import JsonObject
from asoreconcile.testing.http import Response
from asoreconcile.testing.kube.wire import deepjson
from asoreconcile.testing.kube.wire.bodies import YAML_TYPE
from asoreconcile.testing.kube.wire.protobuf import MEDIA_TYPE
from asoreconcile.testing.kube.wire.status import (
    JSON_TYPE,
    PageNotFoundError,
    StatusError,
    not_acceptable,
)

_TEXT = "text/plain; charset=utf-8"
_FORM = re.compile(r"\bas=([^;\s]*)")
_FORMS = (
    *("Table", "PartialObjectMetadata", "PartialObjectMetadataList"),
    "APIGroupDiscoveryList",
)
_ANYTHING = ("*/*", "application/*", "")
_Dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def document(
    status: int, content: JsonObject, content_type: str = JSON_TYPE
) -> Response:
    """A JSON answer, or a YAML one for that content type."""
    if content_type == YAML_TYPE and not deepjson.is_deep(content):
        body = yaml.dump(content, Dumper=_Dumper, sort_keys=True).encode()
    else:
        body = deepjson.dumps(content)  # which is YAML as well
    return Response(status, body, {"Content-Type": content_type})


def refusal(error: StatusError) -> Response:
    """A Status object as an answer; when it says to come again, a header does too."""
    if isinstance(error, PageNotFoundError):
        return Response(error.code, f"{error}\n".encode(), {"Content-Type": _TEXT})
    response = document(error.code, error.document)
    details = error.document.get("details") or {}
    if seconds := details.get("retryAfterSeconds"):
        return _with(response, "Retry-After", str(seconds))
    return response


def warned(response: Response, warnings: Sequence[str]) -> Response:
    """An answer with what the client's user should be told."""
    if not warnings:
        return response
    quoted = (warning.replace("\\", "\\\\").replace('"', '\\"') for warning in warnings)
    return _with(response, "Warning", ", ".join(f'299 - "{text}"' for text in quoted))


def negotiated(accept: str) -> str:
    """The content type of an answer. Raises StatusError 406 when none is wanted."""
    if not accept:
        return JSON_TYPE
    for choice in accept.split(","):
        wanted, _, more = choice.partition(";")
        wanted, form = wanted.strip(), _FORM.search(more)
        if form is not None and form[1] not in _FORMS:
            continue
        if wanted in _ANYTHING or wanted == JSON_TYPE:
            return JSON_TYPE
        if wanted == YAML_TYPE:
            return YAML_TYPE
    raise not_acceptable((JSON_TYPE, YAML_TYPE, MEDIA_TYPE))


def _with(response: Response, name: str, value: str) -> Response:
    return attrs.evolve(response, headers={**response.headers, name: value})
