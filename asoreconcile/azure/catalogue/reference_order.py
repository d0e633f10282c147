"""The pairs of types of which Azure refuses a reference until the other is made. Pure.

Azure refuses every reference to a resource that does not exist. For these pairs it also
refuses one to a resource whose first operation still runs; for all others it accepts
that. The rows come from recorded refusals. Rule: OW-5.
"""

from collections.abc import Mapping

_SUBNETS = "microsoft.network/virtualnetworks/subnets"
_ADDRESSES = "microsoft.network/publicipaddresses"
_ACCOUNTS = "microsoft.storage/storageaccounts"

AFTER_SUCCESS: Mapping[str, frozenset[str]] = {
    # The code ReferencedResourceNotProvisioned.
    "microsoft.network/bastionhosts": frozenset({_SUBNETS}),
    "microsoft.network/loadbalancers": frozenset({_ADDRESSES}),
    "microsoft.network/natgateways": frozenset({_ADDRESSES}),
    "microsoft.network/networkinterfaces": frozenset({_SUBNETS, _ADDRESSES}),
    "microsoft.network/privatelinkservices": frozenset(
        {_SUBNETS, "microsoft.network/loadbalancers"}
    ),
    "microsoft.network/virtualnetworks/virtualnetworkpeerings": frozenset(
        {"microsoft.network/virtualnetworks"}
    ),
    # The code StorageProvisioningStateNotSucceeded.
    "microsoft.network/networkwatchers/flowlogs": frozenset({_ACCOUNTS}),
    # The operation fails: "Destination endpoint not found".
    "microsoft.eventgrid/eventsubscriptions": frozenset({_ACCOUNTS}),
    # The operation fails while the endpoint is being made.
    "microsoft.network/dnsforwardingrulesets": frozenset(
        {"microsoft.network/dnsresolvers/outboundendpoints"}
    ),
    # The code Conflict: the plan's operation CreateServerFarm is in progress.
    "microsoft.web/sites": frozenset({"microsoft.web/serverfarms"}),
    # The code BadRequest: "is in a invalid provisioning state", and "make sure that the
    # originGroup is created successfully".
    "microsoft.cdn/profiles/securitypolicies": frozenset(
        {"microsoft.cdn/profiles/afdendpoints"}
    ),
    "microsoft.cdn/profiles/afdendpoints/routes": frozenset(
        {"microsoft.cdn/profiles/origingroups"}
    ),
}
"""By the type that refers, in lower case: the types that must have been made."""


def waits_for_success(arm_type: str, other: str) -> bool:
    """Return whether Azure refuses a reference of the one type to a resource of the
    other until its first operation has ended well.
    """
    return other.lower() in AFTER_SUCCESS.get(arm_type.lower(), ())
