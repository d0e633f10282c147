"""PrivateEndpoint: ready once its manual connections are approved; exports its IP."""

from collections.abc import Callable

from asoreconcile.azure.middleware.extension_points import (
    EXPORT_CONFIG_MAPS,
    POST_RECONCILE,
)
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.requests import (
    Export,
    ExportConfigMaps,
    NotReady,
    PostReconcile,
    PostResult,
)
from asoreconcile.base.objects import JsonObject, dig, status

EXTENSIONS = built_in("network", "PrivateEndpoint")

_PRIVATE_IP = "spec.operatorSpec.configMaps.primaryNicPrivateIpAddress"
_STATE = "privateLinkServiceConnectionState.status"


@EXTENSIONS.on(POST_RECONCILE)
def until_approved(
    req: PostReconcile, call_next: Callable[[PostReconcile], PostResult], /
) -> PostResult:
    """Keep the endpoint from being ready until every manual connection is approved.

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


@EXTENSIONS.on(EXPORT_CONFIG_MAPS)
def private_ip_address(
    req: ExportConfigMaps,
    call_next: Callable[[ExportConfigMaps], tuple[Export, ...]],
    /,
) -> tuple[Export, ...]:
    """Export the private IP of the endpoint's first network interface, if requested.

    Makes one GET of the interface. An interface without an address yet exports nothing.
    """
    rest = call_next(req)
    destination = dig(req.obj, _PRIVATE_IP)
    interfaces = status(req.obj).get("networkInterfaces") or [{}]
    interface = interfaces[0].get("id")
    if not destination or not interface:
        return rest
    address = _primary_address(req.ctx.arm.get(interface, req.ctx.version.api_version))
    if not address:
        return rest
    return (*rest, Export.to(destination, address))


def _primary_address(interface: JsonObject) -> str | None:
    configurations = dig(interface, "properties.ipConfigurations")
    for configuration in configurations if isinstance(configurations, list) else []:
        if dig(configuration, "properties.primary") is True:
            address = dig(configuration, "properties.privateIPAddress")
            return address if isinstance(address, str) else None
    return None
