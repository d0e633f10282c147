"""Workspace: export its shared keys."""

from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.factories import export_keys
from asoreconcile.base.objects import GroupKind

EXTENSIONS = ExtensionSet("operationalinsights.Workspace", BUILT_IN_ORDER)

EXTENSIONS.on(EXPORT_SECRETS, GroupKind("operationalinsights.azure.com", "Workspace"))(
    export_keys(
        "sharedKeys",
        "2020-08-01",
        {
            "primarySharedKey": "primarySharedKey",
            "secondarySharedKey": "secondarySharedKey",
        },
    )
)
