"""Extract what the ARM simulator checks from Azure's published types.

`hack/kinds` calls this module with the archive of the types
(`<service>/<provider>/<api-version>/types.json`), the extracted catalogue, which says
what types and fields there are, and recorded traffic. A rule that a recorded success
breaks is not written for its type.
"""

import json
import re
import tarfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import attrs
from shape_writer import ShapeWriter

from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.arm import ArmServer
from asoreconcile.testing.arm.address import parse
from asoreconcile.testing.arm.type_facts import BrokenRule

# The paths that Azure does not let change, by type in lower case.
_IMMUTABLE = Path(__file__).with_name("immutable.json")
_REQUIRED, _READ_ONLY = 1, 2
_ENVELOPE = ("id", "name", "type", "apiVersion")
_REFERENCES = ("ref", "wkref", "uai")
_NO_SUBSCRIPTION = "00000000-0000-0000-0000-000000000000"
_ID = re.compile(r"(resource|arm)?ids?$", re.IGNORECASE)
# Ends of names that fit resources of several types.
_VAGUE = """
    account backup certificate cluster configuration connection container database
    domain endpoint group image ns origin origingroup policy privatelinkservice
    profile queue resource rule ruleset secret server service site source target
    topic virtualnetworkrule
"""
# Types that no kind has, with the api-version whose body is checked.
_WITHOUT_KIND = {"microsoft.authorization/locks": "2020-05-01"}
_IDENTITY = "microsoft.managedidentity/userassignedidentities"


@attrs.frozen
class _Wanted:
    """The types of the catalogue.

    versions: api-versions by type in lower case.
    fields: paths that the specs of kinds write, in lower case, with the conversion,
    for each type and version.
    """

    versions: dict[str, set[str]] = attrs.field(factory=lambda: defaultdict(set))
    fields: dict[tuple[str, str], dict[str, str]] = attrs.field(factory=dict)

    @property
    def written(self) -> set[tuple[str, str]]:
        """Return the types and paths that specs of any version write."""
        return {(of, path) for (of, _), paths in self.fields.items() for path in paths}

    def types_named(self, path: str) -> list[str]:
        """Return the types that a reference at a path can be meant for, by its name."""
        parts = path.split(".")
        noun = _ID.sub("", parts[-1]) or parts[-2]
        found: dict[int, list[str]] = defaultdict(list)
        for type_ in sorted(self.versions):
            name = _singular(type_.rpartition("/")[2])
            if name in _VAGUE.split() or len(name) < 4:
                continue
            if _singular(noun).endswith(name):
                found[len(name)].append(type_)
        return found[max(found)] if found else []


def write_types(data: Path, target: Path, *, newer: Path) -> int:
    """Write one file for each provider; return their size in bytes. newer: a folder
    with further kinds.
    """
    # The simulator does not take the operator's word: it has a table of its own.
    immutable = json.loads(_IMMUTABLE.read_bytes())
    wanted = _wanted([*(data / "catalogue").glob("*.json"), *newer.glob("*.json")])
    providers: dict[str, dict[str, JsonObject]] = defaultdict(dict)
    schemas: dict[tuple[str, str], JsonObject] = {}
    for type_, version, body, types in _published(data, wanted):
        entry = providers[type_.partition("/")[0]].setdefault(
            type_, {"versions": set(wanted.versions[type_]), "bodies": {}}
        )
        if type_ in immutable:
            entry["immutable"] = immutable[type_]
        entry["versions"].add(version)
        members = body.get("properties") or body["baseProperties"]
        if version == max(wanted.versions[type_]) or "name" not in entry:
            entry["name"] = _schema(types, members["name"]["type"])
        if version in wanted.versions[type_]:
            names = {
                path: {"format": kind, "of": wanted.types_named(path)}
                for path, kind in wanted.fields[type_, version].items()
                if kind in _REFERENCES
            }
            written = frozenset(p for of, p in wanted.written if of == type_)
            schemas[type_, version] = _Body(types, names, written).of(body)
    for space, entries in providers.items():
        _write(target, space, entries, schemas)
    for space, drops in _broken(data).items():
        for type_, rules in drops.items():
            providers[space][type_]["dropped"] = sorted(rules)
        _write(target, space, providers[space], schemas)
    return sum(path.stat().st_size for path in target.glob("*.json"))


def _write(
    target: Path,
    space: str,
    entries: dict[str, JsonObject],
    schemas: dict[tuple[str, str], JsonObject],
) -> None:
    writer = ShapeWriter()
    own = {key: s for key, s in sorted(schemas.items()) if key[0] in entries}
    for schema in own.values():
        writer.count(schema)
    for (type_, version), schema in own.items():
        entries[type_]["bodies"][version] = writer.pack(schema, named=True)
    lines = ["{", '"types": {', *_members(entries), "},"]
    lines += ['"shapes": {', *_members(writer.named), "}}"]
    target.mkdir(exist_ok=True)
    (target / f"{space}.json").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _members(mapping: dict[str, Any]) -> list[str]:
    def line(name: str) -> str:
        value = json.dumps(
            mapping[name], default=sorted, sort_keys=True, separators=(",", ":")
        )
        return f"{json.dumps(name)}: {value}"

    lines = [line(name) for name in sorted(mapping)]
    return [one + "," for one in lines[:-1]] + lines[-1:]


def _wanted(catalogue: Iterable[Path]) -> _Wanted:
    wanted = _Wanted()
    for type_, version in _WITHOUT_KIND.items():
        wanted.versions[type_].add(version)
        wanted.fields[type_, version] = {}
    for path in sorted(catalogue):
        raw = json.loads(path.read_bytes())
        for kind in raw["kinds"].values():
            for entry in kind["versions"].values():
                if not entry.get("armType"):
                    continue
                key = entry["armType"].lower(), entry["apiVersion"]
                wanted.versions[key[0]].add(key[1])
                fields = wanted.fields.setdefault(key, {})
                for at, conversion in _fields(raw["types"], entry["spec"], "", ()):
                    if fields.get(at) not in _REFERENCES:
                        fields[at] = conversion
    return wanted


def _fields(
    tables: JsonObject, name: str, at: str, within: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    if name in within:
        return
    for field in tables[name]["f"]:
        # A text is a member that is written under its own name as it is.
        _, target, conversion = ("", field, "") if isinstance(field, str) else field[:3]
        target, conversion = target.replace("/", "."), conversion.lstrip("[]{}")
        path = at if tables[name].get("oneOf") else f"{at}.{target}".strip(".")
        yield path.lower(), conversion
        if conversion.startswith("@"):
            yield from _fields(tables, conversion[1:], path, (*within, name))


def _published(
    data: Path, wanted: _Wanted
) -> Iterator[tuple[str, str, JsonObject, list[JsonObject]]]:
    spaces = {type_.partition("/")[0] for type_ in wanted.versions}
    with tarfile.open(data / "bicep-types-az.tar.xz") as tar:
        for member in tar:
            *_, space, version, name = ("", "", *member.name.split("/"))
            if name != "types.json" or space not in spaces:
                continue
            file = tar.extractfile(member)
            types = json.load(file) if file else []
            for one in types:
                if one["$type"] == "ResourceType":
                    type_ = one["name"].lower().partition("@")[0]
                    if type_ in wanted.versions:
                        yield type_, version, types[_index(one["body"])], types


@attrs.frozen
class _Body:
    types: list[JsonObject]
    references: dict[str, JsonObject]
    written: frozenset[str]

    def of(self, body: JsonObject) -> JsonObject:
        schema = self._converted(body, "", frozenset())
        for name in _ENVELOPE:
            schema["properties"].pop(name, None)
        required = [n for n in schema.get("required", ()) if n not in _ENVELOPE]
        return {**schema, "required": required}

    def _inner(self, ref: JsonObject, at: str, within: frozenset[int]) -> JsonObject:
        index = _index(ref)
        if index in within:
            return {}
        return self._converted(self.types[index], at, within | {index})

    def _converted(
        self, one: JsonObject, at: str, within: frozenset[int]
    ) -> JsonObject:
        reference = self.references.get(at.lower())
        if reference and reference["format"] == "uai":
            return {"type": "object", "keys": [_IDENTITY]}
        match one["$type"]:
            case "ObjectType":
                schema = self._object(one["properties"], at, within)
                known = {name.lower() for name in schema["properties"]}
                if other := one.get("additionalProperties"):
                    schema["additionalProperties"] = self._inner(other, at, within)
                    for name in sorted(self._written_in(at) - known):
                        schema["properties"][name] = {}
                return schema
            case "DiscriminatedObjectType":
                schema = self._object(one["baseProperties"], at, within)
                variants = [
                    self._inner(v, at, within) for v in one["elements"].values()
                ]
                for variant in variants:
                    for name, inner in variant.get("properties", {}).items():
                        known = schema["properties"].setdefault(name, inner)
                        if known != inner:
                            schema["properties"][name] = {}
                choices = {"type": "string", "enum": sorted(one["elements"])}
                schema["properties"][one["discriminator"]] = choices
                return schema
            case "ArrayType":
                items = self._inner(one["itemType"], at, within)
                return {"type": "array", "items": items}
        schema = _scalar(self.types, one)
        return {**schema, **reference} if reference else schema

    def _written_in(self, at: str) -> set[str]:
        """Return the members that a kind's spec writes at a path, in lower case."""
        above = f"{at.lower()}." if at else ""
        inner = {p.removeprefix(above) for p in self.written if p.startswith(above)}
        return {name for name in inner if "." not in name}

    def _object(
        self, properties: JsonObject, at: str, within: frozenset[int]
    ) -> JsonObject:
        schema: JsonObject = {"type": "object", "properties": {}, "required": []}
        for name, member in properties.items():
            # A member that a spec has can be written.
            path = f"{at}.{name}".strip(".")
            if member["flags"] & _READ_ONLY and path.lower() not in self.written:
                schema["properties"][name] = {"readOnly": True}
                continue
            inner = self._inner(member["type"], path, within)
            schema["properties"][name] = inner
            if member["flags"] & _REQUIRED:
                schema["required"].append(name)
        return {k: v for k, v in schema.items() if v or k == "properties"}


def _schema(types: list[JsonObject], ref: JsonObject) -> JsonObject:
    return _scalar(types, types[_index(ref)])


def _scalar(types: list[JsonObject], one: JsonObject) -> JsonObject:
    match one["$type"]:
        case "StringType":
            keys = ("minLength", "maxLength", "pattern")
            return {"type": "string", **{k: one[k] for k in keys if one.get(k)}}
        case "StringLiteralType":
            return {"type": "string", "enum": [one["value"]]}
        case "UnionType":
            inner = [_schema(types, ref) for ref in one["elements"]]
            if all("enum" in each for each in inner):
                return {"type": "string", "enum": [e for i in inner for e in i["enum"]]}
            return {"type": "string"} if _all_strings(inner) else {}
        case "IntegerType":
            limits = {"minimum": one.get("minValue"), "maximum": one.get("maxValue")}
            return {
                "type": "number",
                **{k: v for k, v in limits.items() if v is not None},
            }
        case "BooleanType":
            return {"type": "boolean"}
    return {}


def _all_strings(schemas: Iterable[JsonObject]) -> bool:
    return all(schema.get("type") == "string" for schema in schemas)


def _singular(name: str) -> str:
    name = name.lower()
    for ending, instead in (("ies", "y"), ("sses", "ss"), ("s", "")):
        if name.endswith(ending) and not name.endswith("ss"):
            return name.removesuffix(ending) + instead
    return name


def _index(ref: JsonObject) -> int:
    return int(ref["$ref"].rpartition("/")[2])


def _broken(data: Path) -> dict[str, dict[str, set[str]]]:
    """Return the rules that recorded successes break, by provider and type."""
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for put in recorded_puts(data):
        address = parse(put.id)
        if address is None or put.status >= 300:
            continue
        for broken in put.violations():
            found[address.namespace][address.type].add(broken.key)
    return found


@attrs.frozen
class RecordedPut:
    """A recorded PUT.

    azure: simulator that holds what was put before.
    cassette, index: place of the recording.
    """

    azure: ArmServer
    id: str
    body: JsonObject
    api_version: str
    status: int
    answer: Any
    cassette: str
    index: int

    def violations(self) -> list[BrokenRule]:
        """Return the rules of the types that the PUT breaks."""
        return self.azure.violations(self.id, self.body, self.api_version)


def recorded_puts(data: Path) -> Iterator[RecordedPut]:
    """Yield each PUT of a resource that was recorded."""
    azure = ArmServer(subscription_id=_NO_SUBSCRIPTION)
    with tarfile.open(data / "recordings-dev.tar.xz") as tar:
        for member in tar:
            file = tar.extractfile(member)
            if file is None:
                continue
            azure.remove(f"/subscriptions/{_NO_SUBSCRIPTION}")
            cassette = json.load(file)
            for index, exchange in enumerate(cassette["exchanges"]):
                url, _, query = exchange["url"].partition("?")
                id_ = "/" + url.split("/", 3)[3]
                body, status = exchange["request_body"], exchange["status"]
                is_put = exchange["method"] == "PUT" and isinstance(body, dict)
                if not is_put or not parse(id_):
                    continue
                version = re.sub(".*api-version=", "", query).partition("&")[0]
                yield RecordedPut(
                    *(azure, id_, body, version, status, exchange["body"]),
                    *(cassette["name"], index),
                )
                if status < 300:
                    azure.seed(id_, body)
    azure.close()
