"""The CustomResourceDefinition of a kind."""

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
    """A CustomResourceDefinition (apiextensions.k8s.io/v1) serving some versions.

    versions: names, served oldest first; none: the kind's storage version. Names of
    stored forms (`v20250301storage`) may be among them.
    storage: the stored one of them. Without it: where objects are converted, the stored
    form of the kind's storage version, which is served too; else the kind's storage
    version if served, else the newest served.
    conversion: who converts. Serving several versions without one is safe only while
    their schemas keep each other's fields.
    rules: with what the schema's keywords cannot say as CEL rules, for API servers that
    evaluate them (Kubernetes 1.25 and newer). Where objects are converted only the
    version that `kubectl explain` shows carries them: they cost an API server memory,
    and the admission webhook or the reconciler holds them for all (`operator_parts`).
    complete: with schemas of what the operator alone writes where objects are
    converted: the stored form, and the statuses of all versions. Without it only the
    version that is shown has one of its status: it is for a look at another's CRD,
    whether that keeps all that is to be kept.
    Fields are described for `kubectl explain` (`descriptions`).
    Raises UnknownVersionError. The schemas are shared with the catalogue: nobody may
    change the answer in place.
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
