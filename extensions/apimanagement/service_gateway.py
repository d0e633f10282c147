"""ServiceGateway: export its two keys."""

from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import export_keys

EXTENSIONS = built_in("apimanagement", "ServiceGateway")

EXTENSIONS.on(EXPORT_SECRETS)(
    export_keys(
        "listKeys", "2022-08-01", {"primaryKey": "primary", "secondaryKey": "secondary"}
    )
)
