"""AzureFirewall: retried while its policy does not exist yet."""

from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.factories import code, message_matches, reclassify
from asoreconcile.base.objects import GroupKind

AZURE_FIREWALL = GroupKind("network.azure.com", "AzureFirewall")
EXTENSIONS = ExtensionSet("network.AzureFirewall", BUILT_IN_ORDER)

EXTENSIONS.on(CLASSIFY_ERROR, AZURE_FIREWALL)(
    reclassify(
        code("AzfwAddToFirewallPolicyFailed")
        & message_matches("(?i)failed to reference Firewall Policy")
    )
)
