"""List the references, Secrets and ConfigMaps that a spec names.

This is the walk of `payload` over the same table, without resolving anything: watches
and checks need the list before the spec can be mapped. The owner is not included.
"""

from collections.abc import Iterator
from typing import Any, Literal

import attrs

from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.payload import verbatim_of
from asoreconcile.azure.catalogue.tables import Field, Table
from asoreconcile.base.objects import JsonObject

InputKind = Literal["reference", "secret", "secret-map", "config-map"]


@attrs.frozen
class InputReference:
    """One place in a spec that names another object.

    path: `spec.subnets[0].natGatewayReference`.
    value: `{group, kind, name}` for a reference, `{name, key}` for a key of a Secret or
    ConfigMap, `{name}` for a whole Secret; shared with the spec, not a copy.
    """

    kind: InputKind
    path: str
    value: JsonObject


def inputs_of(version: KindVersion, spec: JsonObject) -> tuple[InputReference, ...]:
    """Return everything that `payload.to_arm` asks its Inputs for, in order, once per
    place.

    References that contain an ARM id or a well-known name are left out: they need no
    lookup. Never raises on a malformed spec: a value that is not an object names
    nothing.
    """
    return tuple(_object(version.table, spec, "spec"))


def _object(table: Table, value: Any, at: str) -> Iterator[InputReference]:
    # Compiled into the table, so that most of a spec is never walked.
    if not table.takes_inputs or not isinstance(value, dict):
        return
    for field in table.fields:
        given = value.get(field.source)
        if given is not None and field.takes_inputs:
            yield from _nested(field, field.nesting, given, f"{at}.{field.source}")


def _nested(
    field: Field, nesting: str, value: Any, at: str
) -> Iterator[InputReference]:
    if not nesting:
        yield from _converted(field, value, at)
    elif nesting.startswith("[]") and isinstance(value, list):
        for index, item in enumerate(value):
            yield from _nested(field, nesting[2:], item, f"{at}[{index}]")
    elif nesting.startswith("{}") and isinstance(value, dict):
        for key, item in value.items():
            yield from _nested(field, nesting[2:], item, f"{at}.{key}")


def _converted(field: Field, value: Any, at: str) -> Iterator[InputReference]:
    match field.conversion:
        case "object" if field.table is not None:
            yield from _object(field.table, value, at)
        case "reference" | "well-known":
            yield from _reference(value, at)
        case "identities" if isinstance(value, list):
            for index, identity in enumerate(value):
                if isinstance(identity, dict):
                    inner = identity.get("reference")
                    yield from _reference(inner, f"{at}[{index}].reference")
        case "secret" | "secret-map" | "config-map":
            if isinstance(value, dict):
                yield InputReference(field.conversion, at, value)
        case _:
            return


def _reference(value: Any, at: str) -> Iterator[InputReference]:
    if isinstance(value, dict) and not verbatim_of(value):
        yield InputReference("reference", at, value)
