"""Reasons against a deletion: references to the resource, and nested children (DE2)."""

import attrs

from asoreconcile.testing.arm.address import ArmAddress
from asoreconcile.testing.arm.refusals import RefusedError
from asoreconcile.testing.arm.resources import Resources


@attrs.frozen
class _Hold:
    """The status and code of the refusal."""

    code: str
    status: int = 400


# Resources of these types cannot be deleted while others refer to them.
_REFERRED = {
    "microsoft.network/virtualnetworks": _Hold("InUseSubnetCannotBeDeleted"),
    "microsoft.network/virtualnetworks/subnets": _Hold("InUseSubnetCannotBeDeleted"),
    "microsoft.network/networksecuritygroups": _Hold(
        "InUseNetworkSecurityGroupCannotBeDeleted"
    ),
    "microsoft.network/routetables": _Hold("InUseRouteTableCannotBeDeleted"),
    "microsoft.network/publicipaddresses": _Hold("PublicIPAddressCannotBeDeleted"),
    "microsoft.network/networkinterfaces": _Hold("NicInUse"),
    "microsoft.network/natgateways": _Hold("InUseNatGatewayCannotBeDeleted"),
    "microsoft.network/publicipprefixes": _Hold("InUsePublicIpPrefixCannotBeDeleted"),
    "microsoft.web/serverfarms": _Hold("Conflict", 409),
    "microsoft.cache/redis": _Hold("BadRequest"),
}
# A deletion of these types does not delete these children: they must be deleted first.
_NESTED = {
    "microsoft.network/privatednszones": ("virtualnetworklinks",),
    "microsoft.network/dnsresolvers": ("inboundendpoints", "outboundendpoints"),
    "microsoft.network/dnsforwardingrulesets": ("virtualnetworklinks",),
}


def check_unused(resources: Resources, address: ArmAddress) -> None:
    """Check that nothing prevents the deletion of a resource (DE2).

    Raises RefusedError 400 or 409.
    """
    hold = _REFERRED.get(address.type)
    users = resources.users(address.id) if hold else []
    if hold and users:
        raise RefusedError(
            hold.status,
            hold.code,
            f"{address.name} is in use by {users[0]} and cannot be deleted.",
            from_gateway=False,
        )
    for collection in _NESTED.get(address.type, ()):
        if children := resources.children(address, collection):
            first = children[0].address
            raise RefusedError(
                409,
                "CannotDeleteResource",
                "Cannot delete resource while nested resources exist. Some existing "
                f"nested resource IDs include: '{first.type_name}/{first.name}'. "
                "Please delete all nested resources before deleting this resource.",
            )
