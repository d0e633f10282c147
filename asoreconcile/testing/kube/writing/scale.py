"""The `/scale` subresource of a custom resource: its replicas as a Scale object. Pure.

Raises StatusError 400 and 422 for an invalid Scale.
"""

from typing import Any

from asoreconcile.base.objects import JsonObject, copy_json, dig, metadata
from asoreconcile.resources.crds.cause import Cause
from asoreconcile.testing.kube.kinds.resources import RestResource
from asoreconcile.testing.kube.kinds.workloadrules import selector_text
from asoreconcile.testing.kube.wire.status import bad_request, invalid

_KIND, _API_VERSION = "Scale", "autoscaling/v1"
_SHOWN = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def read(resource: RestResource, obj: JsonObject) -> JsonObject:
    """Return the Scale of an object."""
    paths = resource.scale or {}
    meta = metadata(obj)
    replicas = _at(obj, paths.get("specReplicasPath"))
    status: JsonObject = {"replicas": _at(obj, paths.get("statusReplicasPath")) or 0}
    if selector := _at(obj, paths.get("labelSelectorPath")):
        is_text = isinstance(selector, str)
        status["selector"] = selector if is_text else selector_text(selector)
    return {
        "kind": _KIND,
        "apiVersion": _API_VERSION,
        "metadata": {name: meta[name] for name in _SHOWN if name in meta},
        "spec": {} if replicas is None else {"replicas": replicas},
        "status": status,
    }


def written(resource: RestResource, obj: JsonObject, scale: JsonObject) -> JsonObject:
    """Return the object with the replicas and the resource version of a Scale."""
    if (scale.get("kind"), scale.get("apiVersion")) != (_KIND, _API_VERSION):
        raise bad_request(f"wrong object passed to Scale update: {scale.get('kind')}")
    replicas = dig(scale, "spec.replicas")
    replicas = 0 if replicas is None else replicas
    name = str(metadata(obj).get("name"))
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        raise bad_request("Scale.spec.replicas is no integer")
    if replicas < 0:
        why = f"Invalid value: {replicas}: should be a non-negative integer"
        cause = Cause("spec.replicas", "FieldValueInvalid", why)
        raise invalid(_KIND, "autoscaling", name, [cause])
    result: JsonObject = copy_json(obj)
    *parents, last = str((resource.scale or {})["specReplicasPath"])[1:].split(".")
    place = result
    for step in parents:
        place = place.setdefault(step, {})
    place[last] = replicas
    if version := metadata(scale).get("resourceVersion"):
        metadata(result)["resourceVersion"] = version
    return result


def _at(obj: JsonObject, path: Any) -> Any:
    return dig(obj, str(path)[1:]) if path else None
