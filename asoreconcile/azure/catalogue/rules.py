"""Express rules of `validation` as `x-kubernetes-validations` (CEL) for a CRD.

With them the API server refuses a bad object at once, instead of the reconciler
reporting it later. The rules are not stricter than the functions in `validation`: a
field with the value "" counts as not set. Values in lists and maps are checked only by
the functions: a rule there costs the API server time for each item, and the API server
would refuse a CRD with such rules for lists of unlimited length.
"""

import re
from collections.abc import Iterable, Sequence

from asoreconcile.azure.catalogue.kind_rules import schema_rules
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.names import is_named_as_its_object
from asoreconcile.azure.catalogue.tables import NAME_FIELD, Field, Table
from asoreconcile.base.objects import JsonObject

RULES = "x-kubernetes-validations"
_ID_PARTS = ("group", "kind", "name")
_NAME = "azureName"
_ONCE = "{} cannot change once the resource is in Azure"
# The operator hides the id then (`reconcile.writes.endings`), which lets a change pass.
_OWNER_CHANGE = (
    "; for another owner with the same Azure id, first annotate the object with "
    "asoreconcile/allow-owner-change: true"
)
# Before Azure has reported an id there is no resource, and anything may change.
_NEW = "!has(oldSelf.status) || !has(oldSelf.status.id)"
_ESCAPES = (("__", "__underscores__"), (".", "__dot__"), ("-", "__dash__"))
_WORDS = re.compile(
    "as|break|const|continue|else|false|for|function|if|import|in|let|loop|namespace"
    "|null|package|return|true"
)
_IDENTIFIER = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


def ruled_schema(version: KindVersion, *, is_admitted: bool = False) -> JsonObject:
    """Return the version's whole schema with all its rules; shared, must not be
    changed.

    is_admitted: whether a webhook checks changes of the owner: it allows those to an
    owner with the same Azure id, which a schema cannot know. Rules: R10.1, R10.2 (once
    Azure has reported the resource's id).
    """
    whole = version.schema
    parts = whole["properties"]
    spec = parts["spec"]
    if version.is_arm:
        spec = _object(version.table, spec)
        spec = _with_owner_rules(spec, version)
    spec = _with(spec, schema_rules(version.group_kind))
    ruled = {**whole, "properties": {**parts, "spec": spec}}
    return _with(ruled, _write_once(version, whole, is_admitted=is_admitted))


def _object(table: Table, schema: JsonObject) -> JsonObject:
    properties: JsonObject = schema.get("properties", {})
    changed: JsonObject = {}
    for field in table.fields:
        child = properties.get(field.source)
        if child is not None:
            ruled = _field(field, child)
            if ruled is not child:
                changed[field.source] = ruled
    if changed:
        schema = {**schema, "properties": {**properties, **changed}}
    return _with(schema, [*_union_rules(table, schema), *_pair_rules(table, schema)])


def _field(field: Field, schema: JsonObject) -> JsonObject:
    # A rule inside a list costs for each item, and no list here has a known end.
    if field.nesting:
        return schema
    if field.table is not None:
        return _object(field.table, schema)
    if field.conversion in ("reference", "well-known"):
        return _with(schema, _reference_rules(schema))
    return schema


def _union_rules(table: Table, schema: JsonObject) -> Iterable[JsonObject]:
    leaves = [name for name in table.leaves if name in schema.get("properties", {})]
    if leaves:
        count = " + ".join(f"(has({_self(name)}) ? 1 : 0)" for name in leaves)
        yield _rule(f"{count} == 1", f"set exactly one of {', '.join(leaves)}")


def _pair_rules(table: Table, schema: JsonObject) -> Iterable[JsonObject]:
    """Yield a rule for each pair of fields that write one property of the ARM body."""
    by_path: dict[tuple[str, ...], str] = {}
    for field in table.fields:
        usable = field.source in schema.get("properties", {}) and not field.fallback
        if not usable or field.source == NAME_FIELD:
            continue
        other = by_path.setdefault(field.path, field.source)
        if other != field.source:
            yield _rule(
                f"!(has({_self(other)}) && has({_self(field.source)}))",
                f"cannot specify both {other} and {field.source}: remove one",
            )


def _reference_rules(schema: JsonObject) -> Sequence[JsonObject]:
    properties = schema.get("properties", {})
    if not {"armId", *_ID_PARTS} <= properties.keys():
        return ()
    any_part = " || ".join(_given(part) for part in _ID_PARTS)
    all_parts = " && ".join(_given(part) for part in _ID_PARTS)
    either = f"{_given('armId')} ? !({any_part}) : ({all_parts})"
    message = "set either armId or group, kind and name"
    if "wellKnownName" in properties:
        nothing = f"!({_given('armId')} || {any_part})"
        either = f"{_given('wellKnownName')} ? {nothing} : ({either})"
        message = "set one of wellKnownName, armId, or group, kind and name"
    return (_rule(either, message),)


def _owner_rules(version: KindVersion) -> Sequence[JsonObject]:
    owner = version.spec_schema.get("properties", {}).get("owner", {})
    if version.any_owner:
        return _reference_rules(owner)
    if {"armId", "name"} <= owner.get("properties", {}).keys():
        either = f"{_given('armId')} != {_given('name')}"
        return (_rule(either, "set either armId or the owner's name"),)
    return ()


def _write_once(
    version: KindVersion, whole: JsonObject, *, is_admitted: bool
) -> Iterable[JsonObject]:
    spec, status = whole["properties"]["spec"], whole["properties"]["status"]
    if "id" not in status.get("properties", {}):
        return
    fields = spec.get("properties", {})
    if _NAME in fields:
        if is_named_as_its_object(version.group_kind):
            yield _name_rule()
        else:
            yield _once(_NAME, [_NAME])
    if is_admitted:
        return
    owner = fields.get("owner", {}).get("properties", {})
    # One rule for both: each is a program that an API server keeps.
    if parts := [f"owner.{part}" for part in ("name", "armId") if part in owner]:
        yield _once("owner", parts, but=_OWNER_CHANGE)


def _once(said: str, names: Sequence[str], but: str = "") -> JsonObject:
    """Return the rule that none of these fields of the spec changes from one value to
    another. but: the end of its message.
    """
    same = " && ".join(f"({_same(name)})" for name in names)
    return _rule(f"{_NEW} || {same}", _ONCE.format(f"spec.{said}") + but)


def _same(name: str) -> str:
    within = " && ".join(
        f"has({side}.spec{part})"
        for side in ("self", "oldSelf")
        for part in _steps(name)
    )
    return f"!({within}) || self.spec.{name} == oldSelf.spec.{name}"


def _name_rule() -> JsonObject:
    """Return the rule that the Azure name does not change.

    If no webhook fills in the name, the rule compares a name that is added or removed
    later with the object's own name, which is its default.
    """
    now, before = (
        f"(has({side}.spec) && has({side}.spec.azureName) ? {side}.spec.azureName"
        " : self.metadata.name)"
        for side in ("self", "oldSelf")
    )
    return _rule(f"{_NEW} || {now} == {before}", _ONCE.format("spec.azureName"))


def _steps(name: str) -> list[str]:
    """Return the prefixes of a path: `owner.name` -> [".owner", ".owner.name"]."""
    parts = name.split(".")
    return ["." + ".".join(parts[: n + 1]) for n in range(len(parts))]


def _with_owner_rules(spec: JsonObject, version: KindVersion) -> JsonObject:
    properties, rules = spec.get("properties", {}), _owner_rules(version)
    if "owner" not in properties or not rules:
        return spec
    ruled = {**properties, "owner": _with(properties["owner"], rules)}
    return {**spec, "properties": ruled}


def _with(schema: JsonObject, rules: Iterable[JsonObject]) -> JsonObject:
    added = [*rules]
    return {**schema, RULES: added} if added else schema


def _rule(expression: str, message: str) -> JsonObject:
    return {"rule": expression, "message": message}


def _given(name: str) -> str:
    field = _self(name)
    return f"(has({field}) && {field} != '')"


def _self(name: str) -> str:
    for text, escaped in _ESCAPES:
        name = name.replace(text, escaped)
    # Kubernetes' own spelling of field names that CEL keeps for itself.
    if _WORDS.fullmatch(name):
        name = f"__{name}__"
    if not _IDENTIFIER.fullmatch(name):
        raise ValueError(f"no CEL identifier can stand for the field {name!r}")
    return f"self.{name}"
