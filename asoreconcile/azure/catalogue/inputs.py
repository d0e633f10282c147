"""List the references, Secrets and ConfigMaps that a spec names.

This is the walk of `payload` over the same table, without resolving anything: watches
and checks need the list before the spec can be mapped. The owner is not included.
"""

import re
from collections.abc import Iterator
from typing import Any, Literal

import attrs

from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.payload import verbatim_of
from asoreconcile.azure.catalogue.tables import Field, Table, elements
from asoreconcile.base.objects import JsonObject, metadata, spec

InputKind = Literal["reference", "secret", "secret-map", "config-map"]

_STEPS = re.compile(r"[^.\[\]]+")


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


@attrs.frozen
class SecretText:
    """One place in a spec that holds a secret itself instead of a Secret's key: older
    releases took the text.

    path: `spec.aadProfile.serverAppSecret`.
    """

    path: str
    value: str = attrs.field(repr=False)


def inputs_of(version: KindVersion, spec: JsonObject) -> tuple[InputReference, ...]:
    """Return everything that `payload.to_arm` asks its Inputs for, in order, once per
    place.

    References that contain an ARM id or a well-known name are left out: they need no
    lookup. Never raises on a malformed spec: a value that is not an object names
    nothing.
    """
    found = _object(version.table, spec, "spec")
    return tuple(one for one in found if isinstance(one, InputReference))


_Found = InputReference | SecretText


def secret_texts(version: KindVersion, spec: JsonObject) -> tuple[SecretText, ...]:
    """Return the secrets that a spec itself contains. Never raises."""
    found = _object(version.table, spec, "spec")
    return tuple(one for one in found if isinstance(one, SecretText))


def has_secrets(table: Table) -> bool:
    """Return whether a spec of the table may name a Secret."""
    return any(
        field.is_secret or (field.table is not None and has_secrets(field.table))
        for field in table.fields
    )


def with_secrets(version: KindVersion, obj: JsonObject) -> list[JsonObject]:
    """Return an object whose spec names a Secret in place of each secret text, after
    those Secrets. The object itself is changed.
    """
    made: list[JsonObject] = []
    for text in secret_texts(version, spec(obj)):
        *path, field = _STEPS.findall(text.path)
        inside: Any = obj
        for step in path:
            inside = inside[int(step) if isinstance(inside, list) else step]
        name = "-".join([metadata(obj)["name"], *path[1:], field]).lower()
        inside[field] = {"name": name, "key": field}
        kept = {k: v for k, v in metadata(obj).items() if k == "namespace"}
        made.append(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": name, **kept},
                "stringData": {field: text.value},
            }
        )
    return [*made, obj]


def _object(table: Table, value: Any, at: str) -> Iterator[_Found]:
    # Compiled into the table, so that most of a spec is never walked.
    if not table.takes_inputs or not isinstance(value, dict):
        return
    for field in table.fields:
        given = value.get(field.source)
        if given is not None and field.takes_inputs:
            for item, place in elements(field.nesting, given, f"{at}.{field.source}"):
                yield from _converted(field, item, place)


def _converted(field: Field, value: Any, at: str) -> Iterator[_Found]:
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
        case "secret" if isinstance(value, str):
            yield SecretText(at, value)
        case "secret" | "secret-map" | "config-map":
            if isinstance(value, dict):
                yield InputReference(field.conversion, at, value)
        case _:
            return


def _reference(value: Any, at: str) -> Iterator[InputReference]:
    if isinstance(value, dict) and not verbatim_of(value):
        yield InputReference("reference", at, value)
