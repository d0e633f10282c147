"""ServiceGateway: export its two keys."""

from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.factories import export_keys
from asoreconcile.base.objects import GroupKind

SERVICE_GATEWAY = GroupKind("apimanagement.azure.com", "ServiceGateway")
EXTENSIONS = ExtensionSet("apimanagement.ServiceGateway", BUILT_IN_ORDER)

EXTENSIONS.on(EXPORT_SECRETS, SERVICE_GATEWAY)(
    export_keys(
        "listKeys", "2022-08-01", {"primaryKey": "primary", "secondaryKey": "secondary"}
    )
)
