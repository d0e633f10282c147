"""Build the texts that `kubectl explain` shows for a kind and its fields.

The texts are derived from the catalogue's facts and are not copied from Azure: a text
says where a field goes in the ARM body, what a reference names, and whether the value
is secret or cannot change. One version of a kind, the one that `kubectl explain` shows,
is described completely. The other versions describe the kind and the fields whose names
do not explain themselves, so that a CRD with every version stays small.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from importlib.resources import files

from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.tables import NAME_FIELD, Field, Path, Table
from asoreconcile.base.jsontext import loads
from asoreconcile.base.objects import JsonObject

_TEXTS: Mapping[str, Mapping[str, str]] = loads(
    (files("asoreconcile.azure.catalogue") / "field_texts.json").read_bytes()
)
_REFERENCE = "https://learn.microsoft.com/azure/templates"
_KUBE_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
# Beyond it the status says less: a CRD that `kubectl apply` is to take ends at 256 KiB.
_MANY_REPORTED = 350
_ONCE = "It cannot change once the resource is in Azure."
_AZURE_NAME = f"The resource's name in Azure; by default metadata.name. {_ONCE}"
# Of these a name and a key are given, of the others a resource.
_READ = ("secret", "secret-map", "config-map")


def explained_version(served: Iterable[str]) -> str:
    """Return the served version that `kubectl explain` shows; "" if none is served."""
    return min(served, key=_kube_order, default="")


def described(version: KindVersion, schema: JsonObject, *, whole: bool) -> JsonObject:
    """Return the version's schema of a whole object with descriptions.

    whole: if true, describe every field; else only the kind, references, secrets, owner
    and name.

    Unchanged parts are shared with the argument.
    """
    parts: JsonObject = schema["properties"]
    if not version.is_arm:
        texts = _TEXTS["fieldsWithoutArm"]
        spec = _saying("Desired state.", _named(parts["spec"], texts))
        said = "Observed state. Only the operator writes it."
        status = _saying(said, _named(parts["status"], texts))
        changed = {**parts, "spec": spec, "status": status}
        about = _TEXTS["kinds"][str(version.group_kind)]
        return _saying(about, {**schema, "properties": changed})
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
        ("azureName", _AZURE_NAME, _TEXTS["parts"]),
        (
            "azureNameFromConfig",
            f"azureName, from a ConfigMap. {_ONCE}",
            _TEXTS["target"],
        ),
        ("owner", _owner(version), _TEXTS["parts"]),
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
    table, text = field.table, _TEXTS["converted"].get(field.conversion, "")
    if table is not None:
        schema = _innermost(schema, lambda s: _object(table, s, path, whole=whole))
    elif text and whole:
        parts = _TEXTS["target"] if field.conversion in _READ else _TEXTS["parts"]
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
        inner = _innermost(_named(child, named), lambda s: _named(s, _TEXTS["target"]))
        changed[name] = _saying(
            _TEXTS["operatorSpec"].get(name, f"The operator's {name}."), inner
        )
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
        own = _innermost(fields["conditions"], lambda s: _named(s, _TEXTS["condition"]))
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
