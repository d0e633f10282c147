"""What errors of Networking mean beyond their code.

Most are dependencies that come late: a Warning, tried again soon.
"""

from asoreconcile.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.middleware.factories import (
    code,
    message_contains,
    message_matches,
    reclassify,
)
from asoreconcile.objects import GroupKind

_GROUP = "network.azure.com"
EXTENSIONS = ExtensionSet("network.errors", BUILT_IN_ORDER)

EXTENSIONS.on(CLASSIFY_ERROR, GroupKind(_GROUP, "AzureFirewall"))(
    reclassify(
        code("AzfwAddToFirewallPolicyFailed")
        & message_matches("(?i)failed to reference Firewall Policy")
    )
)
EXTENSIONS.on(CLASSIFY_ERROR, GroupKind(_GROUP, "DnsForwardingRuleset"))(
    reclassify(message_contains("was not found"))
)
EXTENSIONS.on(
    CLASSIFY_ERROR,
    GroupKind(_GROUP, "DnsZonesARecord"),
    GroupKind(_GROUP, "DnsZonesAAAARecord"),
    GroupKind(_GROUP, "DnsZonesCNAMERecord"),
)(
    reclassify(
        code("BadRequest") & message_matches("The referenced resource.*was not found")
    )
)
EXTENSIONS.on(CLASSIFY_ERROR, GroupKind(_GROUP, "NetworkWatchersFlowLog"))(
    reclassify(
        code(
            "NetworkSecurityGroupNotFoundForFlowLog",
            "StorageProvisioningStateNotSucceeded",
        )
    )
)
EXTENSIONS.on(
    CLASSIFY_ERROR,
    GroupKind(_GROUP, "PublicIPAddress"),
    GroupKind(_GROUP, "VirtualNetworksVirtualNetworkPeering"),
)(reclassify(code("ReferencedResourceNotProvisioned")))
# The network may be about to grow.
EXTENSIONS.on(CLASSIFY_ERROR, GroupKind(_GROUP, "VirtualNetworksSubnet"))(
    reclassify(code("NetcfgSubnetRangeOutsideVnet"))
)
