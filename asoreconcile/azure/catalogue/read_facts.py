"""Values in Azure's answers that report how a resource is. Pure.

A spec has fields for some of them, as Azure accepts and ignores them in a PUT. A
manifest that is made from an answer leaves them out.
"""

import re
from collections.abc import Mapping

from asoreconcile.base.objects import JsonObject

_ANYWHERE = frozenset(
    {
        *("etag", "systemdata", "provisioningstate", "nodeimageversion"),
        *("peeringstate", "peeringsynclevel", "resourceguid"),
        *("profilemonitorstatus", "endpointmonitorstatus", "vaulturi", "discoveryurl"),
    }
)
_OF_TYPE: Mapping[str, tuple[str, ...]] = {
    "microsoft.containerinstance/containergroups": ("ipaddress.ip", "ipaddress.fqdn"),
    "microsoft.dbformysql/flexibleservers/configurations": ("currentvalue",),
    "microsoft.network/privateendpoints": (
        "manualprivatelinkserviceconnections.privatelinkserviceconnectionstate",
        "privatelinkserviceconnections.privatelinkserviceconnectionstate",
    ),
    "microsoft.network/publicipaddresses": ("ipaddress", "dnssettings.fqdn"),
    "microsoft.network/virtualnetworkgateways": (
        "virtualnetworkgatewaymigrationstatus",
    ),
}
_ADDRESS = "privateipaddress"
_METHOD = "privateipallocationmethod"
_ELEMENT = re.compile(r"\[[^\]]*\]")


def is_reported(arm_type: str, path: str, body: JsonObject) -> bool:
    """Return whether a field only reports what Azure does.

    path: path of the field, as `spec.ipConfigurations[0].privateIPAddress`. body: the
    object of Azure's answer that holds the field.
    """
    plain = _ELEMENT.sub("", path).casefold().removeprefix("spec.")
    name = plain.rpartition(".")[2]
    if name in _ANYWHERE or plain in _OF_TYPE.get(arm_type.lower(), ()):
        return True
    # An address that Azure chose: one of the method Static was asked for.
    inner = body.get("properties")
    values = {**body, **(inner if isinstance(inner, dict) else {})}
    methods = (v for k, v in values.items() if k.casefold() == _METHOD)
    return name == _ADDRESS and next(methods, "") == "Dynamic"
