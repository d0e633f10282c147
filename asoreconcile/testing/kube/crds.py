"""Taking in a CustomResourceDefinition: checked, completed, established at once.

What this server cannot evaluate is refused here, loudly, so that nobody trusts a rule
that is not applied.
"""

from collections.abc import Iterator
from typing import Any

from asoreconcile.objects import JsonObject, metadata, spec
from asoreconcile.testing.kube.status import Cause, invalid

_KIND, _GROUP = "CustomResourceDefinition", "apiextensions.k8s.io"


def admit_crd(obj: JsonObject, now: str) -> JsonObject:
    """The CRD as stored. Raises StatusError 422."""
    name = str(metadata(obj).get("name") or "")
    found = list(_causes(obj, name))
    if found:
        raise invalid(_KIND, _GROUP, name, found)
    content = spec(obj)
    names = content["names"]
    names.setdefault("singular", names["kind"].lower())
    names.setdefault("listKind", names["kind"] + "List")
    content.setdefault("conversion", {"strategy": "None"})
    stored = [v["name"] for v in content["versions"] if v.get("storage")]
    before = (obj.get("status") or {}).get("storedVersions") or []
    obj["status"] = {
        "acceptedNames": names,
        "storedVersions": [*before, *(v for v in stored if v not in before)],
        "conditions": [
            _condition("NamesAccepted", "NoConflicts", "no conflicts found", obj, now),
            _condition(
                "Established",
                "InitialNamesAccepted",
                "the initial names have been accepted",
                obj,
                now,
            ),
        ],
    }
    return obj


def _condition(
    type_: str, reason: str, message: str, obj: JsonObject, now: str
) -> JsonObject:
    for known in (obj.get("status") or {}).get("conditions") or ():
        if known.get("type") == type_ and known.get("status") == "True":
            return dict(known)
    return {
        "type": type_,
        "status": "True",
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }


def _causes(obj: JsonObject, name: str) -> Iterator[Cause]:
    content = spec(obj)
    names = content.get("names") or {}
    for path, value in (
        ("spec.group", content.get("group")),
        ("spec.names.plural", names.get("plural")),
        ("spec.names.kind", names.get("kind")),
        ("spec.versions", content.get("versions")),
        ("spec.scope", content.get("scope")),
    ):
        if not value:
            yield Cause(path, "FieldValueRequired", "Required value")
            return
    expected = f"{names['plural']}.{content['group']}"
    if name != expected:
        yield Cause(
            "metadata.name",
            "FieldValueInvalid",
            f'Invalid value: "{name}": must be spec.names.plural+"."+spec.group',
        )
    if (content.get("conversion") or {}).get("strategy", "None") != "None":
        yield Cause(
            "spec.conversion.strategy",
            "FieldValueNotSupported",
            "this test server does not call conversion webhooks",
        )
    versions = content["versions"]
    if sum(bool(v.get("storage")) for v in versions) != 1:
        yield Cause(
            "spec.versions",
            "FieldValueInvalid",
            "Invalid value: must have exactly one version marked as storage version",
        )
    for index, version in enumerate(versions):
        at = f"spec.versions[{index}].schema.openAPIV3Schema"
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if not isinstance(schema, dict):
            yield Cause(
                at, "FieldValueRequired", "Required value: schemas are required"
            )
        elif (rule := _rule_in(schema, at)) is not None:
            yield Cause(
                rule,
                "FieldValueNotSupported",
                "this test server does not evaluate validation rules (CEL)",
            )


def _rule_in(schema: Any, at: str) -> str | None:
    """The path of the first CEL rule in a schema."""
    if not isinstance(schema, dict):
        return None
    if schema.get("x-kubernetes-validations"):
        return f"{at}.x-kubernetes-validations"
    for name, inner in (schema.get("properties") or {}).items():
        if (found := _rule_in(inner, f"{at}.properties[{name}]")) is not None:
            return found
    for name in ("items", "additionalProperties"):
        if (found := _rule_in(schema.get(name), f"{at}.{name}")) is not None:
            return found
    return None
