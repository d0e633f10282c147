"""Fill in the default values of a spec.

The reconciler derives the same values, so an object behaves the same without them.
"""

from typing import Any

from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.names import azure_name, is_named_by_uuid
from asoreconcile.base.objects import JsonObject, dig, spec

IDENTITIES = "userAssignedIdentities"
_ENTRA = "entra.azure.com"  # each of its kinds has a creation mode


def with_defaults(
    version: KindVersion, obj: JsonObject, *, claimed_name: str = ""
) -> JsonObject:
    """Return the object with its defaults; the same object if there is nothing to add.

    obj: reads the fields that `names.azure_name` reads; never changed.
    claimed_name: the resource's present name in Azure, or "". A UUID that was drawn, or
    derived by another version of the kind, is not derived again.

    A name that is not yet known is left out (a UUID kind without an owner, a name from
    a ConfigMap). Kinds with a fixed name have no field for it. Rules: R10.1, R10.3,
    R10.4.
    """
    added: JsonObject = {}
    content = spec(obj)
    if "azureName" in version.spec_schema.get("properties", {}):
        # Other names follow from the object and come out the same each time.
        kept = claimed_name if is_named_by_uuid(version.group_kind) else ""
        name = content.get("azureName") or kept or azure_name(version, obj)
        if name and not content.get("azureName"):
            added["azureName"] = name
    if version.group_kind.group == _ENTRA and not dig(
        content, "operatorSpec.creationMode"
    ):
        operator_spec = content.get("operatorSpec") or {}
        added["operatorSpec"] = {**operator_spec, "creationMode": "AdoptOrCreate"}
    return {**obj, "spec": {**content, **added}} if added else obj


def with_identity_references(content: JsonObject) -> JsonObject:
    """Return a spec in which each user-assigned identity has a reference, maybe an
    empty one.

    In Azure Service Operator the reference is a struct that always exists. Pure;
    unchanged parts are shared.
    """
    identity = content.get("identity")
    items = identity.get(IDENTITIES) if isinstance(identity, dict) else None
    if not identity or not isinstance(items, list):
        return content
    whole = [with_reference(item) for item in items]
    return {**content, "identity": {**identity, IDENTITIES: whole}}


def with_reference(item: Any) -> Any:
    """Return an item of `IDENTITIES` with its reference."""
    missing = isinstance(item, dict) and "reference" not in item
    return {"reference": {}, **item} if missing else item
