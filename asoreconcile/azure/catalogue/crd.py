"""Build the CustomResourceDefinition of a kind."""

from collections.abc import Iterable

from asoreconcile.azure.catalogue.conversion import (
    ORIGINAL_VERSION,
    VersionForm,
    form,
    stored_name,
)
from asoreconcile.azure.catalogue.descriptions import described, explained_version
from asoreconcile.azure.catalogue.kinds import Kind, KindVersion, newest, version_order
from asoreconcile.azure.catalogue.property_bag import BAG
from asoreconcile.azure.catalogue.rules import ruled_schema
from asoreconcile.azure.catalogue.webhook_manifests import CONVERT_PATH, WebhookClient
from asoreconcile.base.objects import JsonObject

_BAG_SCHEMA = {"type": "object", "additionalProperties": {"type": "string"}}
_ANY = "x-kubernetes-preserve-unknown-fields"


def stored_schema(version: KindVersion) -> JsonObject:
    """Return the OpenAPI schema of a whole object in the version's stored form.

    Equal parts are shared: the schema must not be changed.
    """
    made: dict[int, JsonObject] = {}
    whole = version.schema
    spec = _relaxed(whole["properties"]["spec"], made)
    author = {ORIGINAL_VERSION: {"type": "string"}}
    spec = {**spec, "properties": {**spec["properties"], **author}}
    status = _relaxed(whole["properties"]["status"], made)
    parts = {**whole["properties"], "spec": spec, "status": status}
    return {**whole, "properties": parts}


def _relaxed(schema: JsonObject, made: dict[int, JsonObject]) -> JsonObject:
    known = made.get(id(schema))
    if known is None:
        known = made[id(schema)] = _relax(schema, made)
    return known


def _relax(schema: JsonObject, made: dict[int, JsonObject]) -> JsonObject:
    # No `required` either: an older object lacks what a newer version demands.
    relaxed = {k: schema[k] for k in ("type", _ANY) if k in schema}
    for keyword in ("items", "additionalProperties"):
        if keyword in schema:
            relaxed[keyword] = _relaxed(schema[keyword], made)
    if relaxed.get("type") == "object" and "additionalProperties" not in relaxed:
        fields = schema.get("properties", {})
        relaxed["properties"] = {
            **{name: _relaxed(child, made) for name, child in fields.items()},
            BAG: _BAG_SCHEMA,
        }
    return relaxed


ROOT = frozenset({"apiVersion", "kind", "metadata"})
"""Fields that every object has, and an API server knows without being told."""

_OPEN: JsonObject = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def open_stored() -> JsonObject:
    """Return a schema that allows any stored form."""
    return {"type": "object", "properties": {"spec": _OPEN, "status": _OPEN}}


def without_root(schema: JsonObject) -> JsonObject:
    """Return a schema of a whole object without the fields that every object has."""
    parts: JsonObject = schema["properties"]
    kept = {name: part for name, part in parts.items() if name not in ROOT}
    return {**schema, "properties": kept}


def open_status(schema: JsonObject) -> JsonObject:
    """Return a version's schema of a whole object that allows any status."""
    return {**schema, "properties": {**schema["properties"], "status": _OPEN}}


_COLUMNS = {
    "Ready": "status",
    "Severity": "severity",
    "Reason": "reason",
    "Message": "message",
}


def crd(
    kind: Kind,
    *,
    versions: Iterable[str] = (),
    storage: str = "",
    conversion: WebhookClient | None = None,
    rules: bool = False,
    complete: bool = False,
) -> JsonObject:
    """Return a CustomResourceDefinition (apiextensions.k8s.io/v1) that serves some
    versions.

    versions: names of the versions to serve, ordered oldest first in the result; if
    empty, the kind's storage version. Stored forms (`v20250301storage`) are allowed.
    storage: the version to store. By default, if objects are converted, the stored form
    of the kind's storage version, which is served too; else the kind's storage version
    if it is served, else the newest served version.
    conversion: the webhook that converts. Several versions without a webhook are safe
    only if each schema keeps the fields of the others.
    rules: if true, add CEL rules for constraints that schema keywords cannot express,
    for API servers that evaluate them (Kubernetes 1.25 and newer). If objects are
    converted, only the version that `kubectl explain` shows carries rules, because they
    cost the API server memory; the admission webhook or the reconciler checks all
    versions.
    complete: if true, the stored form and the statuses of all versions have full
    schemas even if objects are converted. If false, only the version that `kubectl
    explain` shows has a status schema. Use true to check whether a foreign CRD keeps
    every field.

    Fields have descriptions for `kubectl explain` (`descriptions`).

    Raises UnknownVersionError. The result shares schemas with the catalogue: do not
    change it in place.
    """
    if not kind.is_arm:
        conversion = None  # one version, which is stored as it is
    wanted = set(versions) or {kind.storage}
    if conversion is not None:
        storage = storage or stored_name(kind)
        # The stored form is served, too, as in ASO: objects can be read as they are
        # stored.
        wanted.add(storage)
    served = sorted(
        (form(kind, name) for name in wanted),
        key=lambda f: (f.stored, version_order(f.version.gvk.version)),
    )
    # A preview is stored only if nothing else is served, because its form may still
    # change.
    if not storage:
        names = [f.name for f in served]
        storage = kind.storage if kind.storage in names else newest(names)
    name = kind.group_kind.kind
    explained = explained_version([f.name for f in served if not f.stored])
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group_kind.group}"},
        "spec": {
            "group": kind.group_kind.group,
            "names": {
                "categories": list(kind.categories),
                "kind": name,
                "listKind": f"{name}List",
                "plural": kind.plural,
                "singular": name.lower(),
            },
            "scope": "Namespaced",
            **({"conversion": _conversion(conversion)} if conversion else {}),
            "versions": [
                _version(
                    f,
                    stored=f.name == storage,
                    rules=rules,
                    whole=f.name == explained,
                    complete=complete or conversion is None,
                    is_admitted=conversion is not None,
                )
                for f in served
            ],
        },
    }


def _conversion(client: WebhookClient) -> JsonObject:
    return {
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": client.config(CONVERT_PATH),
            "conversionReviewVersions": ["v1"],
        },
    }


def _version(
    served: VersionForm,
    *,
    stored: bool,
    rules: bool,
    whole: bool,
    complete: bool,
    is_admitted: bool,
) -> JsonObject:
    if served.stored:
        schema = stored_schema(served.version) if complete else open_stored()
    else:
        lean = not (whole or complete)
        ruled = rules and not lean
        schema = served.version.schema
        if ruled:
            schema = ruled_schema(served.version, is_admitted=is_admitted)
        schema = described(served.version, schema, whole=whole)
        if lean:
            schema = open_status(schema)
        if not complete:
            schema = without_root(schema)
    return {
        "name": served.name,
        "served": True,
        "storage": stored,
        "schema": {"openAPIV3Schema": schema},
        # So that a role which may edit specs may not write statuses, and the reverse.
        "subresources": {"status": {}},
        "additionalPrinterColumns": [
            {
                "name": name,
                "type": "string",
                "jsonPath": f".status.conditions[?(@.type=='Ready')].{member}",
            }
            for name, member in _COLUMNS.items()
        ],
    }
