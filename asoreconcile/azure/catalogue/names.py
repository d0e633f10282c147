"""Derive the name of a resource in Azure."""

import re
import uuid

from asoreconcile.azure.catalogue.kind_rules import given_name, has_given_name
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.base.objects import GroupKind, JsonObject, metadata
from asoreconcile.base.objects import spec as spec_of

# Wire contract with ASO: changing it renames every role assignment there is.
_NAMESPACE = uuid.UUID("9a329043-7ad7-4b1c-812f-9c7a93d6392a")
_NAMED_BY_UUID = frozenset(
    {
        GroupKind("authorization.azure.com", "RoleAssignment"),
        GroupKind("authorization.azure.com", "RoleDefinition"),
        GroupKind("documentdb.azure.com", "SqlRoleAssignment"),
    }
)
# It has no field for a naming convention, and all its versions are seeded as old ones.
_WITHOUT_CONVENTION = GroupKind("documentdb.azure.com", "SqlRoleAssignment")
_HEX = "[0-9a-fA-F]"
_DASHED = f"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}"
_UUID = re.compile(
    rf"{_DASHED}|\{{{_DASHED}\}}|urn:uuid:{_DASHED}|{_HEX}{{32}}",
    re.IGNORECASE,
)


def azure_name(version: KindVersion, obj: JsonObject) -> str:
    """Return the resource's Azure name: the last segment of its ARM id.

    obj: reads metadata.name and namespace, spec.azureName, spec.azureNameFromConfig,
    spec.owner, spec.operatorSpec.namingConvention.

    Returns "" while the name is not known: a ConfigMap that the reconciler reads
    contains it, or a UUID kind has no owner yet or an unknown naming convention.

    Under the convention `random` every call returns another name: the caller writes the
    first one to `spec.azureName`. Otherwise pure. Rules: R10.3, R10.4.
    """
    # It wins over the spec, because Azure accepts no other name.
    if version.fixed_name is not None:
        return version.fixed_name
    spec = spec_of(obj)
    if spec.get("azureName"):
        return str(spec["azureName"])
    if spec.get("azureNameFromConfig"):
        return ""
    if version.group_kind in _NAMED_BY_UUID:
        return _uuid_name(version, obj, spec)
    given = given_name(version.group_kind, obj)
    if given:
        return given
    return str(metadata(obj).get("name") or "")


def is_named_by_uuid(group_kind: GroupKind) -> bool:
    """Return whether the name is a UUID, derived from the object and its owner or
    drawn.

    Versions of such a kind derive different names, so a name that is in use is kept.
    """
    return group_kind in _NAMED_BY_UUID


def is_named_as_its_object(group_kind: GroupKind) -> bool:
    """Return whether a resource without a given name has the name of its object."""
    return group_kind not in _NAMED_BY_UUID and not has_given_name(group_kind)


def _uuid_name(version: KindVersion, obj: JsonObject, spec: JsonObject) -> str:
    owner = spec.get("owner")
    if not isinstance(owner, dict) or not owner:
        return ""
    name = str(metadata(obj).get("name") or "")
    if _UUID.fullmatch(name):
        return name
    legacy = version.gvk.version.startswith("v1api")
    if version.group_kind == _WITHOUT_CONVENTION:
        convention, legacy = "stable", True
    else:
        operator_spec = spec.get("operatorSpec") or {}
        convention = str(operator_spec.get("namingConvention") or "stable").lower()
    if convention == "random":
        return str(uuid.uuid1())
    if convention != "stable" and not legacy:
        return ""
    return str(uuid.uuid5(_NAMESPACE, _seed(version, obj, owner, legacy=legacy)))


def _seed(
    version: KindVersion, obj: JsonObject, owner: JsonObject, *, legacy: bool
) -> str:
    meta = metadata(obj)
    namespace, name = meta.get("namespace") or "", meta.get("name") or ""
    own = f"{version.gvk.kind}/{version.gvk.group}:{namespace}/{name}"
    if owner.get("armId"):
        # The legacy form lost the id and kept the empty parts of a reference.
        part = f"/:{namespace}/" if legacy else str(owner["armId"])
        return f"{part}:{own}"
    group, kind = owner.get("group") or "", owner.get("kind") or ""
    if version.owner is not None:
        group, kind = version.owner.group, version.owner.kind
    return f"{group}/{kind}:{namespace}/{owner.get('name') or ''}:{own}"
