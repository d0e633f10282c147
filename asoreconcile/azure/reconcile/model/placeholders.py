"""Fills the required fields of a spec whose object only reads its resource.

A CRD requires these fields even if an annotation says that the object only reads, but
the API server checks them only after the mutating webhook, which fills them in. The
placeholders are never sent: the annotation `asoreconcile/placeholders` names their
paths, and as long as it names one, no PUT is sent.
Rule: OW-3. Pure.
"""

import re
from collections.abc import Iterator
from typing import Any

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError, unusable
from asoreconcile.azure.arm.text_bounds import RECORD
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.tables import Table
from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.annotation_row import (
    Annotation,
    Whose,
    any_text,
)
from asoreconcile.azure.reconcile.model.annotations import PLACEHOLDERS
from asoreconcile.azure.reconcile.model.existence import will_observe
from asoreconcile.azure.reconcile.model.merged_body import with_value
from asoreconcile.base import objects
from asoreconcile.base.objects import GroupKind, JsonObject, dig, metadata, spec

_TEXT, _ADDRESS = "placeholder", "0.0.0.0"
_NOWHERE = (
    "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/placeholder"
)

PLACEHOLDERS_ROW: Annotation[str] = Annotation(
    PLACEHOLDERS,
    says="the required fields that the webhook has filled in, because the object only "
    "observes; nothing is sent to Azure while one is named. Remove the annotation if "
    "the values are right as they are",
    values="paths, written by the webhook",
    section="#a-resource-that-is-there-before-the-object",
    effect="nothing is written in Azure",
    parse=any_text,
    whose=Whose.OBJECT,
    holds_writes=True,
    bound=RECORD,
    is_arm_only=True,
)

# The fields that say which resource is read: their author writes them.
_OWNER = ("owner",)
_IDENTITY = {
    GroupKind("communication.azure.com", "Domain"): (*_OWNER, "domainManagement"),
    GroupKind("communication.azure.com", "SenderUsername"): (*_OWNER, "username"),
}


def with_placeholders(
    version: KindVersion, obj: JsonObject, old: JsonObject | None = None
) -> JsonObject:
    """Return an object with values for the required fields that it leaves out, if its
    own annotation says that it only reads its resource; the same object if nothing
    changes.

    old: the object before a write. If the write changes the value of a placeholder, the
    annotation no longer names it.
    """
    own = annotations(obj)
    named = own.get(PLACEHOLDERS, "")
    is_observing = will_observe(own, {})
    if not version.is_arm or not (is_observing or named):
        return obj
    content = spec(obj)
    before = content if old is None else spec(old)
    left = [
        path
        for path in filter(None, named.split(","))
        if dig(content, path) == dig(before, path)
    ]
    whole = _Part(version.spec_schema, version.table)
    missing = [
        (path, value)
        for path, value in (whole.missing(content) if is_observing else ())
        if path not in _IDENTITY.get(version.group_kind, _OWNER)
    ]
    for path, value in missing:
        content = with_value(content, path.split("."), value)
        left.append(path)
    names = ",".join(dict.fromkeys(left))
    if names == named and not missing:
        return obj
    # As they were written: a text that is too long to be read is kept.
    stored = objects.annotations(obj)
    kept = {name: value for name, value in stored.items() if name != PLACEHOLDERS}
    kept |= {PLACEHOLDERS: names} if names else {}
    meta = {**metadata(obj), "annotations": kept}
    return {**obj, "metadata": meta, "spec": content}


def placeholders_left(names: str) -> ConditionError:
    """Return the condition of an object whose annotation still names placeholders."""
    named = ", ".join(f"spec.{path}" for path in names.split(","))
    return unusable(
        f"nothing is sent: {named} have placeholders from the time when this object "
        "only observed. Set them; if a placeholder is right as it is, remove the "
        f"annotation {PLACEHOLDERS}"
    )


@attrs.frozen
class _Part:
    """The schema of a part of a spec, and the mapping table that describes its
    unions.
    """

    schema: JsonObject
    table: Table | None

    def at(self, name: str) -> "_Part":
        fields = () if self.table is None else self.table.fields
        tables = [f.table for f in fields if f.source == name and not f.nesting]
        inner = self.schema.get("properties", {}).get(name, {})
        return _Part(inner, tables[0] if tables else None)

    def required(self, value: JsonObject) -> list[str]:
        """Return the names of the required fields that a value lacks."""
        names = [*self.schema.get("required", ())]
        leaves = () if self.table is None else self.table.leaves
        if leaves and all(value.get(leaf) is None for leaf in leaves):
            names.append(leaves[0])
        return [name for name in names if value.get(name) is None]

    def least(self) -> Any:
        """Return the smallest value that the schema permits; always the same one."""
        schema = self.schema
        if schema.get("enum"):
            return schema["enum"][0]
        match schema.get("type"):
            case "string":
                length = schema.get("maxLength", len(_TEXT))
                text = _TEXT[:length].ljust(schema.get("minLength", 0), "0")
                is_fitting = re.search(schema.get("pattern", ""), text)
                return text if is_fitting else _ADDRESS
            case "integer" | "number":
                return schema.get("minimum", 0)
            case "boolean":
                return False
            case "array":
                item = _Part(schema.get("items", {}), None).least()
                return [item] * schema.get("minItems", 0)
        if "armId" in schema.get("properties", {}):
            return {"armId": _NOWHERE}
        return {name: self.at(name).least() for name in self.required({})}

    def missing(self, value: JsonObject, above: str = "") -> Iterator[tuple[str, Any]]:
        """Yield path and smallest value of each required field that is absent."""
        for name in self.required(value):
            yield f"{above}{name}", self.at(name).least()
        for name, inner in value.items():
            if isinstance(inner, dict) and f"{above}{name}" not in _OWNER:
                yield from self.at(name).missing(inner, f"{above}{name}.")
