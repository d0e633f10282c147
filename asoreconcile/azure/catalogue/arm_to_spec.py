"""Map an ARM response to the spec of a custom resource: the inverse of `payload`.

Pure. The mapping table is walked together with the spec's schema: only fields that the
kind has are taken, in the schema's spelling. Fields that ARM never shows, such as
passwords, and values that the schema does not allow are reported and left out.
"""

from collections.abc import Callable, Iterator
from typing import Any, assert_never

import attrs

from asoreconcile.azure.arm import ids
from asoreconcile.azure.catalogue.field_types import is_int64
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.problems import schema_problems
from asoreconcile.azure.catalogue.read_facts import is_reported
from asoreconcile.azure.catalogue.tables import NAME_FIELD, Field, Path, Table
from asoreconcile.base.objects import JsonObject, copy_json

# Of the largest integer that the API server takes.
_DIGITS = 19

_NOT_TAKEN = object()
_UNTYPED = "x-kubernetes-preserve-unknown-fields"


@attrs.frozen
class LeftOut:
    """A field that the spec does not contain as Azure has it. path: `spec.sku.name`."""

    path: str
    why: str

    def __str__(self) -> str:
        return f"{self.path}: {self.why}"


@attrs.frozen
class MappedSpec:
    """The result of `to_spec`.

    spec: the spec, without an owner.
    left_out: fields that a person may want to know about or add.
    """

    spec: JsonObject
    left_out: tuple[LeftOut, ...]


def armid_reference(arm_id: str) -> JsonObject:
    """Return a reference by ARM id, for a resource that has no object in the
    cluster.
    """
    return {"armId": arm_id}


def to_spec(
    version: KindVersion,
    body: JsonObject,
    *,
    name: str,
    secret_name: str,
    reference: Callable[[str], JsonObject] = armid_reference,
) -> MappedSpec:
    """Return the spec that describes an existing resource.

    body: ARM's response to a GET; shares nothing with the result.
    name: the Azure name, for `spec.azureName`.
    secret_name: name of the Secret that the spec refers to if a field needs a secret.
    ARM does not show the value of that Secret.
    reference: a function that turns an ARM id into the reference to write.

    Raises nothing: values that cannot be mapped are listed in `left_out`.
    """
    walk = _Walk(version.arm_type, secret_name, reference)
    schema = version.spec_schema
    spec = walk.object(version.table, schema, body, "spec")
    # Kinds whose name is fixed have no field for it.
    if "azureName" in schema.get("properties", {}):
        spec = {"azureName": name, **spec}
    walk.report_missing(version.table, schema, spec)
    return MappedSpec(spec, tuple(walk.left_out))


@attrs.define
class _Walk:
    arm_type: str
    secret_name: str
    reference: Callable[[str], JsonObject]
    left_out: list[LeftOut] = attrs.field(factory=list)

    def object(
        self, table: Table, schema: JsonObject, body: JsonObject, at: str
    ) -> JsonObject:
        properties: JsonObject = schema.get("properties", {})
        if table.leaves:
            return self._union(table, properties, body, at)
        out: JsonObject = {}
        taken: set[Path] = set()
        for field in table.fields:
            if field.source not in properties or field.source == NAME_FIELD:
                continue
            # Another field has the same property as plain text.
            if field.conversion == "config-map" or field.path in taken:
                continue
            given = _found(body, field.path)
            if given is None or (field.path, given) in table.absent:
                continue
            if given == "" and "enum" in properties[field.source]:
                continue  # as some providers write what is not set
            inner = f"{at}.{field.source}"
            if is_reported(self.arm_type, inner, body):
                continue
            value = self._nested(
                field, field.nesting, properties[field.source], given, inner
            )
            if value is _NOT_TAKEN or (value in ("", [], {}) and given in ("", [], {})):
                continue
            # Nothing of it is left that an author would write.
            if value == {} and field.source not in schema.get("required", ()):
                continue
            out[field.source] = value
            taken.add(field.path)
        # Azure shows no secret, and without its reference the manifest would be
        # refused.
        for field in table.fields:
            name = field.source
            if not field.is_secret or name in out or name not in properties:
                continue
            if field.path in taken:
                continue
            if name in schema.get("required", ()) and field.conversion == "secret":
                out[name] = self._secret(field, f"{at}.{name}")
            else:
                self._leave(
                    f"{at}.{name}",
                    "Azure does not show whether it is set; name a Secret if the "
                    "operator is to write it",
                )
        return out

    def report_missing(
        self, table: Table, schema: JsonObject, spec: JsonObject
    ) -> None:
        known = {field.source for field in table.fields}
        for name in schema.get("required", ()):
            if name in known and name not in spec:
                self._leave(f"spec.{name}", "is required, and Azure does not show it")

    def _union(
        self, table: Table, properties: JsonObject, body: JsonObject, at: str
    ) -> JsonObject:
        for field in table.fields:
            if field.source in table.leaves and field.table is not None:
                schema = properties.get(field.source, {})
                if _is_leaf(field.table, schema, body):
                    inner = f"{at}.{field.source}"
                    return {field.source: self.object(field.table, schema, body, inner)}
        # A newer Azure may know a variant that this version does not.
        self._leave(at, f"is none of {', '.join(table.leaves)}")
        return {}

    def _nested(
        self, field: Field, nesting: str, schema: JsonObject, given: Any, at: str
    ) -> Any:
        if not nesting:
            return self._converted(field, schema, given, at)
        inner = nesting[2:]
        if nesting.startswith("[]"):
            if not isinstance(given, list):
                return self._leave(at, "is no list in Azure's answer")
            items = schema.get("items", {})
            found = (
                self._nested(field, inner, items, item, f"{at}[{index}]")
                for index, item in enumerate(given)
                if item is not None
            )
            return [item for item in found if item is not _NOT_TAKEN]
        if not isinstance(given, dict):
            return self._leave(at, "is no map in Azure's answer")
        values = schema.get("additionalProperties", {})
        mapped = {
            key: self._nested(field, inner, values, item, f"{at}.{key}")
            for key, item in given.items()
            if item is not None
        }
        return {key: item for key, item in mapped.items() if item is not _NOT_TAKEN}

    def _converted(self, field: Field, schema: JsonObject, given: Any, at: str) -> Any:
        match field.conversion:
            case "value":
                return self._checked(schema, given, at)
            case "json":
                return copy_json(given) if isinstance(given, dict | list) else given
            case "object":
                assert field.table is not None  # noqa: S101 -- compiled together
                if not isinstance(given, dict):
                    return self._leave(at, "is no object in Azure's answer")
                return self.object(field.table, schema, given, at)
            case "reference":
                return self._reference(given, at)
            case "well-known":
                if isinstance(given, str) and not given.startswith("/"):
                    return {"wellKnownName": given}
                return self._reference(given, at)
            case "identities":
                keys = given if isinstance(given, dict) else {}
                found = [self._reference(key, f"{at}.{key}") for key in keys]
                return [{"reference": r} for r in found if r is not _NOT_TAKEN]
            case "secret" | "secret-map":
                return self._secret(field, at)
            case "config-map":
                return _NOT_TAKEN
            case never:
                assert_never(never)

    def _reference(self, given: Any, at: str) -> Any:
        try:
            if isinstance(given, str):
                return self.reference(str(ids.parse_stated(given)))
        except ids.ArmIdError:
            pass
        return self._leave(at, "is no ARM id in Azure's answer")

    def _secret(self, field: Field, at: str) -> JsonObject:
        if field.conversion == "secret-map":
            self._leave(at, f"put its keys into Secret {self.secret_name}")
            return {"name": self.secret_name}
        self._leave(
            at, f"put its value into Secret {self.secret_name}, key {field.source}"
        )
        return {"name": self.secret_name, "key": field.source}

    def _checked(self, schema: JsonObject, given: Any, at: str) -> Any:
        """Return a value that the schema allows, in the schema's spelling."""
        value = _spelled(schema, given)
        for problem in schema_problems(schema, value, at):
            # Azure's own values are not secret here, but may be anything, so they are
            # not quoted.
            return self._leave(
                problem.path, "has a value that this version cannot hold"
            )
        return value

    def _leave(self, path: str, why: str) -> Any:
        self.left_out.append(LeftOut(path, why))
        return _NOT_TAKEN


def _spelled(schema: JsonObject, given: Any) -> Any:
    """Return the value with enums in the schema's letter case, and without nulls."""
    if isinstance(given, dict):
        if _UNTYPED in schema and "properties" not in schema:
            return copy_json(given)
        properties = schema.get("properties", {})
        values = schema.get("additionalProperties", {})
        return {
            key: _spelled(properties.get(key, values), item)
            for key, item in given.items()
            if item is not None and (key in properties or not properties)
        }
    if isinstance(given, list):
        items = schema.get("items", {})
        return [_spelled(items, item) for item in given if item is not None]
    if isinstance(given, str):
        for allowed in schema.get("enum", ()):
            if isinstance(allowed, str) and allowed.casefold() == given.casefold():
                return allowed
        # Providers answer some numbers as texts, and the other way round below.
        if given.isdecimal() and schema.get("type") == "integer":
            return int(given) if len(given) < _DIGITS else given
    if isinstance(given, bool):
        return given
    if isinstance(given, float) and is_int64(given):
        given = int(given)
    if isinstance(given, int) and schema.get("type") == "string":
        return str(given)
    return given


def _found(body: JsonObject, path: Path) -> Any:
    """Return the value at a path. Letter case is ignored: ARM does not keep to one."""
    value: Any = body
    for name in path:
        if not isinstance(value, dict):
            return None
        found = value.get(name)
        if found is None:
            folded = name.casefold()
            found = next((v for k, v in value.items() if k.casefold() == folded), None)
        value = found
    return value


def _is_leaf(table: Table, schema: JsonObject, body: JsonObject) -> bool:
    """Return whether the body has every value that only this leaf of the union
    allows.
    """
    only = list(_discriminators(table, schema))
    # A leaf without any value of its own would fit every body.
    return bool(only) and all(
        str(_found(body, path)).casefold() == value.casefold() for path, value in only
    )


def _discriminators(table: Table, schema: JsonObject) -> Iterator[tuple[Path, str]]:
    properties = schema.get("properties", {})
    for field in table.fields:
        allowed = properties.get(field.source, {}).get("enum", ())
        if len(allowed) == 1 and not field.nesting:
            yield field.path, str(allowed[0])
