"""The Secrets and ConfigMaps that an object exports to. Pure, and cheap to import:
watch handlers call it for every object.
"""

from collections.abc import Iterator
from typing import Any

from asoreconcile.base.objects import JsonObject, dig, spec, status

SECRET_EXPRESSIONS = "secretExpressions"  # noqa: S105 - the field's name
CONFIG_MAP_EXPRESSIONS = "configMapExpressions"


def destinations(obj: JsonObject) -> set[tuple[str, str]]:
    """Return kind and name of each Secret and ConfigMap that the spec exports to."""
    found = set()
    for kind, field in (
        ("Secret", SECRET_EXPRESSIONS),
        ("ConfigMap", CONFIG_MAP_EXPRESSIONS),
    ):
        found |= {(kind, name) for name in expression_targets(obj, field)}
    for kind, field in (
        ("Secret", "secrets"),
        ("ConfigMap", "configMaps"),
        ("ConfigMap", "configmaps"),  # the spelling in the kind of Entra groups
    ):
        wanted = dig(spec(obj), f"operatorSpec.{field}")
        if isinstance(wanted, dict):
            found |= {
                (kind, str(d["name"])) for d in wanted.values() if d and d.get("name")
            }
    return found


def shown_values(obj: JsonObject) -> set[str]:
    """Return the values that an object shows itself, such as an address.

    They are not secret, although they may be exported to a Secret.
    """
    return set(_leaves([spec(obj), status(obj)]))


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _leaves(inner)
    elif value is not None:
        yield str(value)


def expression_targets(obj: JsonObject, field: str) -> set[str]:
    """Return the names of the objects that the expressions of a field write."""
    return {str(one["name"]) for _, one in expressions(obj, field) if one.get("name")}


def expressions(obj: JsonObject, field: str) -> Iterator[tuple[str, JsonObject]]:
    """Return the entries of a field that are JSON objects, each with its path."""
    listed = dig(obj, f"spec.operatorSpec.{field}")
    for index, one in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(one, dict):
            yield f"spec.operatorSpec.{field}[{index}]", one
