"""The required contents of Secrets with Kubernetes' own types. Pure."""

import base64
import binascii
import json
from collections.abc import Iterator

from asoreconcile.base.objects import JsonObject, annotations
from asoreconcile.resources.crds.cause import Cause
from asoreconcile.testing.kube.wire import complaints

_KEYS = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
_SERVICE_ACCOUNT = "kubernetes.io/service-account.name"


def causes(obj: JsonObject) -> Iterator[Cause]:
    """Yield the missing or wrong contents of a Secret for its type."""
    data = obj.get("data") or {}
    match sort := str(obj.get("type")):
        case "kubernetes.io/basic-auth":
            either = ("username", "password")
            if not data.keys() & set(either):
                yield from (_required(f"data[{key}]") for key in either)
        case "kubernetes.io/ssh-auth":
            if not data.get("ssh-privatekey"):
                yield _required("data[ssh-privatekey]")
        case "kubernetes.io/service-account-token":
            if not annotations(obj).get(_SERVICE_ACCOUNT):
                yield _required(f"metadata.annotations[{_SERVICE_ACCOUNT}]")
        case _:
            for key in _KEYS.get(sort, ()):
                if key not in data:
                    yield _required(f"data[{key}]")
                elif key.startswith("."):
                    yield from _json_causes(key, data[key])


def _required(field: str) -> Cause:
    return Cause(field, "FieldValueRequired", "Required value")


def _json_causes(key: str, value: str) -> Iterator[Cause]:
    try:
        text = base64.b64decode(value)
        json.loads(text)
    except binascii.Error:
        return  # this was refused earlier
    except ValueError as error:
        hidden = 'Invalid value: "<secret contents redacted>"'
        why = complaints.of_json(error, text)
        yield Cause(f"data[{key}]", "FieldValueInvalid", f"{hidden}: {why}")
