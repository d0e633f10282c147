"""CRDs as Azure Service Operator leaves them in a cluster.

Each version has a stored form, all versions are served, descriptions are included, and
the webhook of the operator's Service converts.
"""

from collections.abc import Iterable
from typing import Any, cast

from asoreconcile.azure.catalogue.crd import crd
from asoreconcile.azure.catalogue.kinds import Kind
from asoreconcile.azure.catalogue.webhook_manifests import WebhookClient
from asoreconcile.base.objects import JsonObject, copy_json

SERVICE = WebhookClient(
    namespace="azureserviceoperator-system", name="azureserviceoperator-webhook-service"
)
AUTHORITY = "azureserviceoperator-system/azureserviceoperator-serving-cert"


def aso_crd(
    kind: Kind,
    versions: Iterable[str] = (),
    *,
    build: str = "v2.20.0",
    client: WebhookClient = SERVICE,
) -> JsonObject:
    """Return a kind's CRD of an ASO release with these versions, by default all."""
    versions = list(versions) or list(kind.versions)
    released = [v for v in versions if "preview" not in v]
    document = crd(
        kind,
        versions=[*versions, *(f"{v}storage" for v in versions)],
        storage=f"{(released or versions)[-1]}storage",
        conversion=client,
        complete=True,
    )
    document = cast("JsonObject", described(copy_json(document)))
    document["metadata"] |= {
        "labels": {
            "app.kubernetes.io/name": "azure-service-operator",
            "app.kubernetes.io/version": build,
            "serviceoperator.azure.com/version": build,
        },
        "annotations": {
            "cert-manager.io/inject-ca-from": AUTHORITY,
            "controller-gen.kubebuilder.io/version": "v0.20.0",
        },
    }
    return document


def described(schema: Any) -> Any:
    """Return a copy in which each part of a schema has a description."""
    if isinstance(schema, dict):
        copied = {
            # The API allows no schema for an object's metadata.
            key: value if key == "metadata" else described(value)
            for key, value in schema.items()
        }
        if isinstance(copied.get("type"), str) and "name" not in copied:
            copied["description"] = "What Azure says about it."
        return copied
    if isinstance(schema, list):
        return [described(value) for value in schema]
    return schema
