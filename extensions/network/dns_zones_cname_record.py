"""DnsZonesCNAMERecord: retried while its target does not exist yet."""

from asoreconcile.azure.extensions.network._shared import RECORD_TARGET_IS_LATE
from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.base.objects import GroupKind

DNS_ZONES_CNAME_RECORD = GroupKind("network.azure.com", "DnsZonesCNAMERecord")
EXTENSIONS = ExtensionSet("network.DnsZonesCNAMERecord", BUILT_IN_ORDER)

EXTENSIONS.on(CLASSIFY_ERROR, DNS_ZONES_CNAME_RECORD)(RECORD_TARGET_IS_LATE)
