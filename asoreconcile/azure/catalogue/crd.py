"""Build the CustomResourceDefinition of a kind."""

from collections.abc import Iterable

from asoreconcile.azure.catalogue.conversion import Form, form, stored_name
from asoreconcile.azure.catalogue.descriptions import described, explained_version
from asoreconcile.azure.catalogue.kinds import Kind, newest, version_order
from asoreconcile.azure.catalogue.operator_parts import (
    open_status,
    open_stored,
    without_root,
)
from asoreconcile.azure.catalogue.rules import ruled_schema
from asoreconcile.azure.catalogue.stored import stored_schema
from asoreconcile.azure.catalogue.webhookclient import CONVERT_PATH, WebhookClient
from asoreconcile.base.objects import JsonObject

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
        # Served too, as ASO's is: what is stored can be read as it is stored.
        wanted.add(storage)
    served = sorted(
        (form(kind, name) for name in wanted),
        key=lambda f: (f.stored, version_order(f.version.gvk.version)),
    )
    # A preview is stored only where nothing else is served: its form may still change.
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
    served: Form, *, stored: bool, rules: bool, whole: bool, complete: bool
) -> JsonObject:
    if served.stored:
        schema = stored_schema(served.version) if complete else open_stored()
    else:
        lean = not (whole or complete)
        ruled = rules and not lean
        schema = ruled_schema(served.version) if ruled else served.version.schema
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
        # So that a role to edit specs is none to write statuses, nor the other way
        # round.
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
