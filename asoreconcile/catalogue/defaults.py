"""What is filled in where a user says nothing.

The reconciler derives the same values on its own, so objects written without anybody
filling them in behave alike.
"""

from asoreconcile.catalogue.kinds import KindVersion
from asoreconcile.catalogue.names import azure_name
from asoreconcile.objects import GroupKind, JsonObject, dig, spec

_SECURITY_GROUP = GroupKind("entra.azure.com", "SecurityGroup")


def with_defaults(version: KindVersion, obj: JsonObject) -> JsonObject:
    """The object with its defaults; the same one when there is nothing to add.

    obj: reads what `names.azure_name` reads; a name that cannot be known yet stays out
    (a UUID kind without an owner, a name that comes from a ConfigMap), and kinds whose
    name is fixed have no field for it. Never changes obj. Rules: R10.1, R10.3, R10.4.
    """
    added: JsonObject = {}
    content = spec(obj)
    if "azureName" in version.spec_schema.get("properties", {}):
        name = "" if content.get("azureName") else azure_name(version, obj)
        if name:
            added["azureName"] = name
    if version.group_kind == _SECURITY_GROUP and not _creation_mode(content):
        operator_spec = content.get("operatorSpec") or {}
        added["operatorSpec"] = {**operator_spec, "creationMode": "AdoptOrCreate"}
    return {**obj, "spec": {**content, **added}} if added else obj


def _creation_mode(content: JsonObject) -> object:
    return dig(content, "operatorSpec.creationMode")
