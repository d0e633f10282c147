"""A CustomResourceDefinition from the classes of a kind, one for each version. Pure."""

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from importlib.util import find_spec
from typing import Any

from asoreconcile.base.objects import GroupKind, JsonObject
from asoreconcile.resources.annotations import PrinterColumn
from asoreconcile.resources.class_fields import ResourceError
from asoreconcile.resources.crds.cause import Cause
from asoreconcile.resources.crds.definition import definition_causes
from asoreconcile.resources.schema import leaf, object_schema
from asoreconcile.resources.stored_data import lost_fields
from asoreconcile.resources.typed_kind import TypedKind, kind_of

_COLUMN_TYPES = ("integer", "number", "string", "boolean")
# `v1` is newer than `v1beta2`, which is newer than `v1alpha1`.
_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")


def crd_of(*classes: type, conversion: JsonObject | None = None) -> JsonObject:
    """Return the CRD of a kind.

    classes: its versions, in any order. conversion: the `clientConfig` of the
    conversion webhook; versions with different schemas need one.

    Raises ResourceError for a class without a structural schema (names the field and
    the rule), for versions with different names, and for versions that would lose data
    without a conversion.
    """
    kinds: list[TypedKind[Any]] = [kind_of(cls) for cls in classes]
    if not kinds:
        raise ResourceError("a CRD is of one class at least")
    first = kinds[0].resource
    if not first.group or "." not in first.group:
        raise ResourceError(
            f"{first.api_version}: a CRD's group has a dot, such as example.com"
        )
    _require_agreement(kinds)
    storage = _storage(kinds)
    versions = [_version(kind, storage=kind is storage) for kind in _newest(kinds)]
    options = storage.options
    names: JsonObject = {
        "kind": first.kind,
        "listKind": f"{first.kind}List",
        "plural": first.plural,
        "singular": options.singular or first.kind.lower(),
    }
    if options.short_names:
        names["shortNames"] = list(options.short_names)
    if options.categories:
        names["categories"] = list(options.categories)
    spec: JsonObject = {
        "group": first.group,
        "names": names,
        "scope": "Namespaced" if first.namespaced else "Cluster",
        "versions": versions,
    }
    if conversion is not None:
        spec["conversion"] = {
            "strategy": "Webhook",
            "webhook": {"clientConfig": conversion, "conversionReviewVersions": ["v1"]},
        }
    elif lost := _lost_without_conversion(versions):
        raise ResourceError(
            f"{first.full_name}: versions differ in {lost}: without a conversion the "
            "server drops what the stored one does not know"
        )
    made: JsonObject = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": first.full_name},
        "spec": spec,
    }
    if found := [*definition_causes(made, _StatedValues())]:
        listed = "; ".join(f"{one.field}: {one.message}" for one in found)
        raise ResourceError(f"{first.full_name}: Kubernetes would refuse {listed}")
    return made


class _StatedValues:
    """Values of schemas from classes: their defaults were checked with the classes.
    Expressions are compiled if the CEL engine is installed (`asoreconcile[cel]`).
    """

    def default_causes(self, schema: JsonObject, at: str) -> Iterator[Cause]:
        """Yield nothing."""
        del schema, at
        return iter(())

    def cel_causes(
        self, schema: JsonObject, at: str, places: Container[str]
    ) -> Iterator[Cause]:
        """Yield what is wrong with the rules, and with their costs."""
        if find_spec("cel_expr_python") is None:
            return iter(())
        # Loaded with the first rule: most classes have none.
        from asoreconcile.resources.cel import checks

        return checks.causes(schema, at, places)


def by_kind(classes: Iterable[type]) -> list[list[type]]:
    """Group the classes by kind, in the given order."""
    found: dict[GroupKind, list[type]] = {}
    for cls in classes:
        found.setdefault(kind_of(cls).resource.group_kind, []).append(cls)
    return list(found.values())


def declared_in(module: Any) -> list[type]:
    """Return the resources that a module defines or imports, each once, in their
    order.
    """
    found: dict[type, None] = {}
    for value in vars(module).values():
        if isinstance(value, type) and isinstance(
            vars(value).get("__resource__"), TypedKind
        ):
            found[value] = None
    return list(found)


def _require_agreement(kinds: Sequence[TypedKind[Any]]) -> None:
    first = kinds[0].resource
    for kind in kinds[1:]:
        other = kind.resource
        for what in ("group", "kind", "plural", "namespaced"):
            mine, its = getattr(first, what), getattr(other, what)
            if mine != its:
                raise ResourceError(
                    f"{kind.cls.__name__}: {what} is {its!r}, and {mine!r} in "
                    f"{first.version}"
                )
    versions = [kind.resource.version for kind in kinds]
    for version in versions:
        if versions.count(version) > 1:
            raise ResourceError(f"{first.full_name}: {version} is there twice")


def _storage(kinds: Sequence[TypedKind[Any]]) -> TypedKind[Any]:
    if len(kinds) == 1:
        return kinds[0]
    found = [kind for kind in kinds if kind.options.storage]
    if len(found) != 1:
        raise ResourceError(
            f"{kinds[0].resource.full_name}: of {len(kinds)} versions {len(found)} say "
            "storage=True: one is stored"
        )
    return found[0]


def _version(kind: TypedKind[Any], *, storage: bool) -> JsonObject:
    options, name = kind.options, kind.cls.__name__
    schema = object_schema(kind.cls, options.rules)
    made: JsonObject = {
        "name": kind.resource.version,
        "served": options.served,
        "storage": storage,
        "schema": {"openAPIV3Schema": schema},
    }
    if options.deprecated:
        made["deprecated"] = True
        made["deprecationWarning"] = options.deprecated
    if options.columns:
        made["additionalPrinterColumns"] = [
            one.document(_column_type(one, schema, name)) for one in options.columns
        ]
    if options.selectable:
        for path in options.selectable:
            _required(leaf(schema, path), f"{name}: selectable {path}")
        made["selectableFields"] = [{"jsonPath": path} for path in options.selectable]
    subresources: JsonObject = {}
    if kind.has_status:
        subresources["status"] = {}
    if options.scale:
        paths = options.scale
        for path in (paths.spec_replicas, paths.status_replicas, paths.selector):
            if path:
                _required(leaf(schema, path), f"{name}: scale {path}")
        subresources["scale"] = paths.document()
    if subresources:
        made["subresources"] = subresources
    return made


def _column_type(column: PrinterColumn, schema: JsonObject, name: str) -> str:
    if column.type or column.path.startswith(".metadata"):
        return "date" if column.path.endswith("Timestamp") else "string"
    if "?" in column.path or "*" in column.path:
        return "string"  # a query: its result is not known in advance
    found = _required(leaf(schema, column.path), f"{name}: column {column.path}")
    if found.get("format") == "date-time":
        return "date"
    kind = str(found.get("type", "string"))
    return kind if kind in _COLUMN_TYPES else "string"


def _required(found: JsonObject | None, what: str) -> JsonObject:
    if found is None:
        raise ResourceError(f"{what}: there is no such field")
    return found


def _newest(kinds: Sequence[TypedKind[Any]]) -> list[TypedKind[Any]]:
    return sorted(kinds, key=lambda kind: _age(kind.resource.version), reverse=True)


def _age(version: str) -> tuple[int, int, int, str]:
    found = _VERSION.fullmatch(version)
    if found is None:
        return (-1, 0, 0, version)
    stage = {None: 2, "beta": 1, "alpha": 0}[found[2]]
    return (stage, int(found[1]), int(found[3] or 0), version)


def _lost_without_conversion(versions: Sequence[JsonObject]) -> str:
    """Return the first field that another version lacks or defines differently."""
    schemas = [one["schema"]["openAPIV3Schema"] for one in versions]
    for one in schemas:
        for other in schemas:
            if lost := next(iter(lost_fields(one, other)), ""):
                return lost
    return ""
