"""The lists of built-in kinds that have keys, and the objects owned as a whole.

Server-side apply needs these facts of the Kubernetes API for built-in kinds, which have
no schema here. They are given by path.
"""

from collections.abc import Mapping

from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.kube.fields.fieldsets import KNOWN

ATOMIC: JsonObject = {"x-kubernetes-map-type": "atomic"}


def keyed(*keys: str, items: JsonObject = KNOWN) -> JsonObject:
    """Return the schema of a list whose items are identified by these fields."""
    return {
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": list(keys),
        "items": items,
    }


def known(**properties: JsonObject) -> JsonObject:
    """Return the schema of an object in which these fields are owned separately."""
    return {"properties": properties, "additionalProperties": KNOWN}


_BY_NAME = keyed("name")
_WEBHOOK = known(
    matchConditions=_BY_NAME, namespaceSelector=ATOMIC, objectSelector=ATOMIC
)
_WEBHOOKS = {"webhooks": keyed("name", items=_WEBHOOK)}
BY_KIND: Mapping[str, Mapping[str, JsonObject]] = {
    "MutatingWebhookConfiguration": _WEBHOOKS,
    "ServiceAccount": {"secrets": _BY_NAME},
    "ValidatingWebhookConfiguration": _WEBHOOKS,
}
"""The fields that are owned separately, by the kind's name."""
