"""The traces of Azure Service Operator, made by hand: tokens, marks, stored forms."""

import json
from typing import Any

from asoreconcile.azure.reconcile.model.annotations import (
    FINALIZER,
    LAST_RECONCILED_VERSION,
    LATEST_RECONCILED_GENERATION,
    OPERATOR_NAMESPACE,
    RESOURCE_ID,
)
from asoreconcile.base.objects import JsonObject, metadata, uid_of

BUILD = "v2.13.0"
LONG_AGO = "2025-01-01T00:00:00Z"


def ask(
    azure: Any, arm_id: str, method: str, *, api_version: str, **body: object
) -> str | None:
    """Write to Azure; return the operation's token as ASO stores it, or None."""
    with azure.session() as session:
        options = {"json": body} if body else {}
        answer = session.request(method, arm_id, api_version=api_version, **options)
    assert answer.status_code < 300, answer.content
    url = f"{azure.url}{arm_id}?api-version={api_version}"
    kind = "GenericResource" if method == "PUT" else "GenericDeleteResponse"
    state = "InProgress"
    if method == "PUT" and answer.content:
        properties = answer.json().get("properties") or {}
        state = properties.get("provisioningState", "Succeeded")
    if monitor := answer.headers.get("Azure-AsyncOperation"):
        inner = {"asyncURL": monitor, "locURL": answer.headers.get("Location", "")}
        inner |= {"origURL": url, "method": method}
        inner |= {"finalState": "", "state": state}
    elif monitor := answer.headers.get("Location"):
        inner = {"type": "loc", "pollURL": monitor, "state": state}
    elif state != "Succeeded":
        inner = {"type": "body", "pollURL": url, "state": state}
    else:
        return None
    return as_go_writes({"type": kind, "token": inner})


def as_go_writes(document: JsonObject) -> str:
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
    for char in "&<>":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def condition(status: str, reason: str, severity: str = "") -> JsonObject:
    made: JsonObject = {
        "status": status,
        "reason": reason,
        "lastTransitionTime": LONG_AGO,
        "observedGeneration": 1,
    }
    if severity:
        made |= {"severity": severity, "message": "As the other operator words it."}
    return made


def owner_reference(owner: JsonObject) -> JsonObject:
    """Return an owner reference to a resource group, as ASO writes it: in the stored
    form.
    """
    return {
        "apiVersion": "resources.azure.com/v1api20200601storage",
        "kind": "ResourceGroup",
        "name": metadata(owner)["name"],
        "uid": uid_of(owner),
    }


def claim(arm_id: str, operator: str, owner: JsonObject | None = None) -> JsonObject:
    """Return the metadata of an object that ASO has claimed.

    owner: resource group of the object.
    """
    meta: JsonObject = {
        "annotations": {
            OPERATOR_NAMESPACE: operator,
            RESOURCE_ID: arm_id,
            LATEST_RECONCILED_GENERATION: "1",
        },
        "finalizers": [FINALIZER],
        "labels": {LAST_RECONCILED_VERSION: BUILD},
    }
    if owner is not None:
        meta["labels"] |= {
            "serviceoperator.azure.com/owner-name": metadata(owner)["name"],
            "serviceoperator.azure.com/owner-group-kind": (
                "ResourceGroup.resources.azure.com"
            ),
            "serviceoperator.azure.com/owner-uid": uid_of(owner),
        }
        meta["ownerReferences"] = [owner_reference(owner)]
    return meta
