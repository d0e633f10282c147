"""Which lists of the built-in kinds have keys, and which objects are owned as a whole.

What server-side apply has to know of kinds whose schema nobody states here: facts of
the Kubernetes API, by where they stand in an object.
"""

from collections.abc import Mapping

from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.kube.fields.fieldsets import KNOWN

ATOMIC: JsonObject = {"x-kubernetes-map-type": "atomic"}


def keyed(*keys: str, items: JsonObject = KNOWN) -> JsonObject:
    """A list whose items are known by these of their fields."""
    return {
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": list(keys),
        "items": items,
    }


def known(**properties: JsonObject) -> JsonObject:
    """An object of which these fields are told apart."""
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
"""The fields of a kind that are told apart, by the kind's name."""
