"""Validate a custom resource before anything is sent.

The kind's schema is checked first, then the rules that a schema cannot express: the
shape of references and owner, fields that exclude each other, unions. All problems are
reported at once.
"""

import re
from collections.abc import Iterator
from typing import Any

from asoreconcile.azure.arm import ids
from asoreconcile.azure.arm.text_bounds import ARM_ID, LOCATION, NAME
from asoreconcile.azure.catalogue.inputs import inputs_of
from asoreconcile.azure.catalogue.kind_rules import kind_problems
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.names import azure_name
from asoreconcile.azure.catalogue.problems import Problem, schema_problems
from asoreconcile.azure.catalogue.reserved import is_reserved
from asoreconcile.azure.catalogue.suggestions import closest
from asoreconcile.azure.catalogue.tables import NAME_FIELD, Field, Table, elements
from asoreconcile.base.foreign_text import LengthBound
from asoreconcile.base.objects import JsonObject, dig, metadata

_MEMBERS = frozenset({"apiVersion", "kind", "metadata", "spec", "status"})
_PARTS = ("group", "kind", "name")
_REFERENCE = frozenset({*_PARTS, "armId", "key", "wellKnownName"})
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME_LENGTH = 253
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_RESOURCE_GROUP = "Microsoft.Resources/resourceGroups"


def problems(version: KindVersion, obj: JsonObject) -> list[Problem]:
    """Return all problems of an object of this version; [] if there are none.

    obj: reads metadata.name and spec; `status` is not read.

    Never raises on JSON and never changes the object. Secret values are never quoted:
    specs contain none, and a message shows only the value that it refuses. Rules:
    R10.1, R11.5.
    """
    return [*_all(version, obj)]


def _all(version: KindVersion, obj: JsonObject) -> Iterator[Problem]:
    if not metadata(obj).get("name"):
        yield Problem("metadata.name", "is required: set it")
    spec = obj.get("spec")
    for name in obj:
        if name not in _MEMBERS:
            meant = closest(name, _MEMBERS - obj.keys())
            advice = (
                f"did you mean {meant[0]!r}?"
                if meant
                else "settings of the resource belong under spec"
            )
            yield Problem(name, f"unknown field; {advice}")
    if spec is None:
        spec = {}
    yield from schema_problems(version.spec_schema, spec, "spec")
    yield from _rules(version, obj)
    yield from _export_problems(dig(obj, "spec.operatorSpec"))


def name_problems(version: KindVersion, obj: JsonObject) -> list[Problem]:
    """Return the problems of an object's names; [] if there are none.

    For manifests that no API server has checked: Kubernetes' rules for names and
    namespaces, and Azure's rules if the object's name is also the Azure name.
    """
    name = str(metadata(obj).get("name") or "")
    found = []
    namespace = metadata(obj).get("namespace")
    if namespace and not _NAMESPACE.fullmatch(str(namespace)):
        message = (
            f"{namespace!r} is no namespace that Kubernetes takes: at most 63 "
            "lower-case letters, digits and '-', a letter or digit at both ends"
        )
        found.append(Problem("metadata.namespace", message))
    if not name:
        return found
    if len(name) > _NAME_LENGTH or not _NAME.fullmatch(name):
        message = (
            f"{name!r} is no name that Kubernetes takes: lower-case letters, digits, "
            "'-' and '.', a letter or digit at both ends"
        )
        found.append(Problem("metadata.name", message))
    schema = (version.spec_schema.get("properties") or {}).get("azureName")
    # The CRD's schema looks at spec.azureName, and not at a name that stands in for it.
    if schema and not dig(obj, "spec.azureName") and azure_name(version, obj) == name:
        found += [
            Problem(
                "metadata.name",
                f"is the Azure name too: {wrong.message}; or set spec.azureName",
            )
            for wrong in schema_problems(schema, name, "metadata.name")
        ]
    return found


def rule_problems(
    version: KindVersion, obj: JsonObject, *, exports: bool = True
) -> list[Problem]:
    """Return the problems of an object that its schema cannot find; [] if there are
    none.

    exports: if true, also check exports to the cluster, not only values sent to Azure.

    For objects that an API server has checked against their schema: used by the
    reconciler and by admission. Otherwise as `problems`.
    """
    found = [*_rules(version, obj)]
    if exports:
        found += _export_problems(dig(obj, "spec.operatorSpec"))
    return found


def _rules(version: KindVersion, obj: JsonObject) -> Iterator[Problem]:
    spec = obj.get("spec") or {}
    if not isinstance(spec, dict):
        return
    long = long_texts(spec)
    for path, (text, bound) in long.items():
        yield Problem(path, bound.problem(text, "it"), is_long=True)
    if long:
        return  # the other rules would read it
    yield from kind_problems(version.group_kind, obj)
    if version.is_arm:  # users of databases may be called anything
        yield from _name_problems(spec.get("azureName"))
    yield from _input_problems(version, spec)
    if isinstance(spec.get("owner"), dict):
        yield from owner_problems(version, spec["owner"])
    if version.is_arm:
        yield from _object(version.table, spec, "spec")


def long_texts(spec: JsonObject) -> dict[str, tuple[str, LengthBound]]:
    """Return each text that is longer than it is read, with its bound, by path: names,
    the location, and references at any depth. Other strings are read by no rule.
    """
    owner = spec.get("owner")
    bounded = [
        ("spec.azureName", spec.get("azureName"), NAME),
        ("spec.location", spec.get("location"), LOCATION),
    ]
    if isinstance(owner, dict):
        bounded += [(f"spec.owner.{part}", owner.get(part), NAME) for part in _PARTS]
    return {
        path: (text, bound)
        for path, text, bound in (*bounded, *_references_in(spec))
        if isinstance(text, str) and not bound.fits(text)
    }


def _references_in(spec: JsonObject) -> list[tuple[str, Any, LengthBound]]:
    """Return path, text and bound of each part of a reference in a spec: to a resource,
    or to an entry of a Secret or ConfigMap.
    """
    found: list[tuple[str, Any, LengthBound]] = []
    below: list[tuple[str, Any]] = [("spec", spec)]
    while below:
        at, value = below.pop()
        if isinstance(value, list):
            below += [
                (f"{at}[{index}]", inner)
                for index, inner in enumerate(value)
                if isinstance(inner, dict | list)
            ]
            continue
        if _REFERENCE.issuperset(value):
            found += [
                (f"{at}.{name}", text, ARM_ID if name == "armId" else NAME)
                for name, text in value.items()
                if isinstance(text, str)
            ]
        below += [
            (f"{at}.{name}", inner)
            for name, inner in value.items()
            if isinstance(inner, dict | list)
        ]
    return found


def _name_problems(name: Any) -> Iterator[Problem]:
    if isinstance(name, str) and name and (problem := ids.segment_problem(name)):
        yield Problem("spec.azureName", f"{name!r} {problem}: no resource is called so")


def owner_problems(version: KindVersion, owner: JsonObject) -> Iterator[Problem]:
    """Yield the problems of `spec.owner`: its shape, and the type of an ARM id."""
    arm_id = owner.get("armId")
    if arm_id:
        if any(owner.get(part) for part in _PARTS):
            yield Problem(
                "spec.owner", "set either armId or the owner's name, not both"
            )
        elif isinstance(arm_id, str):
            yield from _owner_id_problems(version, arm_id)
    elif version.any_owner:
        yield from _incomplete(owner, "spec.owner")
    elif not owner.get("name"):
        kind = version.owner.kind if version.owner else "owner"
        yield Problem("spec.owner", f"set name (of a {kind} in the namespace) or armId")


def _owner_id_problems(version: KindVersion, arm_id: str) -> Iterator[Problem]:
    try:
        owner = ids.parse_stated(arm_id)
    except ids.ArmIdError as error:
        yield Problem("spec.owner.armId", str(error))
        return
    if not owner.name:
        yield Problem("spec.owner.armId", f"{arm_id} ends on a type: add the name")
    # An extension may hang off a resource of any type.
    elif version.scope == "ResourceGroup":
        message = _wrong_owner(version, owner)
        if message:
            yield Problem("spec.owner.armId", message)


def _wrong_owner(version: KindVersion, owner: ids.ArmId) -> str:
    """Return one of three messages for a wrong owner, "" if the owner fits (R11.5)."""
    kind, types = version.gvk.kind, version.types
    # Top-level types live in a group, whatever provider they are of.
    if len(types) == 1:
        if owner.type.lower() == _RESOURCE_GROUP.lower():
            return ""
        return f"{kind} belongs to a resource group; {owner} is a {owner.type}"
    wanted = "/".join((version.provider, *types[:-1]))
    # ARM ignores the letter case of types, and people copy ids with another case.
    if owner.namespace.lower() != version.provider.lower():
        return (
            f"{kind} belongs to a {wanted}; {owner} is of the provider"
            f" {owner.namespace}"
        )
    if owner.type.lower() != wanted.lower():
        return f"{kind} belongs to a {wanted}; {owner} is a {owner.type}"
    return ""


def _input_problems(version: KindVersion, spec: JsonObject) -> Iterator[Problem]:
    """Yield a problem for each Secret of the operator that a spec reads."""
    for given in inputs_of(version, spec):
        name = str(given.value.get("name") or "")
        if given.kind in {"secret", "secret-map"} and is_reserved(name):
            yield Problem(
                f"{given.path}.name",
                f"{name} holds what the operator signs in with: choose another",
            )


def _export_problems(operator_spec: Any) -> Iterator[Problem]:
    """Yield a problem for each export that is not allowed.

    An export must not write to a Secret of the operator, and two exports must not write
    to one key of one Secret or ConfigMap, because one value would be lost.
    """
    if not isinstance(operator_spec, dict):
        return
    for named, expressions in (
        ("secrets", "secretExpressions"),
        ("configMaps", "configMapExpressions"),
    ):
        taken: dict[tuple[str, str], str] = {}
        for at, destination in _destinations(operator_spec, named, expressions):
            name = str(destination.get("name") or "")
            if named == "secrets" and is_reserved(name):
                yield Problem(
                    f"spec.operatorSpec.{at}.name",
                    f"{name} holds what the operator signs in with: choose another",
                )
            for written in _written(destination) if name else ():
                if taken.setdefault((name, written), at) != at:
                    yield Problem(
                        f"spec.operatorSpec.{at}",
                        f"{name}/{written} is written by {taken[name, written]}"
                        " already: choose another name or key",
                    )


def _written(destination: JsonObject) -> Iterator[str]:
    """Yield the parts of the object that an export destination writes."""
    if destination.get("key"):
        yield str(destination["key"])
    for part, label in (("annotations", "annotation"), ("labels", "label")):
        given = destination.get(part)
        for name in given if isinstance(given, dict) else ():
            yield f"{label} {name}"


def _destinations(
    operator_spec: JsonObject, named: str, expressions: str
) -> Iterator[tuple[str, JsonObject]]:
    by_name = operator_spec.get(named)
    for field, destination in by_name.items() if isinstance(by_name, dict) else ():
        if isinstance(destination, dict):
            yield f"{named}.{field}", destination
    listed = operator_spec.get(expressions)
    for index, destination in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(destination, dict):
            yield f"{expressions}[{index}]", destination


def _object(table: Table, value: Any, at: str) -> Iterator[Problem]:
    if not isinstance(value, dict):
        return
    given = [field for field in table.fields if value.get(field.source) is not None]
    if table.leaves:
        yield from _leaf_problems(table, given, at)
    yield from _both_problems(given, at)
    for field in given:
        inner = f"{at}.{field.source}"
        for item, place in elements(field.nesting, value[field.source], inner):
            yield from _element(field, item, place)


def _leaf_problems(table: Table, given: list[Field], at: str) -> Iterator[Problem]:
    set_ = [field.source for field in given if field.source in table.leaves]
    if len(set_) > 1:
        yield Problem(at, f"set only one of {', '.join(set_)}")
    if not set_:
        yield Problem(at, f"set one of {', '.join(table.leaves)}")


def _both_problems(given: list[Field], at: str) -> Iterator[Problem]:
    """Yield a problem for `foo` given together with `fooFromConfig` or
    `fooFromSecret`.
    """
    by_path: dict[tuple[str, ...], str] = {}
    for field in given:
        if field.source == NAME_FIELD or field.fallback:
            continue
        other = by_path.setdefault(field.path, field.source)
        if other != field.source:
            yield Problem(
                at, f"cannot specify both {other} and {field.source}: remove one"
            )


def _element(field: Field, value: Any, at: str) -> Iterator[Problem]:
    if field.table is not None:
        yield from _object(field.table, value, at)
    elif field.conversion in ("reference", "well-known"):
        yield from _reference_problems(field, value, at)
    elif field.conversion == "identities" and isinstance(value, list):
        for index, identity in enumerate(value):
            if isinstance(identity, dict):
                inner = f"{at}[{index}].reference"
                yield from _reference_problems(field, identity.get("reference"), inner)


def _reference_problems(field: Field, value: Any, at: str) -> Iterator[Problem]:
    if not isinstance(value, dict):
        if value is None:
            yield Problem(at, "is required: set it")
        return
    known, arm_id = value.get("wellKnownName"), value.get("armId")
    named = [part for part in _PARTS if value.get(part)]
    if known:
        if arm_id or named:
            yield Problem(at, "set either wellKnownName or the resource, not both")
        yield from _known_name_problems(str(known), f"{at}.wellKnownName")
    elif arm_id:
        if named:
            yield Problem(at, "set either armId or group, kind and name, not both")
        else:
            yield from _id_problems(arm_id, f"{at}.armId")
    elif not named and field.conversion == "well-known":
        yield Problem(at, "set wellKnownName, armId, or group, kind and name")
    else:
        yield from _incomplete(value, at)


def _known_name_problems(name: str, at: str) -> Iterator[Problem]:
    """Yield problems of a well-known name, whose parts may be separated by slashes."""
    for part in name.split("/"):
        if part and (problem := ids.segment_problem(part)):
            yield Problem(at, f"a part of {name!r} {problem}")


def _id_problems(arm_id: Any, at: str) -> Iterator[Problem]:
    if isinstance(arm_id, str):
        try:
            ids.parse_stated(arm_id)
        except ids.ArmIdError as error:
            yield Problem(at, str(error))


def _incomplete(value: JsonObject, at: str) -> Iterator[Problem]:
    missing = [part for part in _PARTS if not value.get(part)]
    if len(missing) == len(_PARTS):
        yield Problem(at, "set armId, or group, kind and name")
    elif missing:
        yield Problem(at, f"set {' and '.join(missing)} too, or armId alone")
