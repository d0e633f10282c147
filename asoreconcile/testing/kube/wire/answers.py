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

# Shorter ones are not worth it, as on a real server.
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
    """What a client accepts first of what there is.

    form: Table, PartialObjectMetadata, ...; "" for the object itself.
    """

    content_type: str = JSON_TYPE
    form: str = ""
    form_version: str = _FORM_VERSIONS[0]


def document(
    status: int, content: JsonObject, content_type: str = JSON_TYPE
) -> HttpResponse:
    """A JSON answer, or a YAML one for that content type."""
    if content_type == YAML_TYPE and not deepjson.is_deep(content):
        body = yaml.dump(content, Dumper=_Dumper, sort_keys=True).encode()
    else:
        body = deepjson.dumps(content)  # which is YAML as well
    return HttpResponse(status, body, {"Content-Type": content_type})


def compressed(response: HttpResponse, accepted: str) -> HttpResponse:
    """A long answer as gzip, for who asked for that; watches are never compressed.

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
    """A Status object as an answer; when it says to come again, a header does too."""
    if isinstance(error, PageNotFoundError):
        return HttpResponse(error.code, f"{error}\n".encode(), {"Content-Type": _TEXT})
    response = document(error.code, error.document)
    details = error.document.get("details") or {}
    if seconds := details.get("retryAfterSeconds"):
        return _with(response, "Retry-After", str(seconds))
    return response


def warned(response: HttpResponse, warnings: Sequence[str]) -> HttpResponse:
    """An answer with warnings for the client's user."""
    if not warnings:
        return response
    quoted = (warning.replace("\\", "\\\\").replace('"', '\\"') for warning in warnings)
    return _with(response, "Warning", ", ".join(f'299 - "{text}"' for text in quoted))


def negotiated(accept: str) -> str:
    """The content type of an answer. Raises StatusError 406 when none is wanted."""
    return chosen(accept).content_type


def chosen(accept: str) -> Chosen:
    """What of an Accept header is answered. Raises StatusError 406 for none of it."""
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
