"""Turns an object of a cluster into a manifest for Git, as its author would write it.
Pure.
"""

from collections.abc import Mapping

from asoreconcile.azure.reconcile.model.annotation_table import is_exported
from asoreconcile.base.objects import (
    JsonObject,
    annotations,
    copy_json,
    labels,
    metadata,
)

_TOOLS = "kubectl.kubernetes.io/"
_KEPT = ("name", "namespace")


def exported_manifest(obj: JsonObject, *, adopt: bool = False) -> JsonObject:
    """Return an object without its status and without the fields that servers and
    operators wrote.

    adopt: keep the operator's annotations and labels, so that an operator of another
    cluster takes over. Shares nothing with the object.
    """
    meta = metadata(obj)
    made: JsonObject = {key: meta[key] for key in _KEPT if meta.get(key)}
    for name, found in (("labels", labels(obj)), ("annotations", annotations(obj))):
        if kept := _kept(found, adopt=adopt):
            made[name] = kept
    return {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "metadata": made,
        "spec": copy_json(obj.get("spec") or {}),
    }


def _kept(found: Mapping[str, str], *, adopt: bool) -> dict[str, str]:
    return {
        name: value
        for name, value in found.items()
        if not name.startswith(_TOOLS) and (adopt or is_exported(name))
    }
