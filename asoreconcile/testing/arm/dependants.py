"""What keeps a resource from going: what points at it, what is nested in it (DE2)."""

import attrs

from asoreconcile.testing.arm.address import ArmAddress
from asoreconcile.testing.arm.refusals import RefusedError
from asoreconcile.testing.arm.resources import Resources


@attrs.frozen
class _Hold:
    """The refusal."""

    code: str
    status: int = 400


# Types whose resources cannot go while others refer to them.
_REFERRED = {
    "microsoft.network/virtualnetworks": _Hold("InUseSubnetCannotBeDeleted"),
    "microsoft.network/virtualnetworks/subnets": _Hold("InUseSubnetCannotBeDeleted"),
    "microsoft.network/networksecuritygroups": _Hold(
        "InUseNetworkSecurityGroupCannotBeDeleted"
    ),
    "microsoft.network/routetables": _Hold("InUseRouteTableCannotBeDeleted"),
    "microsoft.network/publicipaddresses": _Hold("PublicIPAddressCannotBeDeleted"),
    "microsoft.network/networkinterfaces": _Hold("NicInUse"),
    "microsoft.cache/redis": _Hold("BadRequest"),
}
# Types that do not take these children with them: the children must go first.
_NESTED = {
    "microsoft.network/privatednszones": ("virtualnetworklinks",),
    "microsoft.network/dnsresolvers": ("inboundendpoints", "outboundendpoints"),
    "microsoft.network/dnsforwardingrulesets": ("virtualnetworklinks",),
}


def check_unused(resources: Resources, address: ArmAddress) -> None:
    """Nothing, if nothing keeps the resource; else raises RefusedError 400 or 409
    (DE2).
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
