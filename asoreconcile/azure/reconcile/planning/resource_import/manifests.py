"""Makes manifests of imported resources, with names and references to each other.

Pure. Manifests are made after all reads, because only then it is known which ids become
objects, too.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

import attrs

from asoreconcile.azure.arm import ids
from asoreconcile.azure.catalogue.arm_to_spec import LeftOut, armid_reference, to_spec
from asoreconcile.azure.catalogue.type_facts import facts_of
from asoreconcile.azure.reconcile.model.annotations import RECONCILE_POLICY
from asoreconcile.azure.reconcile.planning.resource_import.child_types import (
    ResourceTask,
)
from asoreconcile.azure.reconcile.planning.resource_import.options import ImportOptions
from asoreconcile.base.objects import GroupKind, JsonObject, dig

# Kubernetes' own limit of a name.
_MAX_LENGTH = 253
_SUFFIX_LENGTH = 6
_REFUSED = re.compile(r"[^a-z0-9]+")


def object_name(azure_name: str) -> str:
    """Return a valid Kubernetes name: lower case, with `-` in place of characters that
    are not allowed.
    """
    name = _REFUSED.sub("-", azure_name.lower()).strip("-")
    # If the name is in another script, no character may be left.
    return name[:_MAX_LENGTH].rstrip("-") or "resource"


def object_names(resources: Iterable[tuple[GroupKind, str]]) -> dict[str, str]:
    """Return the name of the object for each ARM id, by the id's key (`ids.key`).

    Resources of one kind that would share a name all get a suffix made of their ids, so
    that a name does not depend on the order of the import.
    """
    sharing: defaultdict[tuple[GroupKind, str], list[str]] = defaultdict(list)
    for kind, arm_id in resources:
        name = object_name(arm_id.rstrip("/").rpartition("/")[2])
        sharing[kind, name].append(ids.key(arm_id))
    found = {}
    for (_, name), keys in sharing.items():
        for key in keys:
            found[key] = name if len(keys) == 1 else _with_suffix(name, key)
    return found


def _with_suffix(name: str, key: str) -> str:
    digest = hashlib.sha256(key.encode()).hexdigest()[:_SUFFIX_LENGTH]
    return f"{name[: _MAX_LENGTH - _SUFFIX_LENGTH - 1]}-{digest}"


References = Callable[[str], JsonObject]


@attrs.frozen
class ImportedManifest:
    """An object to apply. left_out: values of the resource that its spec leaves out."""

    obj: JsonObject
    left_out: tuple[LeftOut, ...] = ()


def manifests_of(
    read: Sequence[tuple[ResourceTask, JsonObject]], options: ImportOptions
) -> tuple[ImportedManifest, ...]:
    """Return a manifest for each resource with a body, by group, version, kind and
    name.

    Ids of resources that are imported together become references by name.
    """
    inside = inside_parents(read)
    read = [(r, body) for r, body in read if ids.key(r.id.text) not in inside]
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


def inside_parents(read: Sequence[tuple[ResourceTask, JsonObject]]) -> set[str]:
    """Return the keys of resources that the spec of an imported parent contains
    already.

    They get no object of their own, which would declare them twice.
    """
    inside: set[str] = set()
    for parent, body in read:
        for child, path in facts_of(parent.id.type).inside.items():
            place, value = f"{ids.key(parent.id.text)}/{child}", dig(body, path)
            if isinstance(value, list):
                names = (str(one.get("name")) for one in _objects(value))
                inside |= {f"{place}/{name.lower()}" for name in names}
            elif value is not None:
                inside.add(place)
    return inside


def with_pools_apart(
    read: Sequence[tuple[ResourceTask, JsonObject]],
) -> list[tuple[ResourceTask, JsonObject]]:
    """Return the resources that were read, with only the needed pools in AKS clusters.

    Azure shows all pools in the cluster, also those that are imported as objects. The
    cluster keeps its first system pool, because a cluster cannot be made without one,
    and each pool that is not imported itself.
    """
    own = {ids.key(resource.id.text) for resource, _ in read}
    return [(task, _with_first_pool(task, body, own)) for task, body in read]


def _with_first_pool(
    cluster: ResourceTask, body: JsonObject, own: set[str]
) -> JsonObject:
    pools = _objects(dig(body, f"properties.{_POOLS}"))
    if cluster.id.type.lower() != _CLUSTER or not pools:
        return body
    first = next((one for one in pools if one.get("mode") == "System"), pools[0])
    below = f"{ids.key(cluster.id.text)}/agentpools/"
    kept = [
        one
        for one in pools
        if one is first or below + str(one.get("name")).lower() not in own
    ]
    return {**body, "properties": {**body["properties"], _POOLS: kept}}


_CLUSTER = "microsoft.containerservice/managedclusters"
_POOLS = "agentPoolProfiles"


def _objects(value: object) -> list[JsonObject]:
    found = value if isinstance(value, list) else []
    return [one for one in found if isinstance(one, dict)]


def _name_of(resource: ResourceTask, body: JsonObject) -> str:
    """Return the name in Azure's letter case, which may differ from that of the given
    id.
    """
    stated = str(body.get("name") or "").rpartition("/")[2]
    name = resource.id.name
    return stated if stated.casefold() == name.casefold() else name


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
        name=_name_of(resource, body),
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
    """Return the spec with `owner` directly after `azureName`, as people write it."""
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
