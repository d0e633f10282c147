"""Convert the extracted catalogue (`asoreconcile.catalogue/v1`) to the project's own
form.

The extracted files hold one JSON object per API group: schemas with `{"$def": name}`
references, mapping tables, and kinds with their versions. `hack/kinds` calls `convert`.
"""

import hashlib
from collections.abc import Mapping
from functools import reduce
from pathlib import Path
from typing import Any

import attrs
import orjson
from shape_writer import ShapeWriter

from asoreconcile.azure.catalogue.files import (
    GROUP_FORMAT,
    INDEX_FORMAT,
    SCHEMAS_FORMAT,
    CatalogueFileError,
    KindFolder,
    file_stem,
)
from asoreconcile.azure.catalogue.tables import NAME_FIELD
from asoreconcile.base.objects import JsonObject
from asoreconcile.base.version import __version__, release_order

SOURCE_FORMAT = "asoreconcile.catalogue/v1"
# The owners of the kinds without ARM, which the source does not have.
_OWNERS = {
    ("dbformysql.azure.com", "User"): "dbformysql.azure.com/FlexibleServer",
    ("dbforpostgresql.azure.com", "User"): "dbforpostgresql.azure.com/FlexibleServer",
    ("sql.azure.com", "User"): "sql.azure.com/ServersDatabase",
}
_NO_INPUTS = ("owner", "operatorSpec")
_DIRECTORY_OBJECTS = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "objectID": {"type": "string"},
            "objectIDFromConfig": {
                "type": "object",
                "properties": {"key": {"type": "string"}, "name": {"type": "string"}},
                "required": ["key", "name"],
            },
        },
    },
}
# Fields that newer releases of ASO than the source have in a spec; the source wins.
_FURTHER_FIELDS: Mapping[tuple[str, str], JsonObject] = {
    ("entra.azure.com", "SecurityGroup"): {
        "members": _DIRECTORY_OBJECTS,
        "owners": _DIRECTORY_OBJECTS,
    },
    ("databasewatcher.azure.com", "Watcher"): {
        "operatorSpec.autoStart": {"type": "boolean"},
    },
}
# The table of an input from a ConfigMap.
_CONFIG_MAPS = {"fields": [["objectIDFromConfig", "objectIDFromConfig", "cm"]]}


@attrs.frozen
class Made:
    """Numbers of converted groups, kinds and versions."""

    groups: int
    kinds: int
    versions: int


def convert(source: Path, target: Path, *, newer: Path) -> Made:
    """Convert every group of the source folder and write the index.

    newer: a folder with kinds of newer releases of ASO than the source's, in the same
    form; the source wins.

    Files of groups that no longer exist stay: the folder is under version control.
    Raises CatalogueFileError.
    """
    before = KindFolder(target).index() if (target / "index.json").exists() else {}
    index: dict[str, dict[str, JsonObject]] = {}
    for path in sorted(source.glob("*.json")):
        raw = orjson.loads(path.read_bytes())
        if raw.get("format") != SOURCE_FORMAT:
            raise CatalogueFileError(f"{path} is not in the form {SOURCE_FORMAT}")
        if (newer / path.name).exists():
            further = orjson.loads((newer / path.name).read_bytes())
            raw |= {m: {**further[m], **raw[m]} for m in ("defs", "kinds", "types")}
        known = before.get(raw["group"], {})
        index[raw["group"]] = {
            name: stored_later(entry, known.get(name), release=__version__)
            for name, entry in _group(raw, target).items()
        }
    _write_index(target, index)
    kinds = [kind for group in index.values() for kind in group.values()]
    return Made(len(index), len(kinds), sum(len(k["versions"]) for k in kinds))


def expanded(schema: JsonObject, defs: Mapping[str, JsonObject]) -> JsonObject:
    """Return a schema of the source with its `$def` references replaced."""
    if "$def" in schema:
        return expanded(defs[schema["$def"]], defs)
    result = dict(schema)
    for keyword in ("items", "additionalProperties"):
        if isinstance(result.get(keyword), dict):
            result[keyword] = expanded(result[keyword], defs)
    if "properties" in result:
        result["properties"] = {
            name: expanded(child, defs) for name, child in schema["properties"].items()
        }
    return result


def _group(raw: JsonObject, target: Path) -> dict[str, JsonObject]:
    schemas = {
        (kind, version): expanded(entry["schema"], raw["defs"])["properties"]
        for kind, versions in raw["kinds"].items()
        for version, entry in versions["versions"].items()
        if "schema" in entry
    }
    for (kind, _), parts in schemas.items():
        further = _FURTHER_FIELDS.get((raw["group"], kind), {})
        for path, schema in further.items():
            *outer, name = path.split(".")
            inside = reduce(lambda at, o: at["properties"][o], outer, parts["spec"])
            properties = {name: schema, **inside["properties"]}
            inside["properties"] = dict(sorted(properties.items()))
    for (kind, version), parts in schemas.items():
        entry = raw["kinds"][kind]["versions"][version]
        if "spec" in entry:
            table = raw["types"][entry["spec"]]
            _mark_unions(parts["status"], table, raw["types"])
    tables = {name: _table(table) for name, table in raw["types"].items()}
    without_arm: dict[tuple[str, str], JsonObject] = {}
    for (kind, version), parts in schemas.items():
        if "spec" not in raw["kinds"][kind]["versions"][version]:
            head = {"table": _input_table(parts["spec"], tables)}
            if owner := _OWNERS.get((raw["group"], kind)):
                head["owner"] = owner
            without_arm[kind, version] = head
    spec, status = ShapeWriter(), ShapeWriter()
    for parts in schemas.values():
        spec.count(parts["spec"])
        status.count(parts["status"])
    kinds: dict[str, JsonObject] = {}
    for name, kind in raw["kinds"].items():
        versions = {
            version: entry
            if "sameAs" in entry
            else _head(entry)
            | without_arm.get((name, version), {})
            | {
                "spec": spec.pack(schemas[name, version]["spec"], named=True),
                "status": status.pack(schemas[name, version]["status"], named=True),
            }
            for version, entry in kind["versions"].items()
        }
        kinds[name] = {"versions": versions}
    _write_group(
        target,
        raw["group"],
        kinds=kinds,
        tables=tables,
        status=status.named,
        spec=spec.named,
    )
    return {name: _index_entry(raw["group"], k) for name, k in raw["kinds"].items()}


def _index_entry(group: str, kind: JsonObject) -> JsonObject:
    entry = {
        "plural": kind["plural"],
        "scope": next(
            (v["scope"] for v in kind["versions"].values() if "scope" in v), ""
        ),
        # The extraction names the stored form: the suffix is not shown to users.
        "storage": kind["storage"].removesuffix("storage"),
        "versions": sorted(kind["versions"]),
    }
    if kind["categories"] != ["azure", group.partition(".")[0]]:
        entry["categories"] = kind["categories"]
    return entry


def stored_later(
    entry: JsonObject, before: JsonObject | None, *, release: str
) -> JsonObject:
    """Return the index entry of a kind, which stores no version that a release adds.

    before: the entry as it was. `storageLater` names the version to store, and the
    release `after` which it is stored.
    """
    wanted = entry["storage"]
    if before is None or wanted == before["storage"]:
        return entry
    later = {"storage": wanted, "after": release}
    if wanted in before["versions"]:
        later = before.get("storageLater", later)
        if release_order(release) > release_order(later["after"]):
            return entry
    return {**entry, "storage": before["storage"], "storageLater": later}


def _head(entry: JsonObject) -> JsonObject:
    owner = entry.get("owner")
    head = {
        "armType": entry.get("armType"),
        "apiVersion": entry.get("apiVersion"),
        "scope": entry.get("scope"),
        "owner": owner and ("/".join(owner) if len(owner) == 2 else "*"),
        "operations": entry.get("ops"),
        "fixedName": entry.get("fixedName"),
        "table": entry.get("spec"),
        "exports": _exports(entry.get("export", {})),
    }
    return {key: value for key, value in head.items() if value}


def _exports(export: JsonObject) -> JsonObject:
    paths = export.get("configMapPaths", {})
    exports = {
        "secrets": export.get("secrets"),
        "configMaps": {key: paths.get(key) for key in export.get("configMaps", ())},
    }
    return {key: value for key, value in exports.items() if value}


def _table(table: JsonObject) -> JsonObject:
    fields = [_field(entry) for entry in table["f"]]
    fields.sort(key=lambda field: field[0] != NAME_FIELD)  # bodies start with the name
    made = {
        # The extraction names a field once for every place that reads it.
        "fields": [f for i, f in enumerate(fields) if f not in fields[:i]],
        "absent": table.get("a"),
        "leaves": table.get("oneOf"),
        "leafNamed": bool(table.get("demote")),
        "owned": [p for p in table.get("armonly", ()) if p != "name"],
    }
    return {key: value for key, value in made.items() if value}


def _input_table(schema: JsonObject, tables: JsonObject) -> str:
    """Add a table of the Secrets and ConfigMaps that a spec without ARM names; return
    its name.

    Such a spec has no ARM body to map to. The table and the tables below it are added
    to `tables`.
    """
    fields = []
    for name, child in sorted(schema.get("properties", {}).items()):
        if child == _DIRECTORY_OBJECTS:
            fields.append([name, name, "[]@" + _add_table(_CONFIG_MAPS, tables)])
        if name in _NO_INPUTS or child.get("type") != "object":
            continue
        if set(child.get("properties", {})) == {"key", "name"}:
            fields.append([name, name, "secret"])
        elif "properties" in child and _has_secrets(child):
            fields.append([name, name, "@" + _input_table(child, tables)])
    return _add_table({"fields": fields}, tables)


def _add_table(table: JsonObject, tables: JsonObject) -> str:
    """Add a generated table and return its name."""
    name = "t" + hashlib.sha256(repr(table["fields"]).encode()).hexdigest()[:10]
    tables[name] = table
    return name


def _has_secrets(schema: JsonObject) -> bool:
    children = schema.get("properties", {})
    return set(children) == {"key", "name"} or any(map(_has_secrets, children.values()))


def _field(entry: Any) -> Any:
    if isinstance(entry, str):
        return entry
    source, target, conversion, *flags = entry
    return [source, target, conversion, *(flag for flag in flags if flag)]


def _mark_unions(status: JsonObject, table: JsonObject, tables: JsonObject) -> None:
    """Name the discriminator on every status object whose spec side is a union.

    Both sides are walked together by field name. A leaf may be named after its
    discriminator value in the status and after its type in the spec, so the value
    decides.
    """
    while "items" in status or "additionalProperties" in status:
        status = status.get("items") or status["additionalProperties"]
    properties = status.get("properties", {})
    if "disc" in table:
        discriminator, values = table["disc"]
        by_fold = {name.casefold(): name for name in properties}
        # By value and not by name: leaves are called otherwise in some statuses.
        status["union"] = [
            discriminator,
            {
                value: leaf if leaf in properties else by_fold[value.casefold()]
                for leaf, value in values.items()
            },
        ]
    for entry in table["f"]:
        if not isinstance(entry, str) and "@" in entry[2] and entry[0] in properties:
            nested = tables[entry[2].partition("@")[2]]
            _mark_unions(properties[entry[0]], nested, tables)


def _write_index(folder: Path, groups: Mapping[str, Mapping[str, JsonObject]]) -> None:
    """Write `index.json`: one line for each kind, sorted; equal content gives equal
    bytes.
    """
    lines = ["{", f'"format": {_json(INDEX_FORMAT)},', '"groups": {']
    lines += _joined(
        [
            f"{_json(group)}: {{\n" + "\n".join(_members(kinds)) + "}"
            for group, kinds in sorted(groups.items())
        ]
    )
    _write(folder / "index.json", [*lines, "}}"])


def _write_group(
    folder: Path,
    group: str,
    *,
    kinds: Mapping[str, JsonObject],
    tables: Mapping[str, Any],
    status: Mapping[str, Any],
    spec: Mapping[str, Any],
) -> None:
    """Write both files of a group; equal content gives equal bytes."""
    lines = ["{", f'"format": {_json(GROUP_FORMAT)},', f'"group": {_json(group)},']
    lines.append('"kinds": {')
    lines += _joined([_kind(name, kind) for name, kind in sorted(kinds.items())])
    lines += ["},", '"tables": {', *_members(tables)]
    lines += ["},", '"status": {', *_members(status), "}}"]
    _write(folder / f"{file_stem(group)}.json", lines)
    lines = ["{", f'"format": {_json(SCHEMAS_FORMAT)},', f'"group": {_json(group)},']
    lines += ['"spec": {', *_members(spec), "}}"]
    _write(folder / "schemas" / f"{file_stem(group)}.json", lines)


def _kind(name: str, kind: JsonObject) -> str:
    versions = "\n".join(_members(kind["versions"]))
    return f'{_json(name)}: {{"versions": {{\n{versions}}}}}'


def _members(mapping: Mapping[str, Any]) -> list[str]:
    return _joined([f"{_json(k)}: {_json(v)}" for k, v in sorted(mapping.items())])


def _joined(items: list[str]) -> list[str]:
    return [item + "," for item in items[:-1]] + items[-1:]


def _write(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()
