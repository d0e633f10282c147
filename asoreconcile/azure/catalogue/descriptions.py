"""Build the texts that `kubectl explain` shows for a kind and its fields.

The texts are derived from the catalogue's facts and are not copied from Azure: a text
says where a field goes in the ARM body, what a reference names, and whether the value
is secret or cannot change. One version of a kind, the one that `kubectl explain` shows,
is described completely. The other versions describe the kind and the fields whose names
do not explain themselves, so that a CRD with every version stays small.
"""

import re
from collections.abc import Callable, Iterable, Mapping

from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.tables import NAME_FIELD, Field, Path, Table
from asoreconcile.base.objects import JsonObject

_KINDS: Mapping[str, str] = {
    "User.dbformysql.azure.com": "A user of a MySQL server, with its privileges.",
    "User.dbforpostgresql.azure.com": "A role of a PostgreSQL server that logs in.",
    "Application.entra.azure.com": "An application of Microsoft Entra ID.",
    "SecurityGroup.entra.azure.com": "A security group of Microsoft Entra ID.",
    "ServicePrincipal.entra.azure.com": "An application's identity in this tenant.",
    "User.sql.azure.com": "A user of a database of Azure SQL, with its roles.",
}
_FIELDS: Mapping[str, str] = {
    "aadUser": "A user of Entra ID: signs in with a token.",
    "alias": "The user's name in MySQL, where azureName is longer than 32 characters.",
    "azureName": "The user's name in the server; by default metadata.name.",
    "configmaps": "ConfigMaps of this namespace that values are written into.",
    "conditions": "The condition Ready: how the object is doing.",
    "createDb": "May make databases (CREATEDB).",
    "createRole": "May make roles (CREATEROLE).",
    "creationMode": "Whether what is there is taken, only read, or another made.",
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
        name: _with_field_texts(part) if name in ("spec", "status") else part
        for name, part in schema["properties"].items()
    }
    parts["spec"] = {"description": "What is to be there.", **parts["spec"]}
    said = "What was found last. The operator writes it, and nobody else."
    parts["status"] = {"description": said, **parts["status"]}
    return {
        "description": _KINDS[str(version.group_kind)],
        **schema,
        "properties": parts,
    }


def _with_field_texts(schema: JsonObject) -> JsonObject:
    fields: JsonObject = schema.get("properties", {})
    if not fields:
        return schema
    named: JsonObject = {}
    for name, child in fields.items():
        text = _FIELDS.get(name)
        inner = _with_field_texts(child)
        named[name] = {"description": text, **inner} if text else inner
    return {**schema, "properties": named}


_REFERENCE = "https://learn.microsoft.com/azure/templates"
_KUBE_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
# Beyond it the status says less: a CRD that `kubectl apply` is to take ends at 256 KiB.
_MANY_REPORTED = 350
_ONCE = "It cannot change once the resource is in Azure."
_AZURE_NAME = f"The resource's name in Azure; by default metadata.name. {_ONCE}"
_CONVERTED: Mapping[str, str] = {
    "reference": "Id of a resource: group, kind and name, or armId.",
    "well-known": "Id of a resource: wellKnownName, or group, kind and name, or armId.",
    "secret": "Secret: from a key of a Secret.",
    "secret-map": "Secret: all that a Secret holds.",
    "config-map": "From a key of a ConfigMap.",
    "identities": "Ids of the identities that are assigned.",
}
# Of these a name and a key are given, of the others a resource.
_READ = ("secret", "secret-map", "config-map")
_PARTS: Mapping[str, str] = {
    "armId": "Id in Azure.",
    "group": "API group.",
    "kind": "Kind.",
    "name": "Name, in this namespace.",
    "reference": "One identity: group, kind and name, or armId.",
    "wellKnownName": "A name that Azure gives it everywhere.",
}
_OPERATOR: Mapping[str, str] = {
    "secrets": "Secrets of this namespace that keys of the resource are written into.",
    "configMaps": "ConfigMaps of this namespace that values are written into.",
    "secretExpressions": "CEL expressions, for Secrets of this namespace.",
    "configMapExpressions": "CEL expressions, for ConfigMaps of this namespace.",
    "namingConvention": "How azureName is made where none is given.",
}
_TARGET: Mapping[str, str] = {
    "name": "Name, in this namespace.",
    "key": "Key in it.",
    "value": "A CEL expression over self, and secret in secretExpressions.",
    "annotations": "Its annotations.",
    "labels": "Its labels.",
}
_CONDITION: Mapping[str, str] = {
    "lastTransitionTime": "Since when it reads as it does.",
    "message": "What is the matter, and what to do.",
    "observedGeneration": "The metadata.generation that it speaks of.",
    "reason": "One word for it.",
    "severity": "Of what is not True: Info, Warning or Error.",
    "status": "True, False or Unknown.",
    "type": "Ready.",
}


def explained_version(served: Iterable[str]) -> str:
    """Return the served version that `kubectl explain` shows; "" if none is served."""
    return min(served, key=_kube_order, default="")


def described(version: KindVersion, schema: JsonObject, *, whole: bool) -> JsonObject:
    """Return the version's schema of a whole object with descriptions.

    whole: if true, describe every field; else only the kind, references, secrets, owner
    and name.

    Unchanged parts are shared with the argument.
    """
    if not version.is_arm:
        return described_without_arm(version, schema)
    parts: JsonObject = schema["properties"]
    spec = _spec(version, parts["spec"], whole=whole)
    changed = {**parts, "spec": spec}
    if whole:
        reported = parts["status"]
        is_large = _count(reported) > _MANY_REPORTED
        status = _status(reported, {} if is_large else _paths(version.table))
        said = "What Azure reported last. The operator writes it, and nobody else."
        changed["status"] = _saying(said, status)
    return _saying(_of_kind(version), {**schema, "properties": changed})


def _of_kind(version: KindVersion) -> str:
    page = "/".join((version.provider, version.api_version, *version.types)).lower()
    return (
        f"{version.gvk.kind} is {version.arm_type} of Azure, api-version "
        f"{version.api_version}. {_REFERENCE}/{page}"
    )


def _spec(version: KindVersion, schema: JsonObject, *, whole: bool) -> JsonObject:
    described = _object(version.table, schema, (), whole=whole)
    fields = dict(described.get("properties", {}))
    for name, text, parts in (
        ("azureName", _AZURE_NAME, _PARTS),
        ("azureNameFromConfig", f"azureName, from a ConfigMap. {_ONCE}", _TARGET),
        ("owner", _owner(version), _PARTS),
    ):
        if name in fields:
            child = _named(fields[name], parts) if whole else fields[name]
            fields[name] = _saying(text, child)
    if whole and "operatorSpec" in fields:
        said = "How the operator treats this object; nothing of it is sent to Azure."
        fields["operatorSpec"] = _saying(said, _operator(fields["operatorSpec"]))
    described = {**described, "properties": fields}
    if not whole:
        return described
    said = "What Azure is to have. ARM: is where a field goes in the body of the PUT."
    return _saying(said, described)


def _owner(version: KindVersion) -> str:
    if version.owner is None:
        owner = "The resource that this one belongs to: by group, kind and name"
    else:
        owner = (
            f"The {version.owner.kind} ({version.owner.group}) that this is in: by name"
        )
    return f"{owner} in this namespace, or by armId. {_ONCE}"


def _object(table: Table, schema: JsonObject, at: Path, *, whole: bool) -> JsonObject:
    fields: JsonObject = schema.get("properties", {})
    changed: JsonObject = {}
    for field in table.fields:
        child = fields.get(field.source)
        if child is not None and field.source != NAME_FIELD:
            found = _field(field, child, at, whole=whole)
            if found is not child:
                changed[field.source] = found
    return {**schema, "properties": {**fields, **changed}} if changed else schema


def _field(field: Field, schema: JsonObject, at: Path, *, whole: bool) -> JsonObject:
    path = (*at, *field.path[:-1], field.path[-1] + field.nesting)
    table, text = field.table, _CONVERTED.get(field.conversion, "")
    if table is not None:
        schema = _innermost(schema, lambda s: _object(table, s, path, whole=whole))
    elif text and whole:
        parts = _TARGET if field.conversion in _READ else _PARTS
        schema = _innermost(schema, lambda s: _named(s, parts))
    if whole:
        return _saying(f"{text} ARM: {'.'.join(path)}".lstrip(), schema)
    return _saying(text, schema) if text else schema


def _innermost(
    schema: JsonObject, change: Callable[[JsonObject], JsonObject]
) -> JsonObject:
    """Change the schema of the innermost items of a field's lists and maps."""
    for keyword in ("items", "additionalProperties"):
        if isinstance(inner := schema.get(keyword), dict):
            changed = _innermost(inner, change)
            return schema if changed is inner else {**schema, keyword: changed}
    return change(schema)


def _operator(schema: JsonObject) -> JsonObject:
    fields: JsonObject = schema.get("properties", {})
    changed: JsonObject = {}
    for name, child in fields.items():
        exports = child.get("properties", {})
        named = {one: f"Where {one} is written." for one in exports}
        inner = _innermost(_named(child, named), lambda s: _named(s, _TARGET))
        changed[name] = _saying(_OPERATOR.get(name, f"The operator's {name}."), inner)
    return {**schema, "properties": changed}


def _paths(table: Table) -> Mapping[Path, str]:
    """Return, for each field of the spec, the path of its value in the body, as
    text.
    """
    found: dict[Path, str] = {}
    above = [table]  # some of Azure's types hold themselves

    def add(table: Table, fields: Path, body: Path) -> None:
        for field in table.fields:
            here = (*fields, field.source)
            path = (*body, *field.path[:-1], field.path[-1] + field.nesting)
            found[here] = ".".join(path)
            if field.table is not None and all(field.table is not one for one in above):
                above.append(field.table)
                add(field.table, here, path)
                above.pop()

    add(table, (), ())
    return found


def _count(schema: JsonObject) -> int:
    """Return the number of fields in a schema, at any depth."""
    inner = (schema.get("items"), schema.get("additionalProperties"))
    parts = [*schema.get("properties", {}).values(), *inner]
    return len(schema.get("properties", ())) + sum(
        _count(part) for part in parts if isinstance(part, dict)
    )


def _status(schema: JsonObject, paths: Mapping[Path, str]) -> JsonObject:
    fields: JsonObject = schema.get("properties", {})
    described = _reported(schema, (), paths)["properties"]
    if "conditions" in fields:
        own = _innermost(fields["conditions"], lambda s: _named(s, _CONDITION))
        said = "The condition Ready: how the object is doing."
        described = {**described, "conditions": _saying(said, own)}
    return {**schema, "properties": described}


def _reported(schema: JsonObject, at: Path, paths: Mapping[Path, str]) -> JsonObject:
    """Return a part of the status schema with descriptions of its fields."""
    changed = dict(schema)
    for keyword in ("items", "additionalProperties"):
        if isinstance(inner := schema.get(keyword), dict):
            changed[keyword] = _reported(inner, at, paths)
    if fields := schema.get("properties"):
        changed["properties"] = {
            name: _saying(
                _report_of(name, path := (*at, name), paths),
                _reported(child, path, paths),
            )
            for name, child in fields.items()
        }
    return changed


def _report_of(name: str, at: Path, paths: Mapping[Path, str]) -> str:
    """Return the description of a status field; a field that the spec has too has its
    ARM path.
    """
    if known := paths.get(at):
        return f"ARM: {known}"
    renamed = name.removeprefix("properties_")
    return "From ARM." if renamed == name else f"From ARM: {renamed}."


def _named(schema: JsonObject, texts: Mapping[str, str]) -> JsonObject:
    """Return an object schema whose fields have descriptions by name, at any depth."""
    fields: JsonObject = schema.get("properties", {})
    changed: JsonObject = {}
    for name, child in fields.items():
        inner = _innermost(child, lambda s: _named(s, texts))
        changed[name] = _saying(texts[name], inner) if name in texts else inner
    return {**schema, "properties": changed} if fields else schema


def _saying(text: str, schema: JsonObject) -> JsonObject:
    return {"description": text, **schema}


def _kube_order(version: str) -> tuple[int, int, int, str]:
    """Return a sort key for Kubernetes' version order: newest first; other names by
    letter.
    """
    found = _KUBE_VERSION.fullmatch(version)
    if found is None:
        return (3, 0, 0, version)
    stage = ("", "beta", "alpha").index(found[2] or "")
    return (stage, -int(found[1]), -int(found[3] or 0), version)
