"""Finds data that stored objects would lose by a change of their CRD. Pure.

At the next write of an object, the API server prunes fields that are not in the schema.
It cannot read objects in a removed version at all.
"""

from collections.abc import Mapping
from typing import Any

from asoreconcile.base.objects import JsonObject, dig

_PRESERVE = "x-kubernetes-preserve-unknown-fields"


def dropped_data(before: JsonObject, after: JsonObject) -> list[str]:
    """Return the reasons why a CRD change would lose data, one clause each; empty if it
    would not.

    before: the CRD on the server, with its status. after: the CRD to install.
    """
    found = [
        f"{what} would become {new!r}, and is {old!r}"
        for what in ("scope", "names.kind", "names.plural", "group")
        if (old := dig(before, f"spec.{what}")) != (new := dig(after, f"spec.{what}"))
    ]
    if found:
        return found
    old_versions, new_versions = _schemas(before), _schemas(after)
    stored = dig(before, "status.storedVersions") or []
    for version in stored:
        if version not in new_versions:
            found.append(
                f"version {version} would go, in which objects are stored: keep it, "
                "not served, until they are rewritten"
            )
        elif version in old_versions:
            lost = lost_fields(old_versions[version], new_versions[version])
            found += [f"{version}: {path} would be dropped" for path in lost]
    return found


def lost_fields(before: JsonObject, after: JsonObject, path: str = "") -> list[str]:
    """Yield the fields of one schema that another schema prunes or does not accept."""
    widens = (before.get("type"), after.get("type")) == ("integer", "number")
    if before.get("type") != after.get("type") and "type" in after and not widens:
        return [f"{path or '.'} ({before.get('type', 'any')}, {after['type']})"]
    if before.get(_PRESERVE) and not after.get(_PRESERVE):
        return [f"{path or '.'} (any field, only those named)"]
    keeps = after.get(_PRESERVE)
    known, others = after.get("properties", {}), after.get("additionalProperties")
    found: list[str] = []
    for name, inner in before.get("properties", {}).items():
        other = known.get(name, others)
        if isinstance(other, dict):
            found += lost_fields(inner, other, f"{path}.{name}")
        elif not keeps:
            found.append(f"{path}.{name}")
    for keyword, mark in (("items", "[]"), ("additionalProperties", "{}")):
        inner, other = before.get(keyword), after.get(keyword)
        if isinstance(inner, dict):
            if isinstance(other, dict):
                found += lost_fields(inner, other, path + mark)
            elif not keeps:
                found.append(path + mark)
    return found


def _schemas(crd: JsonObject) -> Mapping[str, Any]:
    return {
        one["name"]: dig(one, "schema.openAPIV3Schema") or {_PRESERVE: True}
        for one in dig(crd, "spec.versions") or []
    }
