"""Account: export its two keys."""

from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.factories import export_keys
from asoreconcile.base.objects import GroupKind

EXTENSIONS = ExtensionSet("cognitiveservices.Account", BUILT_IN_ORDER)

EXTENSIONS.on(EXPORT_SECRETS, GroupKind("cognitiveservices.azure.com", "Account"))(
    export_keys("listKeys", "2025-06-01", {"key1": "key1", "key2": "key2"})
)
