"""The objects that imported resources become: named, and referring to each other.

Pure: made when all is read, as only then is it known which ids are objects too.
"""

from collections.abc import Callable, Mapping, Sequence

import attrs

from asoreconcile.azure.arm import ids
from asoreconcile.azure.catalogue.arm_to_spec import LeftOut, armid_reference, to_spec
from asoreconcile.azure.reconcile.model.annotations import RECONCILE_POLICY
from asoreconcile.azure.reconcile.planning.resource_import.object_names import (
    object_names,
)
from asoreconcile.azure.reconcile.planning.resource_import.options import ImportOptions
from asoreconcile.azure.reconcile.planning.resource_import.tasks import ResourceTask
from asoreconcile.base.objects import JsonObject

References = Callable[[str], JsonObject]


@attrs.frozen
class ImportedManifest:
    """An object to apply. left_out: what of the resource is not in its spec."""

    obj: JsonObject
    left_out: tuple[LeftOut, ...] = ()


def manifests_of(
    read: Sequence[tuple[ResourceTask, JsonObject]], options: ImportOptions
) -> tuple[ImportedManifest, ...]:
    """One for each resource with its body, by group, version, kind and name.

    Ids of resources that are imported together become references by name.
    """
    names = object_names((r.version.group_kind, r.id.text) for r, _ in read)
    kinds = {ids.key(r.id.text): r.version.group_kind for r, _ in read}

    def reference(arm_id: str) -> JsonObject:
        key = ids.key(arm_id)
        if key not in kinds:
            return armid_reference(arm_id)
        kind = kinds[key]
        return {"group": kind.group, "kind": kind.kind, "name": names[key]}

    made = [_manifest(r, body, names, reference, options) for r, body in read]
    return tuple(sorted(made, key=_place))


def _manifest(
    resource: ResourceTask,
    body: JsonObject,
    names: Mapping[str, str],
    reference: References,
    options: ImportOptions,
) -> ImportedManifest:
    version = resource.version
    name = names[ids.key(resource.id.text)]
    mapped = to_spec(
        version,
        body,
        name=resource.id.name,
        secret_name=f"{name}-secrets",
        reference=reference,
    )
    obj = {
        "apiVersion": f"{version.gvk.group}/{version.gvk.version}",
        "kind": version.gvk.kind,
        "metadata": _metadata(name, options),
        "spec": _owned(resource, mapped.spec, reference),
    }
    return ImportedManifest(obj, mapped.left_out)


def _metadata(name: str, options: ImportOptions) -> JsonObject:
    meta: JsonObject = {"name": name}
    if options.namespace:
        meta["namespace"] = options.namespace
    if options.labels:
        meta["labels"] = dict(options.labels)
    policy = {RECONCILE_POLICY: options.policy.value}
    meta["annotations"] = {**policy, **options.annotations}
    return meta


def _owned(
    resource: ResourceTask, spec: JsonObject, reference: References
) -> JsonObject:
    """The spec with its owner behind its name, as people write them."""
    if not resource.owner_id:
        return spec
    owner = reference(resource.owner_id)
    if "name" in owner and not resource.version.any_owner:
        owner = {"name": owner["name"]}
    first = {key: spec[key] for key in ("azureName",) if key in spec}
    return {**first, "owner": owner, **spec}


def _place(manifest: ImportedManifest) -> tuple[str, str, str]:
    obj = manifest.obj
    return obj["apiVersion"], obj["kind"], obj["metadata"]["name"]
