"""Answers to clients: JSON or YAML, refusals, warnings. Pure."""

import gzip
import re
from collections.abc import Sequence

import attrs
import yaml

from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.http import HttpResponse
from asoreconcile.testing.kube.wire import deepjson
from asoreconcile.testing.kube.wire.bodies import YAML_TYPE
from asoreconcile.testing.kube.wire.protobuf import MEDIA_TYPE
from asoreconcile.testing.kube.wire.status import (
    JSON_TYPE,
    PageNotFoundError,
    StatusError,
    not_acceptable,
)

# As in a real server, shorter answers are not compressed.
_LONG_BYTES = 128 * 1024
_TEXT = "text/plain; charset=utf-8"
_PARAMETER = re.compile(r"\b(as|g|v)=([^;\s]*)")
_FORMS = ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")
_FORM_VERSIONS = ("meta.k8s.io/v1", "meta.k8s.io/v1beta1")
_DISCOVERY = "APIGroupDiscoveryList"
_ANYTHING = ("*/*", "application/*", "")
_Dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


@attrs.frozen
class Chosen:
    """The form that a client accepts first among those offered.

    form: Table, PartialObjectMetadata, ...; "" for the object itself.
    """

    content_type: str = JSON_TYPE
    form: str = ""
    form_version: str = _FORM_VERSIONS[0]


def document(
    status: int, content: JsonObject, content_type: str = JSON_TYPE
) -> HttpResponse:
    """Return a JSON answer, or a YAML answer for that content type."""
    if content_type == YAML_TYPE and not deepjson.is_deep(content):
        body = yaml.dump(content, Dumper=_Dumper, sort_keys=True).encode()
    else:
        body = deepjson.dumps(content)  # JSON is also YAML
    return HttpResponse(status, body, {"Content-Type": content_type})


def compressed(response: HttpResponse, accepted: str) -> HttpResponse:
    """Return a long answer as gzip if the client accepts that. Watches stay as they
    are.

    accepted: the Accept-Encoding header.
    """
    body = response.body
    encodings = [one.strip() for one in accepted.split(",")]
    if not isinstance(body, bytes) or len(body) < _LONG_BYTES:
        return response
    if "gzip" not in encodings:
        return response
    headers = {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    packed = gzip.compress(body, compresslevel=1)
    return HttpResponse(response.status, packed, {**response.headers, **headers})


def refusal(error: StatusError) -> HttpResponse:
    """Return a Status object as an answer, with Retry-After if it has a delay."""
    if isinstance(error, PageNotFoundError):
        return HttpResponse(error.code, f"{error}\n".encode(), {"Content-Type": _TEXT})
    response = document(error.code, error.document)
    details = error.document.get("details") or {}
    if seconds := details.get("retryAfterSeconds"):
        return _with(response, "Retry-After", str(seconds))
    return response


def warned(response: HttpResponse, warnings: Sequence[str]) -> HttpResponse:
    """Return an answer with warnings for the client's user."""
    if not warnings:
        return response
    quoted = (warning.replace("\\", "\\\\").replace('"', '\\"') for warning in warnings)
    return _with(response, "Warning", ", ".join(f'299 - "{text}"' for text in quoted))


def negotiated(accept: str) -> str:
    """Return the content type of an answer. Raises StatusError 406 for no match."""
    return chosen(accept).content_type


def chosen(accept: str) -> Chosen:
    """Return the form for an Accept header. Raises StatusError 406 for no match."""
    if not accept:
        return Chosen()
    for choice in accept.split(","):
        wanted, _, more = choice.partition(";")
        stated = dict(_PARAMETER.findall(more))
        form, version = stated.get("as", ""), _FORM_VERSIONS[0]
        if form in _FORMS:
            version = f"{stated.get('g', '')}/{stated.get('v', '')}"
        if form not in ("", _DISCOVERY, *_FORMS) or version not in _FORM_VERSIONS:
            continue
        if (wanted := wanted.strip()) in (*_ANYTHING, JSON_TYPE):
            return Chosen(JSON_TYPE, form, version)
        if wanted == YAML_TYPE:
            return Chosen(YAML_TYPE, form, version)
    raise not_acceptable((JSON_TYPE, YAML_TYPE, MEDIA_TYPE))


def _with(response: HttpResponse, name: str, value: str) -> HttpResponse:
    return attrs.evolve(response, headers={**response.headers, name: value})
