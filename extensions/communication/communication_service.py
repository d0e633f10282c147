"""CommunicationService: export its keys."""

from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.factories import (
    KEYS_AND_CONNECTION_STRINGS,
    export_keys,
)
from asoreconcile.base.objects import GroupKind

EXTENSIONS = ExtensionSet("communication.CommunicationService", BUILT_IN_ORDER)

EXTENSIONS.on(
    EXPORT_SECRETS, GroupKind("communication.azure.com", "CommunicationService")
)(export_keys("listKeys", "2020-08-20", KEYS_AND_CONNECTION_STRINGS))
