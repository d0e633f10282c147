"""Taking in a CustomResourceDefinition: checked, completed, established at once.

Its names must be free in its group, else it is stored but not served, as the API
server does it. Raises StatusError 400 and 422.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from asoreconcile.objects import JsonObject, metadata, spec
from asoreconcile.testing.kube import crdshapes, structural
from asoreconcile.testing.kube.status import Cause, bad_request, invalid

_KIND, _GROUP = "CustomResourceDefinition", "apiextensions.k8s.io"
_ESTABLISHED = ("InitialNamesAccepted", "the initial names have been accepted")
_NOT_ESTABLISHED = ("NotAccepted", "not all names are accepted")
_SCOPES = ("Cluster", "Namespaced")


def admit_crd(
    obj: JsonObject, before: JsonObject | None, others: Iterable[JsonObject], now: str
) -> JsonObject:
    """The CRD as stored. before: what it replaces. others: all other CRDs."""
    _check_shape(obj)
    name = str(metadata(obj).get("name") or "")
    content = spec(obj)
    names = content.setdefault("names", {})
    if names.get("kind"):
        names.setdefault("singular", names["kind"].lower())
        names.setdefault("listKind", names["kind"] + "List")
    content.setdefault("conversion", {"strategy": "None"})
    if found := [*_causes(obj, name), *_changes(obj, before)]:
        raise invalid(_KIND, _GROUP, name, found)
    obj["status"] = _status(content, (before or {}).get("status") or {}, others, now)
    return obj


def is_established(crd: JsonObject) -> bool:
    """Whether a CRD's kind is served."""
    conditions = (crd.get("status") or {}).get("conditions") or ()
    return any(
        c.get("type") == "Established" and c.get("status") == "True" for c in conditions
    )


def _status(
    content: JsonObject, known: JsonObject, others: Iterable[JsonObject], now: str
) -> JsonObject:
    names = content["names"]
    stored = [v["name"] for v in content["versions"] if v.get("storage")]
    before = known.get("storedVersions") or []
    taken = _taken(content, others)
    accepted = not taken
    return {
        "acceptedNames": names if accepted else {"plural": "", "kind": ""},
        "storedVersions": [*before, *(v for v in stored if v not in before)],
        "conditions": [
            _condition(
                known,
                "NamesAccepted",
                accepted,
                taken or ("NoConflicts", "no conflicts found"),
                now,
            ),
            _condition(
                known,
                "Established",
                accepted,
                _ESTABLISHED if accepted else _NOT_ESTABLISHED,
                now,
            ),
        ],
    }


def _taken(content: JsonObject, others: Iterable[JsonObject]) -> tuple[str, str] | None:
    """Which name another kind of the group has: (reason, message)."""
    names = content["names"]
    for other in others:
        held = spec(other).get("names") or {}
        if spec(other).get("group") != content["group"] or not is_established(other):
            continue
        words = {held.get("plural"), held.get("singular"), *held.get("shortNames", ())}
        for field in ("plural", "singular"):
            if names.get(field) in words:
                reason = f"{field.title()}Conflict"
                return reason, f'"{names[field]}" is already in use'
        for short in names.get("shortNames") or ():
            if short in words:
                return "ShortNamesConflict", f'"{short}" is already in use'
        kinds = {held.get("kind"), held.get("listKind")}
        for field, reason in (
            ("listKind", "ListKindConflict"),
            ("kind", "KindConflict"),
        ):
            if names.get(field) in kinds:
                return reason, f'"{names[field]}" is already in use'
    return None


def _condition(
    known: JsonObject, type_: str, holds: bool, why: tuple[str, str], now: str
) -> JsonObject:
    """why: reason and message."""
    reason, message = why
    status = "True" if holds else "False"
    since = now
    for condition in known.get("conditions") or ():
        if condition.get("type") == type_ and condition.get("status") == status:
            since = condition.get("lastTransitionTime") or now
    return {
        "type": type_,
        "status": status,
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }


def _check_shape(obj: JsonObject) -> None:
    content = obj.get("spec")
    if content is None:
        content = obj["spec"] = {}
    if isinstance(content, dict):
        for name in [name for name, value in content.items() if value is None]:
            del content[name]
    wrong = crdshapes.wrong_part(obj)
    if wrong:
        raise bad_request(
            f'{_KIND} in version "v1" cannot be handled as a {_KIND}: json: cannot '
            f"unmarshal into Go struct field {_KIND}.{wrong}"
        )


def _causes(obj: JsonObject, name: str) -> Iterator[Cause]:
    content = spec(obj)
    names, group = content["names"], content.get("group") or ""
    if name != f"{names.get('plural', '')}.{group}":
        yield _invalid(
            "metadata.name", name, 'must be spec.names.plural+"."+spec.group'
        )
    if not group:
        yield _required("spec.group")
    for field in ("plural", "singular", "kind", "listKind"):
        if not names.get(field):
            yield _required(f"spec.names.{field}")
    if not content.get("scope"):
        yield _required("spec.scope")
    elif content["scope"] not in _SCOPES:
        yield Cause(
            "spec.scope",
            "FieldValueNotSupported",
            f'Unsupported value: "{content["scope"]}": supported values: "Cluster", '
            '"Namespaced"',
        )
    yield from _conversion_causes(content["conversion"])
    versions = content.get("versions") or []
    if sum(bool(v.get("storage")) for v in versions) != 1:
        why = "must have exactly one version marked as storage version"
        yield _invalid("spec.versions", "", why)
    if len({v.get("name") for v in versions}) != len(versions):
        yield _invalid("spec.versions", "", "must contain unique version names")
    if len(versions) == 1 and (schema := _schema(versions[0])) is not None:
        # What all versions share the API server tells at this place of old.
        yield from structural.causes(schema, "spec.validation.openAPIV3Schema")
    for index, version in enumerate(versions):
        at = f"spec.versions[{index}]"
        yield from _version_causes(version, at, shared=len(versions) == 1)


def _schema(version: JsonObject) -> JsonObject | None:
    found = (version.get("schema") or {}).get("openAPIV3Schema")
    return found if isinstance(found, dict) else None


def _version_causes(version: JsonObject, at: str, *, shared: bool) -> Iterator[Cause]:
    """shared: what is wrong with the schema is told already."""
    if not version.get("name"):
        yield _required(f"{at}.name")
    schema = _schema(version)
    if schema is None:
        where = f"{at}.schema.openAPIV3Schema"
        yield Cause(where, "FieldValueRequired", "Required value: schemas are required")
        return
    if not shared:
        yield from structural.causes(schema, f"{at}.schema.openAPIV3Schema")
    for index, field in enumerate(version.get("selectableFields") or ()):
        path = field.get("jsonPath") or ""
        if structural.field_schema(schema, path) is None:
            why = "is an invalid path: does not refer to a valid field"
            yield _invalid(f"{at}.selectableFields[{index}].jsonPath", path, why)


def _conversion_causes(conversion: JsonObject) -> Iterator[Cause]:
    if conversion.get("strategy", "None") != "Webhook":
        return
    webhook = conversion.get("webhook") or {}
    if not webhook.get("clientConfig"):
        why = "Required value: required when strategy is set to Webhook"
        at = "spec.conversion.webhookClientConfig"
        yield Cause(at, "FieldValueRequired", why)
    if not webhook.get("conversionReviewVersions"):
        yield _required("spec.conversion.conversionReviewVersions")


def _changes(obj: JsonObject, before: JsonObject | None) -> Iterator[Cause]:
    """What may not change any more."""
    if before is None:
        return
    fields: tuple[tuple[str, Any, Any], ...] = (
        ("spec.group", spec(obj).get("group"), spec(before).get("group")),
        ("spec.scope", spec(obj).get("scope"), spec(before).get("scope")),
    )
    for field, new, old in fields:
        if new != old:
            yield _invalid(field, str(new), "field is immutable")
    names = {version.get("name") for version in spec(obj).get("versions") or ()}
    stored = (before.get("status") or {}).get("storedVersions") or ()
    for index, name in enumerate(stored):
        if name not in names:
            why = (
                f"missing from spec.versions; {name} was previously a storage version, "
                "and must remain in spec.versions until a storage migration ensures no "
                f"data remains persisted in {name} and removes {name} from "
                "status.storedVersions"
            )
            yield _invalid(f"status.storedVersions[{index}]", name, why)


def _required(field: str) -> Cause:
    return Cause(field, "FieldValueRequired", "Required value")


def _invalid(field: str, value: str, why: str) -> Cause:
    return Cause(field, "FieldValueInvalid", f'Invalid value: "{value}": {why}')
