"""What is filled in where a user says nothing.

The reconciler derives the same values on its own, so objects written without anybody
filling them in behave alike.
"""

from typing import Any

from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.names import azure_name, is_named_by_uuid
from asoreconcile.base.objects import GroupKind, JsonObject, dig, spec

IDENTITIES = "userAssignedIdentities"
_SECURITY_GROUP = GroupKind("entra.azure.com", "SecurityGroup")


def with_defaults(
    version: KindVersion, obj: JsonObject, *, claimed_name: str = ""
) -> JsonObject:
    """The object with its defaults; the same one when there is nothing to add.

    claimed_name: what the resource is called already, if it is: a UUID that was drawn,
    or made up by another version of the kind, is not made up again.
    obj: reads what `names.azure_name` reads; a name that cannot be known yet stays out
    (a UUID kind without an owner, a name that comes from a ConfigMap), and kinds whose
    name is fixed have no field for it. Never changes obj. Rules: R10.1, R10.3, R10.4.
    """
    added: JsonObject = {}
    content = spec(obj)
    if "azureName" in version.spec_schema.get("properties", {}):
        # Other names follow from the object and come out the same each time.
        kept = claimed_name if is_named_by_uuid(version.group_kind) else ""
        name = content.get("azureName") or kept or azure_name(version, obj)
        if name and not content.get("azureName"):
            added["azureName"] = name
    if version.group_kind == _SECURITY_GROUP and not _creation_mode(content):
        operator_spec = content.get("operatorSpec") or {}
        added["operatorSpec"] = {**operator_spec, "creationMode": "AdoptOrCreate"}
    return {**obj, "spec": {**content, **added}} if added else obj


def with_identity_references(content: JsonObject) -> JsonObject:
    """A spec whose user-assigned identities have their reference, if only an empty one.

    Azure Service Operator has it as a struct that is always there. Pure; shares what
    it does not change.
    """
    identity = content.get("identity")
    items = identity.get(IDENTITIES) if isinstance(identity, dict) else None
    if not identity or not isinstance(items, list):
        return content
    whole = [with_reference(item) for item in items]
    return {**content, "identity": {**identity, IDENTITIES: whole}}


def with_reference(item: Any) -> Any:
    """An item of `IDENTITIES` with its reference."""
    missing = isinstance(item, dict) and "reference" not in item
    return {"reference": {}, **item} if missing else item


def _creation_mode(content: JsonObject) -> object:
    return dig(content, "operatorSpec.creationMode")
