"""Account: its two keys."""

from asoreconcile.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.middleware.factories import export_keys
from asoreconcile.objects import GroupKind

EXTENSIONS = ExtensionSet("cognitiveservices.Account", BUILT_IN_ORDER)

EXTENSIONS.on(EXPORT_SECRETS, GroupKind("cognitiveservices.azure.com", "Account"))(
    export_keys("listKeys", "2025-06-01", {"key1": "key1", "key2": "key2"})
)
