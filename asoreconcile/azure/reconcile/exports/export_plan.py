"""Plans the Secrets and ConfigMaps that a resource exports. Pure.

A target must either not exist or be owned by the resource: the operator never writes
into another owner's object (R9.1, D14). Labels and annotations that others added stay;
the data is replaced. Values of Secrets stay out of logs and errors.
"""

import base64
from collections import defaultdict
from collections.abc import Iterable, Mapping

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.catalogue.reserved import EXPORT_MARK
from asoreconcile.azure.middleware.requests import Export
from asoreconcile.azure.reconcile.model.conditions import EXPORT_REFUSED
from asoreconcile.base import jsontext
from asoreconcile.base.objects import (
    GroupVersionKind,
    JsonObject,
    annotations,
    dig,
    key_of,
    labels,
    owner_references,
    spec,
    status,
    uid_of,
)
from asoreconcile.kube.errors import InvalidError
from asoreconcile.kube.owners import set_owner
from asoreconcile.kube.resources import SECRETS, ApiResource


@attrs.frozen
class ExportTarget:
    """One Secret or ConfigMap to write; its repr hides the values."""

    name: str
    data: Mapping[str, str] = attrs.field(repr=False)
    labels: Mapping[str, str]
    annotations: Mapping[str, str]


def merged(resource: ApiResource, exports: Iterable[Export]) -> list[ExportTarget]:
    """Return one target for each object name. Raises ConditionError if two exports
    write the same key.
    """
    by_name: dict[str, list[Export]] = defaultdict(list)
    for one in exports:
        by_name[one.name].append(one)
    targets = []
    # Sorted, so that of two failing targets each reconcile shows the same one.
    for name, group in sorted(by_name.items()):
        data: dict[str, str] = {}
        for one in group:
            if one.key in data:
                raise refused(
                    f"two exports write key {one.key!r} of {resource.kind} {name!r}: "
                    "give them different keys"
                )
            data[one.key] = one.value
        targets.append(
            ExportTarget(
                name=name,
                data=data,
                labels=_agreed(resource, name, [one.labels for one in group]),
                annotations=_agreed(resource, name, [o.annotations for o in group]),
            )
        )
    return targets


def _agreed(
    resource: ApiResource, name: str, several: list[Mapping[str, str]]
) -> dict[str, str]:
    agreed: dict[str, str] = {}
    for one in several:
        for key, value in one.items():
            if agreed.setdefault(key, value) != value:
                raise refused(
                    f"two exports give {resource.kind} {name!r} different values of "
                    f"{key!r}: make them agree"
                )
    return agreed


def manifest(
    owner: JsonObject,
    gvk: GroupVersionKind,
    resource: ApiResource,
    target: ExportTarget,
) -> JsonObject:
    """Return the target as a Kubernetes object.

    owner: object that exports. gvk: group, version and kind of the owner.
    """
    data = dict(target.data)
    # Not `stringData`: the server returns `data`, which `holds` compares.
    if resource is SECRETS:
        data = {k: base64.b64encode(v.encode()).decode() for k, v in data.items()}
    meta: JsonObject = {"name": target.name, "namespace": key_of(owner).namespace}
    if target.labels:
        meta["labels"] = dict(target.labels)
    if target.annotations:
        meta["annotations"] = dict(target.annotations)
    made = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": meta,
        "data": data,
    }
    named = {**owner, "apiVersion": gvk.api_version, "kind": gvk.kind}
    # Without `controller: true`, as in Azure Service Operator, so that each of the two
    # operators can take over the other's exports without a write.
    set_owner(made, named, controller=False)
    return made


def is_owned(target: JsonObject, owner: JsonObject) -> bool:
    """Return whether an object carries the owner's uid in its ownerReferences."""
    # Not by name: the garbage collector deletes what an earlier owner of that name
    # left.
    uid = uid_of(owner)
    return any(r.get("uid") == uid for r in owner_references(target))


def holds(present: JsonObject, wanted: JsonObject) -> bool:
    """Return whether the object already has exactly the data that we would write."""
    return (
        (present.get("data") or {}) == wanted["data"]
        and labels(wanted).items() <= labels(present).items()
        and annotations(wanted).items() <= annotations(present).items()
    )


def refused(message: str) -> ConditionError:
    """Return the condition of an export that fails until a person changes something."""
    return ConditionError(
        message,
        reason=EXPORT_REFUSED,
        severity="Error",
    )


def invalid(
    resource: ApiResource, target: ExportTarget, error: InvalidError
) -> ConditionError:
    """Return the condition of a target that the API server refuses.

    It leaves out the server's message, which quotes values.
    """
    fields = {str(cause.get("field")) for cause in error.causes}
    where = f" at {', '.join(sorted(fields))}" if fields else ""
    return refused(
        f"the API server refuses {resource.kind} {target.name!r}{where}: mend it"
    )


def content_of(target: JsonObject) -> str:
    """Return the values and the mark of an exported object as one text, for a hash."""
    content = [target.get("data") or {}, annotations(target).get(EXPORT_MARK)]
    return jsontext.dumps(content, sort_keys=True).decode()


def catalogued_config_maps(obj: JsonObject, paths: Mapping[str, str]) -> list[Export]:
    """Return the ConfigMap keys that `operatorSpec.configMaps` asks for. Pure.

    paths: export name -> dotted path in the status. A value that Azure does not report
    is left out. Raises ConditionError for an empty value.
    """
    wanted = dig(spec(obj), "operatorSpec.configMaps") or {}
    found = []
    for name, destination in sorted(wanted.items()):
        if not destination or name not in paths:
            continue
        value = dig(status(obj), paths[name])
        if value is None:
            continue
        if value == "":
            raise ConditionError(
                f"Azure reports an empty {paths[name]}, which spec.operatorSpec."
                f"configMaps.{name} asks for: it is waited for",
                reason="Failed",
            )
        found.append(Export.to(destination, _scalar(value)))
    return found


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
