"""Workspace: export its shared keys."""

from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import export_keys

EXTENSIONS = built_in("operationalinsights", "Workspace")

EXTENSIONS.on(EXPORT_SECRETS)(
    export_keys(
        "sharedKeys",
        "2020-08-01",
        {
            "primarySharedKey": "primarySharedKey",
            "secondarySharedKey": "secondarySharedKey",
        },
    )
)
