"""ManagedCluster: waits for operations and permissions, exports kubeconfigs."""

import base64

from asoreconcile.azure.middleware.extension_points import (
    CLASSIFY_ERROR,
    EXPORT_SECRETS,
    PRE_RECONCILE,
)
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import (
    block_unless_state,
    code,
    export_keys,
    reclassify,
)
from asoreconcile.base.objects import JsonObject

EXTENSIONS = built_in("containerservice", "ManagedCluster")


def _kubeconfig(answer: JsonObject) -> str | None:
    """Return the first kubeconfig in an answer, decoded from base64."""
    match answer.get("kubeconfigs"):
        case [{"value": str(text)}, *_]:
            pass
        case _:
            return None
    try:
        return base64.b64decode(text, validate=True).decode()
    except ValueError:  # of base64, of ASCII before it, of UTF-8 in it
        return None


EXTENSIONS.on(PRE_RECONCILE)(
    block_unless_state(
        "status.provisioningState",
        message='Managed cluster is in provisioning state "{state}": '
        "it takes changes once that has ended",
    )
)
# Two requests, each made only when its own credentials are wanted.
EXTENSIONS.on(EXPORT_SECRETS)(
    export_keys("listClusterAdminCredential", {"adminCredentials": _kubeconfig})
)
EXTENSIONS.on(EXPORT_SECRETS)(
    export_keys("listClusterUserCredential", {"userCredentials": _kubeconfig})
)
# A role assignment of its own grants the permission, and may come late.
EXTENSIONS.on(CLASSIFY_ERROR)(
    reclassify(code("CustomKubeletIdentityMissingPermissionError"))
)
