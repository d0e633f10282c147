"""Writes of Roles and bindings: defaults, and rules for valid objects.

The rule that users cannot grant permissions that they lack is not checked here.
"""

from collections.abc import Iterator

import orjson

from asoreconcile.base.objects import JsonObject
from asoreconcile.resources.crds.cause import Cause

GROUP = "rbac.authorization.k8s.io"
_SUBJECTS = ("ServiceAccount", "User", "Group")


def take_in(obj: JsonObject) -> None:
    """Fill in the API groups of references and subjects."""
    if "Binding" not in str(obj.get("kind")):
        return
    reference = obj.get("roleRef")
    if isinstance(reference, dict):
        reference.setdefault("apiGroup", GROUP)
    for subject in obj.get("subjects") or ():
        if subject.get("kind") in ("User", "Group"):
            subject.setdefault("apiGroup", GROUP)


def causes(obj: JsonObject, before: JsonObject | None) -> Iterator[Cause]:
    """Yield the reasons against storing an object.

    before: the object that is replaced. A binding cannot change its role.
    """
    if "Binding" not in str(obj.get("kind")):
        for index, rule in enumerate(obj.get("rules") or ()):
            yield from _rule_causes(rule, f"rules[{index}]", str(obj.get("kind")))
        return
    yield from _reference_causes(obj)
    for index, subject in enumerate(obj.get("subjects") or ()):
        yield from _subject_causes(subject, f"subjects[{index}]")
    if before is not None and obj.get("roleRef") != before.get("roleRef"):
        yield Cause(
            "roleRef",
            "FieldValueInvalid",
            f"Invalid value: {_shown(obj.get('roleRef') or {})}: cannot change roleRef",
        )


def _rule_causes(rule: JsonObject, at: str, kind: str) -> Iterator[Cause]:
    if not rule.get("verbs"):
        yield _required(f"{at}.verbs", "verbs must contain at least one value")
    if rule.get("nonResourceURLs"):
        if kind == "Role":
            why = "namespaced rules cannot apply to non-resource URLs"
            shown = ", ".join(f'"{url}"' for url in rule["nonResourceURLs"])
            yield Cause(
                f"{at}.nonResourceURLs",
                "FieldValueInvalid",
                f"Invalid value: [{shown}]: {why}",
            )
        return
    if not rule.get("apiGroups"):
        why = "resource rules must supply at least one api group"
        yield _required(f"{at}.apiGroups", why)
    if not rule.get("resources"):
        why = "resource rules must supply at least one resource"
        yield _required(f"{at}.resources", why)


def _reference_causes(obj: JsonObject) -> Iterator[Cause]:
    reference = obj.get("roleRef") or {}
    kinds = ("ClusterRole",) if "Cluster" in obj["kind"] else ("Role", "ClusterRole")
    if reference.get("kind") not in kinds:
        yield _unsupported("roleRef.kind", reference.get("kind"), kinds)
    if not reference.get("name"):
        yield Cause("roleRef.name", "FieldValueRequired", "Required value")


def _subject_causes(subject: JsonObject, at: str) -> Iterator[Cause]:
    if not subject.get("name"):
        yield Cause(f"{at}.name", "FieldValueRequired", "Required value")
    if subject.get("kind") not in _SUBJECTS:
        yield _unsupported(f"{at}.kind", subject.get("kind"), _SUBJECTS)


def _unsupported(field: str, value: object, supported: tuple[str, ...]) -> Cause:
    allowed = ", ".join(f'"{one}"' for one in sorted(supported))
    return Cause(
        field,
        "FieldValueNotSupported",
        f'Unsupported value: "{value or ""}": supported values: {allowed}',
    )


def _required(field: str, why: str) -> Cause:
    return Cause(field, "FieldValueRequired", f"Required value: {why}")


def _shown(reference: JsonObject) -> str:
    parts = (("APIGroup", "apiGroup"), ("Kind", "kind"), ("Name", "name"))
    stated = {name: reference.get(key) or "" for name, key in parts}
    return orjson.dumps(stated).decode()
