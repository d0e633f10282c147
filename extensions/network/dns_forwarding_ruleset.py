"""DnsForwardingRuleset: retried while its endpoint does not exist yet."""

from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.factories import message_contains, reclassify
from asoreconcile.base.objects import GroupKind

DNS_FORWARDING_RULESET = GroupKind("network.azure.com", "DnsForwardingRuleset")
EXTENSIONS = ExtensionSet("network.DnsForwardingRuleset", BUILT_IN_ORDER)

EXTENSIONS.on(CLASSIFY_ERROR, DNS_FORWARDING_RULESET)(
    reclassify(message_contains("was not found"))
)
