"""DnsForwardingRuleset: retried while its endpoint does not exist yet."""

from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import message_contains, reclassify

EXTENSIONS = built_in("network", "DnsForwardingRuleset")

EXTENSIONS.on(CLASSIFY_ERROR)(reclassify(message_contains("was not found")))
