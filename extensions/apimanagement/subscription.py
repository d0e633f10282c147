"""Subscription: export its two keys."""

from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.factories import KEY_PAIR, export_keys
from asoreconcile.base.objects import GroupKind

SUBSCRIPTION = GroupKind("apimanagement.azure.com", "Subscription")
EXTENSIONS = ExtensionSet("apimanagement.Subscription", BUILT_IN_ORDER)

EXTENSIONS.on(EXPORT_SECRETS, SUBSCRIPTION)(
    export_keys("listSecrets", "2022-08-01", KEY_PAIR)
)
