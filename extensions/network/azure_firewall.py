"""AzureFirewall: retried while its policy does not exist yet."""

from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import code, message_matches, reclassify

EXTENSIONS = built_in("network", "AzureFirewall")

EXTENSIONS.on(CLASSIFY_ERROR)(
    reclassify(
        code("AzfwAddToFirewallPolicyFailed")
        & message_matches("(?i)failed to reference Firewall Policy")
    )
)
