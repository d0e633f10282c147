"""API Management: keys of gateways and subscriptions."""

from asoreconcile.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.middleware.factories import KEY_PAIR, export_keys
from asoreconcile.objects import GroupKind

EXTENSIONS = ExtensionSet("apimanagement.keys", BUILT_IN_ORDER)

EXTENSIONS.on(EXPORT_SECRETS, GroupKind("apimanagement.azure.com", "ServiceGateway"))(
    export_keys(
        "listKeys", "2022-08-01", {"primaryKey": "primary", "secondaryKey": "secondary"}
    )
)
EXTENSIONS.on(EXPORT_SECRETS, GroupKind("apimanagement.azure.com", "Subscription"))(
    export_keys("listSecrets", "2022-08-01", KEY_PAIR)
)
