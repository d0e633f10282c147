"""PrivateEndpoint: ready only when its manual connections are approved."""

from collections.abc import Callable

from asoreconcile.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.middleware.points import POST_RECONCILE
from asoreconcile.middleware.requests import NotReady, PostReconcile, PostResult
from asoreconcile.objects import GroupKind, JsonObject, dig, status

PRIVATE_ENDPOINT = GroupKind("network.azure.com", "PrivateEndpoint")
EXTENSIONS = ExtensionSet("network.PrivateEndpoint", BUILT_IN_ORDER)

_STATE = "privateLinkServiceConnectionState.status"


@EXTENSIONS.on(POST_RECONCILE, PRIVATE_ENDPOINT)
def until_approved(
    req: PostReconcile, call_next: Callable[[PostReconcile], PostResult], /
) -> PostResult:
    """Not ready while anyone has yet to approve a manual connection.

    Connections of the other list approve themselves. One message names all.
    """
    connections = status(req.obj).get("manualPrivateLinkServiceConnections") or []
    waiting = [_shown(one) for one in connections if dig(one, _STATE) != "Approved"]
    if not waiting:
        return call_next(req)
    return NotReady(
        "connections not approved by the owner of the private link service: "
        + ", ".join(waiting)
    )


def _shown(connection: JsonObject) -> str:
    name = connection.get("id") or connection.get("name") or "(no id)"
    return f"{name} ({dig(connection, _STATE) or 'no state yet'})"
