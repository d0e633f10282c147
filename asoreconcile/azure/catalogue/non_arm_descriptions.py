"""The texts that `kubectl explain` shows for kinds without ARM.

These kinds are few, and no table says where their fields go: each text is written here.
"""

from collections.abc import Mapping

from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.base.objects import JsonObject

_KINDS: Mapping[str, str] = {
    "dbformysql.azure.com": "A user of a MySQL flexible server, with its privileges.",
    "dbforpostgresql.azure.com": "A role of a PostgreSQL flexible server that logs in.",
    "entra.azure.com": "A security group of Microsoft Entra ID.",
    "sql.azure.com": "A user of a database of Azure SQL, with its roles.",
}
_FIELDS: Mapping[str, str] = {
    "aadUser": "A user of Entra ID: signs in with a token.",
    "alias": "The user's name in MySQL, where azureName is longer than 32 characters.",
    "azureName": "The user's name in the server; by default metadata.name.",
    "configmaps": "ConfigMaps of this namespace that values are written into.",
    "conditions": "The condition Ready: how the object is doing.",
    "createDb": "May make databases (CREATEDB).",
    "createRole": "May make roles (CREATEROLE).",
    "creationMode": "AdoptOrCreate takes what is there; AlwaysCreate makes another.",
    "databasePrivileges": "Privileges by database; those not listed are revoked.",
    "hostname": "Where the user may connect from; by default anywhere (%).",
    "key": "Key in it.",
    "localUser": "A user with a password.",
    "login": "May log in (LOGIN).",
    "name": "Name, in this namespace.",
    "operatorSpec": "How the operator treats this object.",
    "owner": "The server, or of Azure SQL the database, by its name in this namespace.",
    "password": "Secret: the user's password, from a key of a Secret.",
    "privileges": "Privileges on the whole server; those not listed are revoked.",
    "replication": "May start replication (REPLICATION).",
    "roleOptions": "What the role may do itself.",
    "roles": "Roles that the user is a member of; of others it is taken out.",
    "serverAdminPassword": "Secret: the administrator's, from a key of a Secret.",
    "serverAdminUsername": "The administrator that the operator signs in as.",
}


def described_without_arm(version: KindVersion, schema: JsonObject) -> JsonObject:
    """Return the schema of a whole object with descriptions; shares the rest."""
    parts = {
        name: _named(part) if name in ("spec", "status") else part
        for name, part in schema["properties"].items()
    }
    parts["spec"] = {"description": "What is to be there.", **parts["spec"]}
    said = "What was found last. The operator writes it, and nobody else."
    parts["status"] = {"description": said, **parts["status"]}
    return {"description": _KINDS[version.gvk.group], **schema, "properties": parts}


def _named(schema: JsonObject) -> JsonObject:
    fields: JsonObject = schema.get("properties", {})
    if not fields:
        return schema
    named: JsonObject = {}
    for name, child in fields.items():
        text = _FIELDS.get(name)
        inner = _named(child)
        named[name] = {"description": text, **inner} if text else inner
    return {**schema, "properties": named}
