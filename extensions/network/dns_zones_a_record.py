"""DnsZonesARecord: retried while its target does not exist yet."""

from asoreconcile.azure.extensions.network._shared import RECORD_TARGET_IS_LATE
from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import built_in

EXTENSIONS = built_in("network", "DnsZonesARecord")

EXTENSIONS.on(CLASSIFY_ERROR)(RECORD_TARGET_IS_LATE)
